"""Which tool a result is of: read from the answer above it when somebody asks, its row does not tell it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from branchline.entries import json_codec
from branchline.formats.protocol import LogIndex
from branchline.formats.zot.occurrences import Occurrences
from branchline.formats.zot.rows import AnswerBlock
from branchline.tree import ROOT

__all__ = ["ToolNames", "call_of", "calls_in", "words_of"]


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
            message = json_codec.loads(reading.read(*reading.span(answer)))["message"]
            self._names, self._read = calls_in(words_of(message.get("content"))), answer
        return self._names.get(call, "")


def calls_in(blocks: Iterable[AnswerBlock]) -> dict[str, str]:
    return {block.id: block.name for block in blocks if block.name is not None and block.id is not None}


def call_of(content: Any, number: int) -> str:
    """The call that a tool result answers."""
    block = content[number] if isinstance(content, list) and number < len(content) else None
    call = block.get("call_id") if isinstance(block, dict) else None
    return call if isinstance(call, str) else ""


def words_of(content: Any) -> list[AnswerBlock]:
    """The blocks of an answer."""
    if isinstance(content, str):
        return [AnswerBlock(text=content)]
    found = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            text, call, name = block.get("text"), block.get("id"), block.get("name")
            found.append(
                AnswerBlock(
                    text=text if isinstance(text, str) else "",
                    id=call if isinstance(call, str) else None,
                    name=name if isinstance(name, str) else None,
                )
            )
    return found
