"""Nodes of a session's tree: handles, and a flat list of records for display."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from branchline.entries import Compaction, Entry
from branchline.session.lock import serialized

if TYPE_CHECKING:
    from branchline.session.queries import SessionQueries

__all__ = ["Node", "NodeRow", "node_rows", "nodes_below"]

_PREVIEW = 200


class Node(NamedTuple):
    """One entry of the tree. Children are looked up on demand, so that the depth is not limited."""

    session: SessionQueries
    id: str

    @property
    def parent(self) -> str | None:
        return self.session.index.parent(self.id)

    @property
    def children(self) -> list[Node]:
        """The children, oldest first."""
        return nodes_below(self.session, self.id)

    @property
    def entry(self) -> Entry:
        return self.session.entry(self.id)

    @property
    def label(self) -> str | None:
        return self.session.label(self.id)

    def __repr__(self) -> str:
        return f"<Node {self.id}>"


@serialized
def nodes_below(session: SessionQueries, entry_id: str | None) -> list[Node]:
    """Return the children of an entry (None: the roots), side records included, oldest first."""
    return [Node(session, key) for key in session.index.children(entry_id)]


class NodeRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry of the tree for display: its position and a preview, without the message."""

    id: str
    parent: str | None
    type: str
    role: str | None
    timestamp: str
    children: int
    """The number of direct children."""
    on_active_path: bool
    is_current: bool
    """Whether the next appended entry becomes its child."""
    depth: int
    """The number of ancestors."""
    preview: str
    """The start of the entry's text, on one line; may be empty."""
    label: str | None
    tokens_before: int | float | None
    """For a compaction: the size of the context that it replaced, if recorded."""


def node_rows(session: SessionQueries) -> Iterator[NodeRow]:
    """Yield all entries, depth first; the subtree with the leaf first, then oldest first."""
    from branchline.tree import ROOT, walk_nodes  # noqa: PLC0415  an agent draws no trees

    tree = session.index
    texts = list(map(_text, session.transcript.iter_entries(range(len(tree)))))
    leaf = ROOT if session.leaf is None else tree.position(session.leaf)
    for node in walk_nodes(tree, leaf, session.labels):
        preview, tokens_before = texts[node.position]
        yield NodeRow(
            id=node.id,
            parent=node.parent,
            type=node.type,
            role=node.role,
            timestamp=node.timestamp,
            children=node.children,
            on_active_path=node.active,
            is_current=node.is_current,
            depth=node.depth,
            preview=preview,
            label=node.label,
            tokens_before=tokens_before,
        )


def _text(entry: Entry) -> tuple[str, int | float | None]:
    from branchline.views.entry_rows import copy_text  # noqa: PLC0415  as above

    preview = " ".join(copy_text(entry)[: 2 * _PREVIEW].split())[:_PREVIEW]
    return preview, entry.tokens_before if isinstance(entry, Compaction) else None
