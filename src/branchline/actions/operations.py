"""The operations on a session, and undo and redo.

Moves, labels, titles, compactions and branch names are log entries of their own. Grafts, squashes, undo and
redo append a record after the entries that they write. Undo appends the inverse operation: nothing is removed
from the log, so every undone operation can be redone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from branchline.entries import (
    SIDE_TYPES,
    BranchSummary,
    Compaction,
    Custom,
    Entry,
    Label,
    Leaf,
    SessionInfo,
)
from branchline.errors import InvalidArgument
from branchline.session import NewEntry, Session
from branchline.views.operation_lines import Operation

__all__ = [
    "BRANCH_RECORD",
    "OPERATION_RECORD",
    "Operation",
    "last_undoable",
    "operations",
    "record_rewind",
    "redo",
    "undo",
]

OPERATION_RECORD = "branchline.operation"
"""The type of the custom entry after the entries of a graft, a squash, an undo or a redo."""
BRANCH_RECORD = "branchline.branch"
"""The type of the custom entry that names a branch."""


def operations(session: Session) -> list[Operation]:
    """Return the operations on a session, oldest first."""
    found = list(_read(session))
    undone = _stacks(found).taken_back
    return [msgspec.structs.replace(each, undone=True) if each.id in undone else each for each in found]


def last_undoable(session: Session) -> Operation | None:
    """Return the operation that :func:`undo` would undo."""
    waiting = _stacks(list(_read(session))).done
    return waiting[-1] if waiting else None


def record_rewind(session: Session, leaf_before: str | None, entries_before: int) -> None:
    """Record that the entries written since undid a turn, so that :func:`redo` restores it.

    ``leaf_before`` and ``entries_before`` are the leaf and the number of entries before the move.
    """
    count = len(session.index) - entries_before
    record = {"verb": "rewind", "from": leaf_before, "count": count}
    session.append_custom(OPERATION_RECORD, record)


def undo(session: Session) -> Operation:
    """Undo the last operation that is not undone yet, and return it.

    Raises ValueError if there is none, and ReadOnly or NotSupported if the session cannot hold the record.
    """
    return _invert(session, "undo")


def redo(session: Session) -> Operation:
    """Redo the last undone operation, and return it. Raises ValueError if there is none."""
    return _invert(session, "redo")


def _invert(session: Session, verb: Literal["undo", "redo"]) -> Operation:
    chosen: list[Operation] = []

    def build(current: Session) -> list[NewEntry]:
        known = list(_read(current))
        stacks = _stacks(known)
        waiting = stacks.done if verb == "undo" else stacks.undone
        if not waiting:
            raise InvalidArgument(f"nothing to {verb} in session {current.id}")
        operation = waiting[-1]
        chosen[:] = [operation]
        back = verb == "undo"
        leaf = operation.leaf_before if back else operation.leaf_after
        moved = [NewEntry.move(leaf)] if operation.moves and leaf != current.leaf else []
        stated = _stating(operation, operation.before if back else operation.after)
        written = [*stated, *moved]
        record = {"verb": verb, "target": operation.id, "from": current.leaf, "count": len(written)}
        return [*written, NewEntry.custom(OPERATION_RECORD, record)]

    session.write(build)
    return chosen[0]


def _stating(operation: Operation, said: str | None) -> list[NewEntry]:
    """The entries that set a label, the title or the start of a named branch to ``said``."""
    match operation.verb:
        case "label":
            assert operation.target is not None
            return [NewEntry.label(operation.target, said)]
        case "title":
            return [NewEntry.title(said or "")]
        case "name":
            assert operation.target is not None
            again = {"name": operation.target, "entry": said, "restated": True}
            return [NewEntry.custom(BRANCH_RECORD, again)]
        case _:
            return []


class _Stacks(NamedTuple):
    """The operations that can be undone and redone; the next one is the last of its list."""

    done: list[Operation]
    undone: list[Operation]
    taken_back: set[str]
    """All undone operations, including those that a later operation keeps from being redone."""


def _stacks(known: list[Operation]) -> _Stacks:
    stacks = _Stacks([], [], set())
    done, undone, taken_back = stacks
    for operation in known:
        if operation.verb == "undo":
            if done and done[-1].id == operation.target:
                taken = done.pop()
                # Redo returns to the leaf before the undo, including messages appended since.
                leaf = operation.leaf_before if taken.moves else taken.leaf_after
                undone.append(msgspec.structs.replace(taken, leaf_after=leaf))
                taken_back.add(taken.id)
        elif operation.verb == "redo":
            if undone and undone[-1].id == operation.target:
                done.append(undone.pop())
                taken_back.discard(done[-1].id)
        elif operation.verb == "rewind":
            undone.append(
                msgspec.structs.replace(
                    operation, leaf_before=operation.leaf_after, leaf_after=operation.leaf_before
                )
            )
        else:
            done.append(operation)
            undone.clear()
    return stacks


def _read(session: Session) -> Iterator[Operation]:
    """Yield all operations in one pass over the log, decoding only the relevant entries."""
    tree = session.index
    wanted = {"leaf", "label", "session_info", "compaction", "branch_summary", "custom"}
    noted = [position for position, kind in enumerate(tree.types) if kind in wanted]
    decoded = dict(zip(noted, session.transcript.iter_entries(noted), strict=True))
    covered = _covered(decoded)
    state = _State()
    for position, kind in enumerate(tree.types):
        entry = decoded.get(position)
        before = state.leaf
        if isinstance(entry, Leaf):
            state.leaf = entry.target
        elif kind not in SIDE_TYPES:
            state.leaf = tree.keys[position]
        state.mark(position, before)
        if entry is None:
            continue
        operation = state.operation(entry, before)
        if isinstance(entry, Custom) and (count := _count(entry)) is not None:
            first = max(0, position - count)
            written = [tree.keys[at] for at in range(first, position) if tree.types[at] not in SIDE_TYPES]
            operation = state.compound(entry, operation, written, first)
        if operation is not None and position not in covered:
            yield operation


def _covered(decoded: dict[int, Entry]) -> set[int]:
    """Entries written by a compound operation, which do not count as operations."""
    covered: set[int] = set()
    for position, entry in decoded.items():
        if isinstance(entry, Custom) and (count := _count(entry)) is not None:
            covered.update(range(max(0, position - count), position))
    return covered


def _count(entry: Custom) -> int | None:
    """The number of entries before a record that belong to it; None for other entries."""
    if entry.custom_type not in (OPERATION_RECORD, BRANCH_RECORD) or not isinstance(entry.data, dict):
        return None
    count = entry.data.get("count", 0)
    return count if isinstance(count, int) and count >= 0 else 0


class _State:
    """The leaf, labels, title and branch names at one point of the log."""

    def __init__(self) -> None:
        self.leaf: str | None = None
        self._labels: dict[str, str | None] = {}
        self._title: str | None = None
        self._names: dict[str, str | None] = {}
        self._leaves: list[str | None] = []
        """The leaf before each entry."""

    def mark(self, position: int, before: str | None) -> None:
        assert position == len(self._leaves)
        self._leaves.append(before)

    def operation(self, entry: Entry, before: str | None) -> Operation | None:
        common: dict[str, Any] = {
            "id": entry.id,
            "timestamp": entry.timestamp,
            "leaf_before": before,
            "leaf_after": self.leaf,
        }
        match entry:
            case Leaf():
                return Operation(**common, verb="reset" if entry.target is None else "branch")
            case Compaction():
                return Operation(**common, verb="compaction")
            case BranchSummary():
                return Operation(**common, verb="summary")
            case Label():
                said = entry.label or None
                old, self._labels[entry.target] = self._labels.get(entry.target), said
                return Operation(**common, verb="label", before=old, after=said, target=entry.target)
            case SessionInfo():
                old, self._title = self._title, entry.name or None
                return Operation(**common, verb="title", before=old, after=self._title)
            case Custom() if entry.custom_type == BRANCH_RECORD and isinstance(entry.data, dict):
                name, place = entry.data.get("name"), entry.data.get("entry")
                if not isinstance(name, str) or not isinstance(place, str | None):
                    return None
                old, self._names[name] = self._names.get(name), place
                return Operation(**common, verb="name", before=old, after=place, target=name)
            case _:
                return None

    def compound(
        self, entry: Custom, alone: Operation | None, written: list[str], first: int
    ) -> Operation | None:
        """The operation of a record and the entries from position ``first`` on."""
        before = self._leaves[first]
        if alone is not None:
            return msgspec.structs.replace(alone, leaf_before=before)
        data = entry.data
        verb, left, target = data.get("verb"), data.get("from"), data.get("target")
        common: dict[str, Any] = {"id": entry.id, "timestamp": entry.timestamp, "leaf_after": self.leaf}
        if verb in ("undo", "redo"):
            stood = left if isinstance(left, str) else None
            return Operation(**common, verb=verb, leaf_before=stood, target=str(target))
        if verb == "rewind":
            return Operation(**common, verb=verb, leaf_before=left if isinstance(left, str) else None)
        if verb in ("graft", "squash"):
            return Operation(**common, verb=verb, leaf_before=before, entries=tuple(written))
        return None
