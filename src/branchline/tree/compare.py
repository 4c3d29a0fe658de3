"""Compares two paths: their common prefix, and what follows on either side.

Side records (labels, titles, moves of the leaf) are no part of a conversation and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from branchline.entries import (
    SIDE_TYPES,
    AssistantMessage,
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessage,
    Entry,
    MessageEntry,
    UnknownMessage,
    blocks_text,
    message_text,
    tool_calls,
)
from branchline.tree.entry_source import EntrySource
from branchline.tree.index import Tree

__all__ = ["Comparison", "compare_paths", "compare_sessions"]

_TOGETHER = 64


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """``shared`` are the ids of the common beginning, ``left`` and ``right`` what follows on either path.

    ``common_ancestor`` is the last shared entry. ``shared_right`` names the same beginning with the ids of
    the other session, which are others when it was recognised ``by`` its words and not by its ids.
    """

    common_ancestor: str | None
    shared: list[str]
    left: list[str]
    right: list[str]
    shared_right: list[str]
    by: Literal["id", "text"]


def compare_paths(tree: Tree, one: int, other: int) -> Comparison:
    """The paths to two positions of one tree."""
    left, right = _path(tree, one), _path(tree, other)
    length = _equal_prefix(left, right)
    return _comparison(tree, left, length, tree, right, length, by="id")


def compare_sessions(one: EntrySource, one_leaf: int, other: EntrySource, other_leaf: int) -> Comparison:
    """Compare the paths of two sessions: by ids where one is a fork of the other, else by role and text.

    A fork keeps id, time and type of every entry, so that nothing has to be read to see what it shares.
    Where the beginnings have no such entry in common, they are compared turn by turn; entries that only
    change a setting (model, thinking level) are skipped.
    """
    left, right = _path(one.tree, one_leaf), _path(other.tree, other_leaf)
    length = _equal_prefix(_marks(one.tree, left), _marks(other.tree, right))
    if length:
        return _comparison(one.tree, left, length, other.tree, right, length, by="id")
    lengths = _equal_turns(_Turns(one, left), _Turns(other, right))
    return _comparison(one.tree, left, lengths[0], other.tree, right, lengths[1], by="text")


def _path(tree: Tree, position: int) -> list[int]:
    types = tree.types
    return [place for place in tree.path_positions(position) if types[place] not in SIDE_TYPES]


def _marks(tree: Tree, path: list[int]) -> list[tuple[str, ...]]:
    return [
        (tree.keys[place], tree.times[place], tree.types[place], tree.roles[place] or "") for place in path
    ]


def _equal_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return number
    return min(len(one), len(other))


def _comparison(
    one: Tree,
    left: list[int],
    left_length: int,
    other: Tree,
    right: list[int],
    right_length: int,
    *,
    by: Literal["id", "text"],
) -> Comparison:
    left_keys = [one.keys[place] for place in left]
    right_keys = [other.keys[place] for place in right]
    return Comparison(
        common_ancestor=left_keys[left_length - 1] if left_length else None,
        shared=left_keys[:left_length],
        left=left_keys[left_length:],
        right=right_keys[right_length:],
        shared_right=right_keys[:right_length],
        by=by,
    )


# -- turns ------------------------------------------------------------------------------------------------


class _Turns:
    """The turns of a path, read in small groups, as only the beginning may be needed."""

    def __init__(self, source: EntrySource, path: list[int]) -> None:
        self.source = source
        self.path = path
        self._group: list[Entry] = []
        self._first = 0

    def turn(self, start: int) -> tuple[int, tuple[Any, ...]] | None:
        """The first turn at or after a place on the path: where the path continues, and its content."""
        for number in range(start, len(self.path)):
            if not self._first <= number < self._first + len(self._group):
                self._first = number
                self._group = self.source.entries(self.path[number : number + _TOGETHER])
            said = _said(self._group[number - self._first])
            if said is not None:
                return number + 1, said
        return None


def _equal_turns(one: _Turns, other: _Turns) -> tuple[int, int]:
    left_length = right_length = 0
    while True:
        left, right = one.turn(left_length), other.turn(right_length)
        if left is None or right is None or left[1] != right[1]:
            return left_length, right_length
        left_length, right_length = left[0], right[0]


def _said(entry: Entry) -> tuple[Any, ...] | None:
    """Role and text of an entry; None if it is not part of a turn."""
    match entry:
        case MessageEntry(message=UnknownMessage() as message):
            return message.role, message.fields.get("content")
        case MessageEntry(message=AssistantMessage() as message):
            return "assistant", message_text(message), _calls(message)
        case MessageEntry(message=BashExecution() as message):
            return "bash", message.command, message.output
        case MessageEntry():
            return entry.message.role, message_text(entry.message)
        case CustomMessage():
            return "custom", blocks_text(entry.content)
        case Compaction() | BranchSummary():
            return entry.type, entry.summary
        case _:
            return None


def _calls(message: AssistantMessage) -> list[Any]:
    return [(call.name, call.arguments) for call in tool_calls(message.content)]
