"""A node of a session's tree as a handle: ask it for its children, its entry, its label."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from branchline.entries import Entry

if TYPE_CHECKING:
    from branchline.session.queries import SessionQueries

__all__ = ["Node"]


class Node(NamedTuple):
    """One entry in its place. Children are looked up when asked for, so that any depth is fine."""

    session: SessionQueries
    id: str

    @property
    def parent(self) -> str | None:
        return self.session.index.parent(self.id)

    @property
    def children(self) -> list[Node]:
        """The nodes that hang from this one, oldest first."""
        return [Node(self.session, key) for key in self.session.index.children(self.id)]

    @property
    def entry(self) -> Entry:
        return self.session.entry(self.id)

    @property
    def label(self) -> str | None:
        return self.session.label(self.id)

    def __repr__(self) -> str:
        return f"<Node {self.id}>"
