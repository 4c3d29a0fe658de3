"""The protocol of a session for views; a live session implements it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from branchline.entries import Entry
from branchline.formats import EntryLog
from branchline.tree import Finding, Tree

__all__ = ["SessionSource"]


class SessionSource(Protocol):
    """A session to show."""

    @property
    def index(self) -> Tree: ...
    @property
    def transcript(self) -> EntryLog: ...
    @property
    def leaf(self) -> str | None: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def findings(self) -> Sequence[Finding]: ...
    def path(self, entry_id: str | None = None, /) -> list[str]: ...
    def children(self, entry_id: str | None, /) -> list[str]: ...
    def entries(self, entry_ids: Iterable[str], /) -> list[Entry]: ...
