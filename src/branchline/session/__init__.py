"""One live session."""

from typing import TYPE_CHECKING, Any

from branchline import _lazy

if TYPE_CHECKING:
    from branchline.session.new_entry import NewEntry
    from branchline.session.nodes import Node, NodeRow
    from branchline.session.session import ForkAt, ForkScope, OnConflict, Persist, Session

__all__ = ["ForkAt", "ForkScope", "NewEntry", "Node", "NodeRow", "OnConflict", "Persist", "Session"]

_LATER = {
    "new_entry": ("NewEntry",),
    "nodes": ("Node", "NodeRow"),
    "session": ("ForkAt", "ForkScope", "OnConflict", "Persist", "Session"),
}


def __getattr__(name: str) -> Any:
    """Load a name on first access: lists and searches open no session."""
    return _lazy.lazy_attribute(__name__, _LATER, name)
