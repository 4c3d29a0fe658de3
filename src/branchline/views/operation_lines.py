"""Operations on a session, its named branches and its entries as text, for every interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from branchline.context import milliseconds
from branchline.formats import EntryLog
from branchline.views.entry_rows import RowTexts
from branchline.views.humanize import age, count
from branchline.views.spans import Line, Span, make_line
from branchline.views.text import cut, one_line

__all__ = [
    "START",
    "ListedBranch",
    "LoggedOperation",
    "branch_line",
    "entry_words",
    "operation_line",
    "operation_words",
]

START = "the start"
"""The position before the first entry."""
_WORDS = 60
_INVERSES = ("undo", "redo", "rewind")


class LoggedOperation(Protocol):
    """An operation on a session."""

    @property
    def timestamp(self) -> str: ...
    @property
    def undone(self) -> bool: ...
    @property
    def verb(self) -> str: ...
    @property
    def leaf_after(self) -> str | None: ...
    @property
    def before(self) -> str | None: ...
    @property
    def after(self) -> str | None: ...
    @property
    def target(self) -> str | None: ...
    @property
    def entries(self) -> Sequence[str]: ...


class ListedBranch(Protocol):
    """A named branch."""

    @property
    def name(self) -> str: ...
    @property
    def tip(self) -> str: ...
    @property
    def timestamp(self) -> str: ...
    @property
    def entries(self) -> int: ...
    @property
    def is_current(self) -> bool: ...


def entry_words(transcript: EntryLog, entry: str | None, name: str = "") -> str:
    """Describe an entry: ``name`` and its text, whichever there is; None is the start."""
    if entry is None:
        return START
    text = cut(one_line(RowTexts(transcript)(transcript.tree.position(entry))), _WORDS)
    if not name:
        return text or entry
    return f"{name} ({text})" if text else name


def operation_line(operation: LoggedOperation, described: Callable[[str], str], now: float) -> Line:
    """Return an operation as a line of a log."""
    dim = operation.undone or operation.verb in _INVERSES
    words = operation_words(operation, described) + ("  (undone)" if operation.undone else "")
    return make_line(
        Span(_age(operation.timestamp, now), "time"),
        Span(f"{operation.verb:<11}", "label"),
        Span(words, "dim" if dim else "plain"),
    )


def branch_line(branch: ListedBranch, described: Callable[[str], str], now: float) -> Line:
    """Return a named branch as a line of a list."""
    return make_line(
        Span(_age(branch.timestamp, now), "time"),
        Span(one_line(branch.name), "label"),
        f"  {count(branch.entries, 'entry', 'entries')}, ends at {described(branch.tip)}",
        Span("  ← you are here" if branch.is_current else "", "dim"),
    )


def _age(timestamp: str, now: float) -> str:
    moment = milliseconds(timestamp)
    return f"{'' if moment is None else age(moment, now):>5}  "


def operation_words(operation: LoggedOperation, described: Callable[[str], str]) -> str:
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
