"""Operations on a session and its named branches: as records, and as text for every interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from branchline.context import milliseconds
from branchline.formats import EntryLog
from branchline.views.entry_rows import RowTexts
from branchline.views.humanize import age, count
from branchline.views.spans import Line, Span, make_line
from branchline.views.text import cut, one_line

__all__ = [
    "START",
    "NamedBranch",
    "Operation",
    "Verb",
    "branch_line",
    "entry_words",
    "operation_line",
    "operation_words",
]

START = "the start"
"""The position before the first entry."""
_WORDS = 60
_INVERSES = ("undo", "redo", "rewind")


Verb = Literal[
    "branch",
    "reset",
    "summary",
    "label",
    "title",
    "compaction",
    "name",
    "graft",
    "squash",
    "undo",
    "redo",
    "rewind",
]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation, with the leaf before and after it, and the old and the new value that it set."""

    id: str
    """The entry that records it."""
    verb: Verb
    timestamp: str
    leaf_before: str | None = None
    leaf_after: str | None = None
    before: str | None = None
    """The previous label or title, or the previous start of the named branch; None if there was none."""
    after: str | None = None
    target: str | None = None
    """The labelled entry, the named branch, or the operation that was undone or redone."""
    entries: tuple[str, ...] = ()
    """The entries that a graft or a squash wrote."""
    undone: bool = False

    @property
    def moves(self) -> bool:
        """Whether it moved the leaf."""
        return self.leaf_before != self.leaf_after


class NamedBranch(msgspec.Struct, frozen=True, kw_only=True):
    """A branch that starts after the entry ``start`` and ends at ``tip``."""

    name: str
    start: str
    tip: str
    timestamp: str
    """When the tip was written."""
    entries: int
    """The number of conversation entries after ``start``, without those of undone operations."""
    is_current: bool


def entry_words(transcript: EntryLog, entry: str | None, name: str = "") -> str:
    """Describe an entry: ``name`` and its text, whichever there is; None is the start."""
    if entry is None:
        return START
    text = cut(one_line(RowTexts(transcript)(transcript.tree.position(entry))), _WORDS)
    if not name:
        return text or entry
    return f"{name} ({text})" if text else name


def operation_line(operation: Operation, described: Callable[[str], str], now: float) -> Line:
    dim = operation.undone or operation.verb in _INVERSES
    words = operation_words(operation, described) + ("  (undone)" if operation.undone else "")
    return make_line(
        Span(_age(operation.timestamp, now), "time"),
        Span(f"{operation.verb:<11}", "label"),
        Span(words, "dim" if dim else "plain"),
    )


def branch_line(branch: NamedBranch, described: Callable[[str], str], now: float) -> Line:
    return make_line(
        Span(_age(branch.timestamp, now), "time"),
        Span(one_line(branch.name), "label"),
        f"  {count(branch.entries, 'entry', 'entries')}, ends at {described(branch.tip)}",
        Span("  ← you are here" if branch.is_current else "", "dim"),
    )


def _age(timestamp: str, now: float) -> str:
    moment = milliseconds(timestamp)
    return f"{'' if moment is None else age(moment, now):>5}  "


def operation_words(operation: Operation, described: Callable[[str], str]) -> str:
    """Describe an operation; ``described`` describes an entry."""
    end = START if operation.leaf_after is None else described(operation.leaf_after)
    match operation.verb:
        case "label":
            target = "" if operation.target is None else described(operation.target)
            if operation.after is None:
                return f"removed {operation.before!r} from {target}"
            return f"{operation.after!r} on {target}"
        case "title":
            return operation.after or "(none)"
        case "name" if operation.after is None:
            return f"{operation.target!r} removed"
        case "name":
            return f"{operation.target!r} begins at {described(operation.after or '')}"
        case "graft" | "squash":
            return f"{count(len(operation.entries), 'entry', 'entries')}, now at {end}"
        case "undo" | "redo":
            return f"now at {end}"
        case _:
            return f"to {end}"
