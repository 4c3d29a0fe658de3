"""The context entry by entry, so that a compaction can cut between entries."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from branchline.context.builder import SPEAKING, apply_edit, edits_in, entry_messages, opening_messages
from branchline.context.selection import select
from branchline.context.source import ContextSource
from branchline.context.tokens import TokenEstimate, projected_tokens
from branchline.entries import Compaction, Entry, Message

__all__ = ["ProjectedEntry", "Projection", "project"]


class ProjectedEntry(NamedTuple):
    """One selected entry: ``messages`` after edits, ``said`` before them.

    ``record`` is None for types that never have messages; those are not decoded.
    """

    position: int
    id: str
    type: str
    record: Entry | None
    original_messages: tuple[Message, ...]
    messages: tuple[Message, ...]


class Projection(msgspec.Struct, frozen=True, kw_only=True):
    """The compaction with its opening messages, and the entries that follow it.

    The first ``measured`` entries are no younger than the last compaction or edit.
    """

    compaction: Compaction | None
    opening: tuple[Message, ...]
    entries: list[ProjectedEntry]
    measured: int

    def tokens(self) -> TokenEstimate:
        """Return the same as :func:`~branchline.context.tokens.context_tokens` for the context."""
        older = [message for entry in self.entries[: self.measured] for message in entry.messages]
        newer = [message for entry in self.entries[self.measured :] for message in entry.messages]
        before = [*self.opening, *older]
        return projected_tokens([*before, *newer], len(before))


def project(source: ContextSource, leaf: int) -> Projection:
    """Return the selected entries at this leaf, including side records, each with its messages."""
    tree = source.tree
    keys, types = tree.keys, tree.types
    selection = select(source, leaf, hidden=())
    speaking = [position for position in selection.positions if types[position] in SPEAKING]
    records = dict(zip(speaking, source.entries(speaking), strict=True))
    edits = edits_in(source, speaking, selection)
    entries = []
    for position in selection.positions:
        record = records.get(position)
        said = () if record is None else entry_messages(record)
        messages = apply_edit(said, edits.get(keys[position])) if said else ()
        entries.append(ProjectedEntry(position, keys[position], types[position], record, said, messages))
    compaction = selection.compaction
    opening = (
        ()
        if compaction is None
        else apply_edit(opening_messages(source, compaction), edits.get(compaction.id))
    )
    return Projection(compaction=compaction, opening=opening, entries=entries, measured=selection.measured)
