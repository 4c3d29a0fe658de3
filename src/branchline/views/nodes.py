"""The flat tree for programs, with a line of text per entry: what ``tree --json`` writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec

from branchline.entries import Compaction
from branchline.entries.messages import Number
from branchline.formats import LabelState
from branchline.tree import EntrySource, TreeNode, walk_nodes
from branchline.views.entry_rows import RowTexts

__all__ = ["NodeView", "node_views"]

_TOGETHER = 512


class NodeView(TreeNode, frozen=True, kw_only=True, gc=False):
    """A node with a preview in one line; ``tokens_before`` is what a compaction stands for."""

    preview: str
    tokens_before: Number | None = None


def node_views(
    source: EntrySource, leaf: int, labels: Mapping[str, LabelState] | None = None, *, home: str = ""
) -> Iterator[NodeView]:
    """Every entry depth first; the subtree that leads to the leaf comes first, then the oldest."""
    texts = RowTexts(source, home=home)
    names = {key: label.text for key, label in (labels or {}).items()}
    nodes = walk_nodes(source.tree, leaf, names)
    while group := list(islice(nodes, _TOGETHER)):
        entries = source.entries([node.position for node in group])
        for node, entry in zip(group, entries, strict=True):
            yield NodeView(
                **msgspec.structs.asdict(node),
                preview=texts.of(node.position, entry),
                tokens_before=entry.tokens_before if isinstance(entry, Compaction) else None,
            )
