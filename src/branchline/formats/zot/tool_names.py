"""Which tool a result is of: read from the answer above it when somebody asks, its row does not tell it."""

from __future__ import annotations

from bisect import bisect_left

from branchline.formats.log_index import LogIndex
from branchline.formats.zot.occurrences import Occurrences
from branchline.formats.zot.rows import Answer, row_of
from branchline.tree import ROOT

__all__ = ["ToolNames", "calls_in"]


class ToolNames:
    """What answers ask for: names of tools by call; the reading is given with each question."""

    def __init__(self) -> None:
        self.last: dict[str, str] = {}
        """What the last answer asked for."""
        self._answers = Occurrences("assistant")
        # What was read last: entries are mostly asked for one after the other.
        self._read = ROOT
        self._names: dict[str, str] = {}

    def tool_of(self, position: int, call: str, reading: LogIndex) -> str:
        """The tool of the result at this position: as the last answer before it says; "" where none does."""
        answers = self._answers.among(reading.tree.roles)
        number = bisect_left(answers, position)
        if number == 0:
            return ""
        answer = answers[number - 1]
        if answer != self._read:
            message = row_of(reading.read(*reading.span(answer))).message
            self._names = calls_in(message) if isinstance(message, Answer) else {}
            self._read = answer
        return self._names.get(call, "")


def calls_in(answer: Answer) -> dict[str, str]:
    """The calls that an answer asks for, and their tools."""
    return {
        block.id: block.name
        for block in answer.content or ()
        if block.name is not None and block.id is not None
    }
