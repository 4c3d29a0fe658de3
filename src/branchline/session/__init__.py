"""One live session."""

from branchline.session.new_entry import NewEntry
from branchline.session.nodes import Node, NodeRow
from branchline.session.session import ForkAt, ForkScope, OnConflict, Persist, Session

__all__ = ["ForkAt", "ForkScope", "NewEntry", "Node", "NodeRow", "OnConflict", "Persist", "Session"]
