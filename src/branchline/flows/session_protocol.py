"""The session protocol that flows use; :class:`branchline.Session` implements it.

Flows are a layer below the session and never import it. They read the tree through this protocol, and write
in a single :class:`~branchline.flows.steps.Act` step, after every question has been answered.
"""

from __future__ import annotations

import os
from typing import Any, Literal, Protocol, Self

from branchline.entries import Content, Entry, Usage
from branchline.errors import ReadOnly
from branchline.formats import EntryLog
from branchline.tree import Tree

__all__ = [
    "AppendableSession",
    "BranchingSession",
    "ForkAt",
    "ForkScope",
    "LiveSession",
    "ReadableSession",
    "require_writable",
]

ForkAt = Literal["at", "before"]
ForkScope = Literal["path", "tree"]


class ReadableSession(Protocol):
    """The read side of a session."""

    @property
    def id(self) -> str: ...
    @property
    def file(self) -> str | None: ...
    @property
    def leaf(self) -> str | None: ...
    @property
    def index(self) -> Tree: ...
    @property
    def transcript(self) -> EntryLog: ...
    def entry(self, entry_id: str, /) -> Entry: ...
    def path(self, entry_id: str | None = None, /) -> list[str]: ...
    def label(self, entry_id: str, /) -> str | None: ...


class BranchingSession(ReadableSession, Protocol):
    """A session whose leaf can be moved, and which can be forked."""

    def refresh_log(self) -> int: ...
    def branch(self, entry_id: str, /) -> None: ...
    def reset(self) -> None: ...
    def branch_with_summary(
        self,
        entry_id: str | None,
        summary: str,
        /,
        *,
        details: Any = None,
        usage: Usage | None = None,
        from_hook: bool | None = None,
    ) -> str: ...
    def fork(
        self,
        entry_id: str | None = None,
        /,
        *,
        position: ForkAt = "at",
        scope: ForkScope = "path",
        cwd: str | os.PathLike[str] | None = None,
        to: str | None = None,
    ) -> Self: ...
    def fork_compacted(
        self, summary: str, first_kept: str | None = None, tokens_before: int | None = None, /
    ) -> Self: ...


class AppendableSession(Protocol):
    """A session to which entries other than messages can be appended."""

    def append_compaction(
        self,
        summary: str,
        first_kept: str | None,
        tokens_before: int | None,
        /,
        *,
        details: Any = None,
        usage: Usage | None = None,
        from_hook: bool | None = None,
    ) -> str: ...
    def append_custom(self, custom_type: str, data: Any = None, /) -> str: ...
    def append_custom_message(
        self,
        custom_type: str,
        content: Content | list[Any],
        /,
        *,
        display: bool = True,
        details: Any = None,
    ) -> str: ...
    def append_context_edit(self, entry_id: str, replacement: Content | list[Any] | None, /) -> str: ...
    def append_usage(self, kind: str, usage: Usage, /) -> str: ...
    def append_label(self, entry_id: str, label: str | None, /) -> str: ...


class LiveSession(BranchingSession, AppendableSession, Protocol):
    """Everything that flows need from a session."""


def require_writable(session: ReadableSession, *kinds: str) -> None:
    """Raise early, before any question is asked, if entries of these kinds could not be written.

    Raises ReadOnly, or NotSupported if the file format cannot hold one of the kinds.
    """
    transcript = session.transcript
    if (reason := transcript.reading.read_only) is not None:
        raise ReadOnly(f"cannot append to {transcript.name}: {reason}")
    for kind in kinds:
        if kind in transcript.format.traits.unsupported:
            raise transcript.format.traits.unsupported_error(kind)
