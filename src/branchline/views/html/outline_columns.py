"""The shape of a session for a page: one short row per entry, in columns.

A page with these columns can draw the tree, walk any path and request the pieces of any range. The only text
in them is the beginning of prompts and of the first entries of branches: no other entry is decoded, so that
60,000 entries are small and fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from branchline.entries import SIDE_TYPES
from branchline.formats import LabelState
from branchline.tree import ROOT, EntrySource
from branchline.views.cards import CLEARED_TYPES
from branchline.views.entry_rows import RowTexts, copy_text
from branchline.views.text import one_line
from branchline.views.times import instant

__all__ = ["KINDS", "SkeletonColumns", "skeleton_columns"]

_LONGEST = 80
KINDS: dict[str, str] = {
    "u": "prompt",
    "a": "answer",
    "t": "tool result",
    "h": "command of the user",
    "c": "compaction",
    "x": "context cleared",
    "b": "branch summary",
    "s": "setting",
    "m": "custom or system message",
    "d": "unreadable line",
    "o": "other",
    "-": "side record: not on a path",
}
"""The meaning of the letters in ``SkeletonColumns.kinds``."""
_TYPES = {
    "compaction": "c",
    "branch_summary": "b",
    "model_change": "s",
    "thinking_level_change": "s",
    "context_edit": "s",
    "custom_message": "m",
    "damaged": "d",
}
_ROLES = {
    "user": "u",
    "assistant": "a",
    "toolResult": "t",
    "bashExecution": "h",
    "system": "m",
    "custom": "m",
    "branchSummary": "b",
    "compactionSummary": "c",
}


class SkeletonColumns(msgspec.Struct, frozen=True, kw_only=True):
    """Columns with one item per entry, in file order; rare values are keyed by position."""

    ids: list[str]
    steps: list[int]
    """The distance from each entry to its parent: 1 is the entry before it; position + 1 means a root."""
    kinds: str
    """One letter per entry; see ``KINDS``."""
    times: list[int | None]
    """Seconds since the entry before it (the first: since 1970); None where the time is unreadable."""
    texts: dict[int, str]
    """The beginning of prompts, of entries at and after a branch point, of labelled entries and of tips."""
    labels: dict[int, str]
    leaf: int
    """The current position, or -1."""
    first: int = 0
    """The position of the first row; 0 unless these are appended rows."""


def skeleton_columns(
    source: EntrySource,
    leaf: str | None,
    *,
    labels: Mapping[str, LabelState] | None = None,
    home: str = "",
    start: int = 0,
) -> SkeletonColumns:
    """Return the columns of a session, or of its entries from position ``start`` on."""
    tree = source.tree
    positions = range(start, len(tree))
    kinds = list(map(_kind, tree.types[start:], tree.roles[start:]))
    named = {
        tree.positions[key]: one_line(state.text)[:_LONGEST]
        for key, state in (labels or {}).items()
        if tree.positions.get(key, ROOT) >= start
    }
    texts = RowTexts(source, home=home)
    tips = {tree.nearest_conversation_entry(tip) for tip in tree.tip_positions()}
    parents = tree.parents
    branching = _branch_points(parents)
    shown = [
        at
        for at in positions
        if (kind := kinds[at - start]) != "-"
        and (kind == "u" or at in named or at in tips or at in branching or parents[at] in branching)
    ]
    short: dict[int, str] = {}
    for at, entry in zip(shown, source.iter_entries(shown), strict=True):
        said = copy_text(entry) if kinds[at - start] in "ua" else ""
        words = one_line(said[: 4 * _LONGEST]) or one_line(texts.of(at, entry)[: 4 * _LONGEST])
        short[at] = words.replace("`", "").replace("*", "")[:_LONGEST]
    return SkeletonColumns(
        ids=tree.keys[start:],
        steps=[at - parents[at] for at in positions],
        kinds="".join(kinds),
        times=_seconds_between(tree.times[start:]),
        texts=short,
        labels=named,
        leaf=ROOT if leaf is None else tree.position(leaf),
        first=start,
    )


def _seconds_between(times: list[str]) -> list[int | None]:
    found: list[int | None] = []
    last = 0
    for time in times:
        if (moment := instant(time)) is None:
            found.append(None)
        else:
            seconds = int(moment.timestamp())
            found.append(seconds - last)
            last = seconds
    return found


@lru_cache(maxsize=256)
def _kind(type_: str, role: str | None) -> str:
    if type_ == "message":
        return _ROLES.get(role or "", "o")
    if type_ in SIDE_TYPES:
        return "-"
    return "x" if type_ in CLEARED_TYPES else _TYPES.get(type_, "o")


def _branch_points(parents: list[int]) -> set[int]:
    seen: set[int] = set()
    repeated: set[int] = set()
    for parent in parents:
        if parent in seen:
            repeated.add(parent)
        seen.add(parent)
    return repeated
