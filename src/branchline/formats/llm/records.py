"""One line of an llm session as the native format would hold it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from branchline.context import ModelRef, milliseconds
from branchline.formats.common.derived_format import DerivedFormatReader, end_fields
from branchline.formats.entry_log import EntryLog
from branchline.formats.entry_times import usual_time
from branchline.formats.llm.entries import PlannedEntry, fields_of_entry, planned_entries
from branchline.formats.llm.log_index import NAME, LlmLogIndex
from branchline.formats.llm.reader import LlmReader
from branchline.formats.llm.rows import Line, UsageRow, line_in, lines_in
from branchline.formats.log_index import LineChunk
from branchline.tree import Tree

__all__ = ["LlmFormatReader"]


class LlmFormatReader(DerivedFormatReader[LlmLogIndex]):
    """Reads messages with their parts as entries."""

    def __init__(self) -> None:
        super().__init__(NAME)

    def log_reader(self, path: str = "") -> LlmReader:
        del path
        return LlmReader()

    def answer_model(self, transcript: EntryLog[LlmLogIndex], position: int) -> ModelRef | None:
        """Return the model of the answer's turn."""
        if transcript.reading.is_native:
            return super().answer_model(transcript, position)
        turn = line_in(transcript.raw(position)).turn
        return ModelRef(provider="", id=turn.model) if turn is not None and turn.model else None

    def fields(self, line: bytes, index: LlmLogIndex, position: int) -> dict[str, Any]:
        found = line_in(line)
        if found.message is None:
            return _side_fields(found, index.tree, position)
        planned, time = _planned_as(found, index.tree.keys[position]), usual_time(found.time)
        return {"timestamp": time, **fields_of_entry(found, planned, milliseconds(time))}

    def block_fields(self, data: bytes, index: LlmLogIndex, block: LineChunk) -> Iterator[dict[str, Any]]:
        tree = index.tree
        position, end = block.first, block.first + len(block.ends)
        for line in lines_in(data):
            if line.message is None:
                for place in range(position, position + 1 if line.usage is not None else end):
                    yield _side_fields(line, tree, place)
                    position += 1
                continue
            for planned in _planned(line):
                if position < end and line.message + planned[0] == tree.keys[position]:
                    yield fields_of_entry(line, planned, milliseconds(tree.times[position]))
                    position += 1


def _side_fields(line: Line, tree: Tree, position: int) -> dict[str, Any]:
    if line.usage is not None:
        return _usage_fields(line.usage)
    return end_fields("" if line.end is None else line.end.title, tree, position)


def _planned_as(line: Line, key: str) -> PlannedEntry:
    """Return the entry of a message with this key, perhaps with a number because its id is taken."""
    planned, names = _planned(line), (key, key.rpartition("#")[0])
    return next((one for name in names for one in planned if f"{line.message}{one[0]}" == name), planned[0])


def _planned(line: Line) -> Sequence[PlannedEntry]:
    return planned_entries(line.role, line.shape)


def _usage_fields(usage: UsageRow) -> dict[str, Any]:
    return {"kind": "turn", "model": usage.model, "usage": usage.usage}
