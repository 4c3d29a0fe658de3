"""The turns of a conversation: each prompt with how many tools its answer used."""

from __future__ import annotations

from typing import NamedTuple

from branchline.entries import MessageEntry, message_text
from branchline.views.humanize import count
from branchline.views.session_source import SessionSource
from branchline.views.spans import Line, Span, make_line, pad_line

__all__ = ["TurnList", "TurnRow", "turns_of"]

_PREVIEW = 400
_FACTS = 9


class TurnRow(NamedTuple):
    """A prompt on the path: its number, its words, and the tools and answers that followed."""

    key: str
    number: int
    text: str
    tools: int
    answers: int
    time: str


def turns_of(session: SessionSource) -> list[TurnRow]:
    """Return the prompts on the active path, oldest first; prompts without text are left out."""
    tree = session.index
    positions = [tree.positions[key] for key in session.path()]
    prompts = [place for place, position in enumerate(positions) if tree.roles[position] == "user"]
    entries = session.transcript.entries([positions[place] for place in prompts])
    ends = [*prompts[1:], len(positions)] if prompts else []
    turns: list[TurnRow] = []
    for place, end, entry in zip(prompts, ends, entries, strict=True):
        if not isinstance(entry, MessageEntry) or not (text := message_text(entry.message)).strip():
            continue
        roles = [tree.roles[position] for position in positions[place + 1 : end]]
        turns.append(
            TurnRow(
                tree.keys[positions[place]],
                len(turns) + 1,
                text,
                roles.count("toolResult"),
                roles.count("assistant"),
                tree.times[positions[place]],
            )
        )
    return turns


class TurnList:
    """The turns that have all words of a filter, as rows."""

    def __init__(self, turns: list[TurnRow], words: str = "") -> None:
        wanted = words.lower().split()
        self.turns = [turn for turn in turns if all(word in turn.text.lower() for word in wanted)]
        self._widest = len(str(len(turns)))

    def __len__(self) -> int:
        return len(self.turns)

    def line(self, index: int, columns: int) -> Line:
        turn = self.turns[index]
        tools = count(turn.tools, "tool") if turn.tools else ""
        silent = "" if turn.answers else "no answer"
        words = " ".join(turn.text[:_PREVIEW].split())
        return make_line(
            Span(f" {turn.number:>{self._widest}}  ", "number"),
            *pad_line((Span(words, "user"),), max(8, columns - self._widest - _FACTS - 6)),
            Span(f"  {tools or silent:>{_FACTS}}", "tool" if tools else "warning"),
        )
