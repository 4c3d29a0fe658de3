"""One live session."""

from branchline.session.nodes import Node, NodeRow
from branchline.session.session import ForkAt, ForkScope, Persist, Session

__all__ = ["ForkAt", "ForkScope", "Node", "NodeRow", "Persist", "Session"]
