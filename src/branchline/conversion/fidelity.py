"""Fidelity reports: which entries a conversion preserved, approximated or lost.

Every entry is in exactly one of the three, so the numbers add up.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import Any

import msgspec

from branchline.tree import Tree

__all__ = ["Fidelity", "FidelityNote", "Ledger", "Remark", "kind_of"]

_ROLES = {
    "user": "user message",
    "assistant": "answer",
    "toolResult": "tool result",
    "bashExecution": "shell command",
    "system": "system message",
    "custom": "custom message",
    "compactionSummary": "summary message",
    "branchSummary": "branch summary",
}
_TYPES = {
    "branch_summary": "branch summary",
    "context_edit": "context edit",
    "custom": "custom data",
    "custom_message": "custom message",
    "damaged": "unreadable line",
    "leaf": "leaf move",
    "model_change": "model change",
    "session_info": "title",
    "thinking_level_change": "thinking level",
    "usage": "usage record",
}


class FidelityNote(msgspec.Struct, frozen=True, kw_only=True):
    """Entries of one kind with the same outcome, and the reason."""

    kind: str
    why: str
    entries: tuple[str, ...]
    """Their ids in the source."""


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """The fidelity report: ``carried``, ``approximated`` and ``lost`` make up all ``entries``."""

    source: str
    """The format of the source."""
    target: str
    """The format of the new file."""
    entries: int
    carried: dict[str, int]
    """The number of fully preserved entries of each kind."""
    restored: int = 0
    """The number of those with the original bytes of the target's agent."""
    approximated: tuple[FidelityNote, ...] = ()
    lost: tuple[FidelityNote, ...] = ()
    dropped: tuple[str, ...] = ()
    """The ids of those that are readable messages of the active path, or of the path that was asked for."""
    damage: int = 0
    """The number of findings in the source."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was approximated or lost."""
        return not self.approximated and not self.lost

    def counted(self) -> dict[str, int]:
        """Return the number of entries for each outcome."""
        return {
            "carried": sum(self.carried.values()),
            "approximated": sum(len(change.entries) for change in self.approximated),
            "lost": sum(len(change.entries) for change in self.lost),
        }

    def as_fields(self) -> dict[str, Any]:
        """Return the report as plain values, for JSON."""
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return {**fields, "counts": self.counted()}


class Remark(enum.IntEnum):
    """What is different about an entry that was written, in the order in which the report says it."""

    EDITED = enum.auto()
    FORM = enum.auto()
    REDUCED = enum.auto()
    UNTHOUGHT = enum.auto()
    TIMED = enum.auto()
    JOINED = enum.auto()
    MISSING = enum.auto()
    FRAMEWORK = enum.auto()
    UNREAD = enum.auto()
    INCOMPLETE = enum.auto()
    FOREIGN = enum.auto()


class Ledger:
    """Records the outcome of each entry during a conversion; the first record of an entry counts."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._seen: set[int] = set()
        self._carried: Counter[str] = Counter()
        self._approximated: dict[tuple[str, str], list[str]] = {}
        self._lost: dict[tuple[str, str], list[str]] = {}
        self.restored = 0

    def __contains__(self, position: object) -> bool:
        return position in self._seen

    def settle(self, position: int, changed: str = "", lost: str = "") -> None:
        """Record an entry as lost or as approximated, for this reason; without a reason, as carried."""
        if position in self._seen:
            return
        self._seen.add(position)
        kind = kind_of(self._tree, position)
        if not (changed or lost):
            self._carried[kind] += 1
            return
        book = self._lost if lost else self._approximated
        book.setdefault((kind, lost or changed), []).append(self._tree.keys[position])

    def written(self, position: int, remarks: Mapping[Remark, str]) -> None:
        """Record an entry that is in the new file: carried, unless there is something to say about it."""
        self.settle(position, "; ".join(remarks[one] for one in sorted(remarks)))

    def lost_among(self, positions: Iterable[int], *, other_than: Container[str]) -> list[int]:
        """Return which of these entries were lost, for other reasons than these."""
        lost = {key for (_, why), keys in self._lost.items() if why not in other_than for key in keys}
        return [position for position in positions if self._tree.keys[position] in lost]

    def has_lost(self, why: str) -> bool:
        """Return whether anything was lost for this reason."""
        return any(reason == why for _, reason in self._lost)

    def close(self, source: str, target: str, damage: int, *, dropped: tuple[str, ...] = ()) -> Fidelity:
        """Return the report."""
        return Fidelity(
            source=source,
            target=target,
            entries=len(self._seen),
            carried=dict(sorted(self._carried.items())),
            restored=self.restored,
            approximated=_pages(self._approximated),
            lost=_pages(self._lost),
            dropped=dropped,
            damage=damage,
        )


def kind_of(tree: Tree, position: int) -> str:
    """Return the name of an entry's kind in a report."""
    if position in tree.placeholders:
        return _TYPES["damaged"]
    kind, role = tree.types[position], tree.roles[position]
    if kind == "message" and role:
        return _ROLES.get(role, "message of another role")
    return _TYPES.get(kind, kind)


def _pages(book: dict[tuple[str, str], list[str]]) -> tuple[FidelityNote, ...]:
    return tuple(
        FidelityNote(kind=kind, why=why, entries=tuple(keys)) for (kind, why), keys in sorted(book.items())
    )
