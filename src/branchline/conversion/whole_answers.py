"""Answers that were recorded in parts, with results of their first calls between the parts.

Claude Code starts a tool as soon as its call has arrived, and may record the result before the remaining
calls of the same answer. A model sees one answer and then all of its results, so that is what other agents
get.
"""

from __future__ import annotations

import copy
from typing import Any

from branchline.conversion.plan import parents_first
from branchline.entries import AssistantMessage, MessageEntry
from branchline.formats.entry_log import EntryLog
from branchline.formats.protocol import FormatReader
from branchline.tree import ROOT

__all__ = ["with_whole_answers"]


def with_whole_answers(source: EntryLog, leaf: int | None) -> tuple[EntryLog, int | None]:
    """Return a session in which the parts of each answer precede its results, and a leaf in it.

    Positions stay the same, parents change. The session itself is returned if no answer is interrupted.
    """
    if type(source.format.reader).merge_answers is FormatReader.merge_answers:
        return source, leaf
    moves = _Moves(source)
    parts = source.tree.continuations
    for position in parents_first(source.tree) if parts else ():
        if position in parts:
            moves.consider(position)
    if not moves.parents:
        return source, leaf
    log: EntryLog[Any] = copy.copy(source)
    log.reading = copy.copy(source.reading)
    log.reading.tree = log.tree = source.tree.relinked(moves.parents)
    log.reading.leaf = moves.end_of(source.reading.leaf)
    return log, None if leaf is None else moves.end_of(leaf)


class _Moves:
    """New parents of the parts of answers and of what follows them."""

    def __init__(self, source: EntryLog) -> None:
        self._source = source
        self._tree = source.tree
        self.parents: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def end_of(self, position: int) -> int:
        """Return the entry that now ends the conversation that used to end with this one."""
        return self._ends.get(position, position)

    def consider(self, position: int) -> None:
        """Move a part that follows a result of its own answer up to the part before that result.

        Call it for parents before children.
        """
        roles = self._tree.roles
        last = first = self._parent(position)
        if roles[position] != "assistant" or last == ROOT or roles[last] == "assistant":
            return
        seen = {roles[first]}
        while (above := self._parent(first)) != ROOT and roles[above] in (None, "toolResult"):
            seen.add(roles[first := above])
        if above == ROOT or "toolResult" not in seen or not seen <= {None, "toolResult"}:
            return
        response = _response(self._source, above)
        if response is None or response != _response(self._source, position):
            return
        for child in self._tree.child_positions(position):
            self.parents[child] = last
        self.parents[first] = position
        self.parents[position] = above
        self._ends[position] = last

    def _parent(self, position: int) -> int:
        found = self.parents.get(position)
        return self._tree.parent_position(position) if found is None else found


def _response(source: EntryLog, position: int) -> str | None:
    entry = source.entry(position)
    if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
        return entry.message.response_id
    return None
