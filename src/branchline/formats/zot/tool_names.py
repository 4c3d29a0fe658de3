"""Tool names of results, which zot rows do not contain: looked up in the preceding answer on demand."""

from __future__ import annotations

from bisect import bisect_left

from branchline.formats.log_index import LogIndex
from branchline.formats.zot.occurrences import Occurrences
from branchline.formats.zot.rows import Answer, row_of
from branchline.tree import ROOT

__all__ = ["ToolNames", "calls_in"]


class ToolNames:
    """Tool names by call id. The caller passes the index with each lookup."""

    def __init__(self) -> None:
        self.last: dict[str, str] = {}
        """The calls of the last answer."""
        self._answers = Occurrences("assistant")
        # Cache of the last answer read: entries are usually read in order.
        self._read = ROOT
        self._names: dict[str, str] = {}

    def tool_of(self, position: int, call: str, reading: LogIndex) -> str:
        """Return the tool of the result at ``position``, as named by the last answer before it, or ""."""
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
    """Return the tool calls of an answer: id to tool name."""
    return {
        block.id: block.name
        for block in answer.content or ()
        if block.name is not None and block.id is not None
    }
