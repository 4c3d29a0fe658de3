"""What only a library answers with: frozen records for display, without message payloads."""

from __future__ import annotations

import msgspec

from branchline.views.session_row import SessionRow

__all__ = ["BranchNode", "Prompt", "PruneResult"]


class PruneResult(msgspec.Struct, frozen=True, kw_only=True):
    """A session without messages, and whether it was moved to the trash or would be."""

    row: SessionRow
    removed: bool
    token: str | None = None
    """Brings it back; None when nothing was removed."""


class BranchNode(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry of a session's tree as a line of text in its place."""

    id: str
    parent: str | None
    label: str
    """What the entry says, on one line, beginning with who says it."""
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
