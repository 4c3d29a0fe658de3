"""What a compaction would summarize and keep, determined before any model is called."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from branchline.compaction.cut import find_cut
from branchline.compaction.file_operations import FileOperations, FileTally
from branchline.context.builder import with_sent_summary
from branchline.context.projection import ProjectedEntry, project
from branchline.context.source import ContextSource
from branchline.entries import SIDE_TYPES, Message, SystemMessage

__all__ = ["KEEP_RECENT_TOKENS", "CompactionPreparation", "prepare_compaction"]

KEEP_RECENT_TOKENS = 20000


class CompactionPreparation(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a summarizer, and the fields of the compaction entry.

    ``history`` is summarized, as an update of ``previous_summary`` if there is one. With ``split_turn`` the
    cut splits a turn, whose start is ``prefix`` and is summarized separately.
    """

    first_kept: str
    history: tuple[Message, ...]
    prefix: tuple[Message, ...] = ()
    split_turn: bool = False
    previous_summary: str | None = None
    tokens_before: int | float = 0
    files: FileOperations = FileOperations()


def prepare_compaction(
    source: ContextSource, leaf: int, *, keep_recent_tokens: float = KEEP_RECENT_TOKENS
) -> CompactionPreparation | None:
    """Prepare a compaction at this leaf; None if there is nothing to do.

    About ``keep_recent_tokens`` at the end are kept. A context that was just compacted or is too small gives
    None.
    """
    if leaf < 0 or source.tree.types[leaf] == "compaction":
        return None
    projection = project(source, leaf)
    entries, last = projection.entries, projection.compaction
    cut = find_cut(entries, keep_recent_tokens)
    split = cut.turn_start >= 0
    history = _summarizable(entries[: cut.turn_start if split else cut.first_kept])
    prefix = _summarizable(entries[cut.turn_start : cut.first_kept]) if split else ()
    if last is not None and last.retained_tail:
        # These messages are stored in the compaction itself; the next one would lose them.
        history = (*last.retained_tail, *history)
    if not history and not prefix:
        return None
    files = FileTally()
    if last is not None and not last.from_hook:
        files.add_details(last.details)
    files.add_messages(history)
    files.add_messages(prefix)
    return CompactionPreparation(
        first_kept=_first_kept(entries, cut.first_kept),
        history=history,
        prefix=prefix,
        split_turn=split,
        previous_summary=None if last is None else with_sent_summary(source, last).summary,
        tokens_before=projection.tokens().tokens,
        files=files.result(),
    )


def _summarizable(entries: Iterable[ProjectedEntry]) -> tuple[Message, ...]:
    return tuple(
        message for entry in entries for message in entry.messages if not isinstance(message, SystemMessage)
    )


def _first_kept(entries: list[ProjectedEntry], index: int) -> str:
    """Return the cut as the id of a conversation entry: forks omit side records and would lose the cut."""
    for entry in entries[index:]:
        if entry.type not in SIDE_TYPES:
            return entry.id
    return entries[index].id
