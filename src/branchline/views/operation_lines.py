"""The operations on a session as text, for every interface that shows its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from branchline.views.humanize import count

__all__ = ["LoggedOperation", "operation_words"]


class LoggedOperation(Protocol):
    """An operation on a session."""

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


def operation_words(operation: LoggedOperation, described: Callable[[str], str]) -> str:
    """Describe an operation; ``described`` describes an entry."""
    end = "the start" if operation.leaf_after is None else described(operation.leaf_after)
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
