"""Sessions of other programs as lines of the native format: what a fork into a native session holds.

Here nothing can be copied byte for byte, because the other program writes other lines. Each entry is written
as the record that it was read as; ids, times, usage and unknown fields stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from branchline.context import model_messages
from branchline.entries import (
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    Custom,
    CustomMessage,
    Entry,
    MessageEntry,
    Unknown,
    UserMessage,
    encode_entry,
)
from branchline.formats.transcript import Transcript
from branchline.tree import ROOT

__all__ = ["native_path", "native_tree"]

_SPOKEN = frozenset({"message", "custom_message"})
_LINKS = frozenset({"type", "id", "parentId", "parent_id", "timestamp"})
_LEFT_OUT = frozenset({"label", "leaf", "damaged"})  # labels are set again in the copy


def native_path(transcript: Transcript, leaf: int) -> Iterator[bytes]:
    """One path, root to leaf, in a straight chain."""
    tree, end = transcript.tree, transcript.reading.leaf
    before: str | None = None
    # A title that was given last hangs below the leaf; whoever forks there means to keep it.
    for position in tree.chain(end if tree.conversation(end) == leaf else leaf):
        if tree.types[position] not in _LEFT_OUT:
            entry = msgspec.structs.replace(_native(transcript, position), parent=before)
            before = entry.id
            yield encode_entry(entry)


def native_tree(transcript: Transcript) -> Iterator[bytes]:
    """Every readable entry of the file, each below the nearest one above it that is not left out."""
    tree = transcript.tree
    for position in range(len(tree)):
        if tree.types[position] in _LEFT_OUT - {"label"}:
            continue
        above = tree.parents[position]
        while above != ROOT and tree.types[above] in _LEFT_OUT - {"label"}:
            above = tree.parents[above]
        parent = None if above == ROOT else tree.keys[above]
        yield encode_entry(msgspec.structs.replace(_native(transcript, position), parent=parent))


def _native(transcript: Transcript, position: int) -> Entry:
    """The entry as the native format has it: summaries are entries of their own there, not messages.

    Where the rules of the other program let an entry cut the context, or keep it from the model, the native
    one has the same effect.
    """
    entry, rules = transcript.entry(position), transcript.context_rules
    common: dict[str, Any] = {"id": entry.id, "parent": entry.parent, "timestamp": entry.timestamp}
    if entry.type in rules.boundaries:
        return Compaction(**common, summary="", first_kept=entry.id, retained_tail=())
    if isinstance(entry, BranchSummary) and entry.type in rules.silent:
        told = {"summary": entry.summary, "details": entry.details}
        return msgspec.structs.replace(entry, summary="", details=told)
    if isinstance(entry, Unknown) and entry.type not in _SPOKEN:
        # Under its own name it would make the copy look like a session of the other program.
        data = {name: value for name, value in entry.fields.items() if name not in _LINKS}
        return Custom(**common, custom_type=f"{transcript.format.name}:{entry.type}", data=data)
    if not isinstance(entry, MessageEntry):
        return entry
    message = entry.message
    if isinstance(message, BranchSummaryMessage):
        return BranchSummary(**common, summary=message.summary, from_id=message.from_id)
    if isinstance(message, CompactionSummaryMessage):
        # It stands in the conversation without cutting anything, so it must not become a compaction.
        said = model_messages([message])[0]
        assert isinstance(said, UserMessage)
        return CustomMessage(**common, custom_type="compaction-summary", content=said.content, display=True)
    return entry
