"""One live session."""

from typing import TYPE_CHECKING, Any

from branchline import _lazy

if TYPE_CHECKING:
    from branchline.session.nodes import Node, NodeRow
    from branchline.session.session import ForkAt, ForkScope, Persist, Session

__all__ = ["ForkAt", "ForkScope", "Node", "NodeRow", "Persist", "Session"]

_LATER = {
    "nodes": ("Node", "NodeRow"),
    "session": ("ForkAt", "ForkScope", "Persist", "Session"),
}


def __getattr__(name: str) -> Any:
    """Load a name on first access: lists and searches open no session."""
    return _lazy.lazy_attribute(__name__, _LATER, name)
