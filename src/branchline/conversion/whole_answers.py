"""Answers that were recorded in parts, with results of their first calls between the parts.

Claude Code starts a tool as soon as its call has arrived, and may record the result before the remaining
calls of the same answer. A model sees one answer and then all of its results, so that is what other agents
get.
"""

from __future__ import annotations

import copy
from typing import Any

from branchline.entries import AssistantMessage, MessageEntry
from branchline.formats.entry_log import EntryLog
from branchline.formats.protocol import FormatReader
from branchline.tree import ROOT, Tree

__all__ = ["with_whole_answers"]


def with_whole_answers(source: EntryLog, leaf: int | None) -> tuple[EntryLog, int | None]:
    """Return a session in which the parts of each answer precede its results, and a leaf in it.

    Positions stay the same, parents change. The session itself is returned if no answer is interrupted.
    """
    late = _late_parts(source)
    if not late:
        return source, leaf
    moves = _Moves(source.tree)
    for position, above in late.items():
        moves.move(position, above)
    log: EntryLog[Any] = copy.copy(source)
    log.reading = copy.copy(source.reading)
    log.reading.tree = log.tree = source.tree.relinked(moves.parents)
    log.reading.leaf = moves.end_of(source.reading.leaf)
    return log, None if leaf is None else moves.end_of(leaf)


def _late_parts(source: EntryLog) -> dict[int, int]:
    """Return the parts that follow a result of their own answer, each with the part before that."""
    if type(source.format.reader).merge_answers is FormatReader.merge_answers:
        return {}
    tree = source.tree
    found: dict[int, int] = {}
    for position in sorted(tree.continuations):
        if tree.roles[position] != "assistant" or not _is_after_result(tree, position):
            continue
        above = tree.parent_position(position)
        while above != ROOT and tree.roles[above] in (None, "toolResult"):
            above = tree.parent_position(above)
        response = None if above == ROOT else _response(source, above)
        if response is not None and response == _response(source, position):
            found[position] = above
    return found


def _is_after_result(tree: Tree, position: int) -> bool:
    above = tree.parent_position(position)
    while above != ROOT and tree.roles[above] is None:
        above = tree.parent_position(above)
    return above != ROOT and tree.roles[above] == "toolResult"


def _response(source: EntryLog, position: int) -> str | None:
    entry = source.entry(position)
    if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
        return entry.message.response_id
    return None


class _Moves:
    """New parents of entries."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.parents: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def end_of(self, position: int) -> int:
        """Return the entry that now ends the conversation that used to end with this one."""
        return self._ends.get(position, position)

    def move(self, position: int, above: int) -> None:
        """Move an entry directly below the part before it; what was between them comes after it.

        Call it in the order of the file.
        """
        last = first = self._parent(position)
        while (parent := self._parent(first)) != above:
            first = parent
        for child in self._tree.child_positions(position):
            self.parents[child] = last
        self.parents[first] = position
        self.parents[position] = above
        self._ends[position] = last

    def _parent(self, position: int) -> int:
        found = self.parents.get(position)
        return self._tree.parent_position(position) if found is None else found
