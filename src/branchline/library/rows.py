"""Records that only a library returns, without message payloads."""

from __future__ import annotations

import msgspec

from branchline.views.session_row import SessionRow

__all__ = ["BranchNode", "Prompt", "PruneResult"]


class PruneResult(msgspec.Struct, frozen=True, kw_only=True):
    """A session without messages, and whether it was moved to the trash."""

    row: SessionRow
    removed: bool
    token: str | None = None
    """Restores it from the trash; None if it was not removed."""


class BranchNode(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entry of a session's tree as one line of text."""

    id: str
    parent: str | None
    label: str
    """The text of the entry on one line, after its role."""
    depth: int
    is_leaf: bool
    """Whether it has no children."""
    is_current: bool
    """Whether the next appended entry becomes its child."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A prompt on the active path."""

    id: str
    text: str
    preview: str
