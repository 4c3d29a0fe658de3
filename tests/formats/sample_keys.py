"""What the sample sets of other programs say about a session, computed from what branchline reads."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from branchline import Session
from branchline.actions.inspect import report
from branchline.entries import (
    AssistantMessage,
    Compaction,
    CustomMessage,
    MessageEntry,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    message_text,
)

__all__ = ["Turn", "counts_of", "expected_turns", "keys_of", "turns_of"]

_LETTERS = {"user": "u", "assistant": "a", "toolResult": "t", "bashExecution": "s"}
_SHOWN = 60
_COUNTED = ("answers", "compactions", "failedTools", "prompts", "thinking", "toolCalls", "toolResults")


class Turn(NamedTuple):
    """One thing on the active path: its letter and, of prompts and answers, the beginning of its words."""

    letter: str
    text: str = ""


def turns_of(session: Session) -> list[Turn]:
    """The active path as a person reads it; answers of one entry after the other are one."""
    found = []
    for position in session.index.path_positions(session.transcript.reading.leaf):
        match session.transcript.entry(position):
            case Compaction():
                found.append(Turn("k"))
            case CustomMessage(display=True):
                found.append(Turn("s"))
            case MessageEntry(message=message):
                letter = _LETTERS[message.role]
                if isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted"):
                    letter = "s"
                found.append(Turn(letter, message_text(message)[:_SHOWN] if letter in "ua" else ""))
            case _:
                pass
    return _joined(found)


def expected_turns(roles: str, texts: list[str]) -> list[Turn]:
    words = iter(texts)
    return _joined([Turn(letter, next(words) if letter in "ua" else "") for letter in roles])


def _joined(turns: list[Turn]) -> list[Turn]:
    """Without what is optional, and with answers in a row as one."""
    found = []
    for letter, group in groupby(
        [turn for turn in turns if turn.letter != "s"], key=lambda turn: turn.letter
    ):
        together = list(group)
        if letter == "a":
            together = [Turn("a", "".join(turn.text for turn in together)[:_SHOWN])]
        found += together
    return found


def keys_of(path: Path, session_id: str | None = None) -> dict[str, Any]:
    """The keys of one session, without its turns."""
    del session_id
    with Session.open(path) as session:
        told = report(session)
        entries = [
            session.transcript.entry(place)
            for place in session.index.path_positions(session.transcript.reading.leaf)
        ]
        calls = [
            block
            for entry in entries
            if isinstance(entry, MessageEntry)
            and isinstance(entry.message, AssistantMessage)
            and not isinstance(entry.message.content, str)
            for block in entry.message.content
            if isinstance(block, ToolCall)
        ]
        return {
            "turns": turns_of(session),
            "title": told["title"],
            "cwd": told["cwd"],
            "tool_calls": len(calls),
            "usage": {name: told["usage"][name] for name in ("input", "output", "cache_read", "cache_write")},
            "cost": told["usage"]["cost"],
            "branches": _branches(session),
            "parent": told["parent_session"],
        }


def _branches(session: Session) -> int:
    """Leaves among messages."""
    tree = session.index
    has_child = set()
    for position, kind in enumerate(tree.types):
        if kind == "message":
            parent = tree.parent_position(position)
            while parent >= 0 and tree.types[parent] != "message":
                parent = tree.parent_position(parent)
            has_child.add(parent)
    return sum(kind == "message" and place not in has_child for place, kind in enumerate(tree.types))


def counts_of(session: Session) -> dict[str, int]:
    """How many things of each kind are on the active path."""
    found = dict.fromkeys(_COUNTED, 0)
    for position in session.index.path_positions(session.transcript.reading.leaf):
        match session.transcript.entry(position):
            case Compaction():
                found["compactions"] += 1
            case MessageEntry(message=UserMessage()):
                found["prompts"] += 1
            case MessageEntry(message=ToolResult() as result):
                found["toolResults"] += 1
                found["failedTools"] += result.is_error is True
            case MessageEntry(message=AssistantMessage() as answer):
                blocks = () if isinstance(answer.content, str) else answer.content
                found["answers"] += 1
                found["toolCalls"] += sum(isinstance(block, ToolCall) for block in blocks)
                found["thinking"] += any(isinstance(block, Thinking) for block in blocks)
            case _:
                pass
    found["thoughts"] = found["thinking"]
    return found
