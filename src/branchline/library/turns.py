"""A live session as plain rows: its tree, and what the person said on the way to here. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator

from branchline.library.row_reader import one_line
from branchline.library.rows import BranchNode, Prompt
from branchline.session import Session
from branchline.tree import ROOT, walk_nodes
from branchline.views.entry_rows import RowTexts
from branchline.views.turns import turns_of

__all__ = ["branch_nodes", "prior_turns"]

_TOGETHER = 512


def branch_nodes(session: Session) -> Iterator[BranchNode]:
    """Every entry of every root, depth first; the subtree that leads to the leaf comes first."""
    tree = session.index
    leaf = ROOT if session.leaf is None else tree.position(session.leaf)
    labels = list(_labels(session))
    for node in walk_nodes(tree, leaf):
        yield BranchNode(
            id=node.id,
            parent=node.parent,
            label=labels[node.position],
            depth=node.depth,
            is_leaf=node.is_leaf,
            is_current=node.is_current,
        )


def prior_turns(session: Session) -> Iterator[Prompt]:
    """The prompts with words on the active path, oldest first."""
    for turn in turns_of(session):
        yield Prompt(id=turn.key, text=turn.text, preview=one_line(turn.text))


def _labels(session: Session) -> Iterator[str]:
    """What each entry says, in file order; of what says nothing, what it is."""
    transcript = session.transcript
    texts = RowTexts(transcript)
    size = len(transcript.tree)
    for start in range(0, size, _TOGETHER):
        positions = range(start, min(start + _TOGETHER, size))
        for position, entry in zip(positions, transcript.entries(positions), strict=True):
            yield one_line(texts.of(position, entry)) or f"[{one_line(entry.type)}]"
