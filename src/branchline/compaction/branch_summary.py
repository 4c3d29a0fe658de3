"""The branch that a move abandons, and the part of it that fits into a summary."""

from __future__ import annotations

from collections.abc import Container, Iterator

import msgspec

from branchline.compaction.file_operations import FileOperations, FileTally
from branchline.context.builder import (
    Edits,
    apply_edit,
    branch_summary_message,
    compaction_summary_message,
    entry_messages,
)
from branchline.context.tokens import estimate_message
from branchline.entries import (
    SIDE_TYPES,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    ContextEdit,
    Entry,
    Message,
    MessageEntry,
    ToolResult,
)
from branchline.tree import ROOT, EntrySource

__all__ = [
    "BRANCH_RESERVE_TOKENS",
    "DEFAULT_WINDOW",
    "BranchCollection",
    "BranchPreparation",
    "branch_budget",
    "collect_branch",
    "prepare_branch_summary",
]

BRANCH_RESERVE_TOKENS = 16384
DEFAULT_WINDOW = 128000
_NEARLY_FULL = 0.9
_CHUNK = 256
_TYPES_WITH_MESSAGES = frozenset({"message", "custom_message", "branch_summary", "compaction"})
_SUMMARIES_AND_EDITS = frozenset({"branch_summary", "context_edit"})


class BranchCollection(msgspec.Struct, frozen=True, kw_only=True):
    """The entries between the old leaf and the common ancestor, oldest first, without side records."""

    common_ancestor: str | None
    positions: tuple[int, ...]
    entries: tuple[str, ...]


class BranchPreparation(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a branch summary: its messages, and the files touched."""

    messages: tuple[Message, ...]
    tokens: int
    files: FileOperations

    @property
    def empty(self) -> bool:
        """Whether there is nothing to summarize, so that no model is called."""
        return all(
            isinstance(message, BranchSummaryMessage) and not message.summary for message in self.messages
        )


def collect_branch(source: EntrySource, old_leaf: int, target: int) -> BranchCollection:
    """Collect the entries between the old leaf and its deepest common ancestor with the target."""
    tree = source.tree
    shared = set(tree.path_positions(target))
    left: list[int] = []
    position = old_leaf
    while position != ROOT and position not in shared:
        if tree.types[position] not in SIDE_TYPES:
            left.append(position)
        position = tree.parents[position]
    ancestor = tree.nearest_conversation_entry(position) if old_leaf != ROOT else ROOT
    left.reverse()
    return BranchCollection(
        common_ancestor=None if ancestor == ROOT else tree.keys[ancestor],
        positions=tuple(left),
        entries=tuple(tree.keys[position] for position in left),
    )


def branch_budget(window: int | None, reserve: int = BRANCH_RESERVE_TOKENS) -> int:
    """Return the token budget of a branch summary for a context window; at least a quarter of it."""
    window = window or DEFAULT_WINDOW
    return max(window - reserve, window // 4)


def prepare_branch_summary(
    source: EntrySource, collection: BranchCollection, budget_tokens: float = 0
) -> BranchPreparation:
    """Select the newest messages that fit the budget (0: all of them), and the files they touched.

    A summary that does not fit is still included while less than nine tenths of the budget are used.
    """
    files = FileTally()
    edits: Edits = {}
    for entry in _decoded(source, collection, _SUMMARIES_AND_EDITS):
        if isinstance(entry, ContextEdit):
            edits.setdefault(entry.target, entry)  # the newest comes first
        elif isinstance(entry, BranchSummary) and not entry.from_hook:
            files.add_details(entry.details)
    taken: list[Message] = []
    tokens = 0
    for entry in _decoded(source, collection, _TYPES_WITH_MESSAGES):
        message = next(iter(apply_edit(_shown(entry), edits.get(entry.id))), None)
        if message is None:
            continue
        files.add_messages([message])
        size = estimate_message(message)
        full = budget_tokens > 0 and tokens + size > budget_tokens
        if not full or (
            isinstance(entry, Compaction | BranchSummary) and tokens < budget_tokens * _NEARLY_FULL
        ):
            taken.append(message)
            tokens += size
        if full:
            break
    taken.reverse()
    return BranchPreparation(messages=tuple(taken), tokens=tokens, files=files.result())


def _decoded(source: EntrySource, collection: BranchCollection, types: Container[str]) -> Iterator[Entry]:
    """Yield the entries of these types, newest first, decoded in batches because the walk may end early."""
    of_type = source.tree.types
    positions = [position for position in collection.positions if of_type[position] in types]
    for end in range(len(positions), 0, -_CHUNK):
        yield from reversed(source.entries(positions[max(0, end - _CHUNK) : end]))


def _shown(entry: Entry) -> tuple[Message, ...]:
    """Return the messages of an entry for the summarizer. Tool results are omitted: answers reflect them."""
    match entry:
        case MessageEntry(message=ToolResult()):
            return ()
        case BranchSummary():
            return (branch_summary_message(entry),)
        case Compaction():
            return (compaction_summary_message(entry),)
        case _:
            return entry_messages(entry)
