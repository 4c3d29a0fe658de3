"""A session as plain rows: its tree, and the prompts on the active path."""

from __future__ import annotations

from collections.abc import Iterator

from branchline.entries import (
    Compaction,
    CompactionSummaryMessage,
    CustomMessage,
    Entry,
    MessageEntry,
    SystemMessage,
    ToolResult,
    UnknownMessage,
    message_text,
)
from branchline.library.row_reader import one_line
from branchline.library.rows import BranchNode, Prompt
from branchline.session import Session
from branchline.tree import ROOT, walk_nodes
from branchline.views.entry_rows import row_text
from branchline.views.file_mentions import with_mentions
from branchline.views.turns import turns_of

__all__ = ["branch_nodes", "prior_turns"]


def branch_nodes(session: Session) -> Iterator[BranchNode]:
    """Yield all entries, depth first; the subtree with the leaf comes first."""
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
    """Yield the prompts with text on the active path, oldest first."""
    for turn in turns_of(session):
        yield Prompt(id=turn.key, text=turn.text, preview=one_line(with_mentions(turn.text)))


def _labels(session: Session) -> Iterator[str]:
    """Yield the label of each entry, in file order."""
    for entry in session.transcript.iter_entries(range(len(session.index))):
        yield one_line(_label(entry))


def _label(entry: Entry) -> str:
    match entry:
        case Compaction():
            return f"compaction: {entry.summary}" if entry.summary else "compaction"
        case MessageEntry(message=CompactionSummaryMessage() as message):
            return f"compaction: {message_text(message)}"
        case MessageEntry(message=ToolResult() as message):
            return f"tool: {message.tool_name}"
        case MessageEntry(message=SystemMessage()):
            return "system"
        case MessageEntry(message=UnknownMessage() as message):
            return message.role
        case CustomMessage(custom_type="shell-note"):  # of induscode
            return "note"
        case MessageEntry():
            return row_text(entry)
        case _:
            return row_text(entry) or entry.type
