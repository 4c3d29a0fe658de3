"""Short sessions for tests, told in a line or two, and read back by the real reader.

Entries are numbered from 1: the first one has the id ``e1`` and hangs from nothing, each later one hangs
from the one before unless it says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from branchline.context import ContextRules, ModelRef
from branchline.context.selection import model_of_answer
from branchline.entries import Entry
from branchline.formats import EntryLog
from branchline.tree import Tree
from support import transcript

Fields = dict[str, Any]
MORNING = 1767603600000  # 2026-01-05T09:00:00Z


def story(*entries: Fields) -> EntryLog:
    """The session with these entries."""
    lines: list[Fields] = [
        {"type": "session", "version": 3, "id": "s", "timestamp": _time(0), "cwd": "/home/u/proj"}
    ]
    before = None
    for number, entry in enumerate(entries, 1):
        common = {"id": f"e{number}", "parentId": before, "timestamp": _time(number)}
        lines.append({**common, **entry})
        before = lines[-1]["id"]
    return transcript(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def _time(number: int) -> str:
    return f"2026-01-05T{9 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"


def message(role: str, **fields: Any) -> Fields:
    return {"type": "message", "message": {"role": role, **fields}}


def user(content: Any) -> Fields:
    return message("user", content=content)


def answer(*blocks: Any, **fields: Any) -> Fields:
    """An answer; plain strings are texts."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    values = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude", "stopReason": "stop"}
    return message("assistant", content=content, **{**values, **fields})


def call(name: str, id: str = "c1", **arguments: Any) -> Fields:  # noqa: A002
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def result(text: str, id: str = "c1", **fields: Any) -> Fields:  # noqa: A002
    content = [{"type": "text", "text": text}] if text else []
    return message(
        "toolResult", toolCallId=id, toolName="read", content=content, **{"isError": False, **fields}
    )


def compaction(summary: str, kept: str | None, **fields: Any) -> Fields:
    entry = {"type": "compaction", "summary": summary, "tokensBefore": 100, **fields}
    return entry if kept is None else {**entry, "firstKeptEntryId": kept}


def edit(target: str, content: Any = None) -> Fields:
    """An edit: other content, or nothing at all."""
    replacement = None if content is None else {"content": content}
    return {"type": "context_edit", "targetId": target, "replacement": replacement}


def label(target: str, text: str = "here") -> Fields:
    return {"type": "label", "targetId": target, "label": text}


def usage(total: int, **fields: Any) -> Fields:
    """A usage of so many tokens, a tenth of them output, that cost a quarter each: such numbers add up exactly."""
    values = {"input": total - total // 10, "output": total // 10, "cacheRead": 0, "cacheWrite": 0}
    return {**values, "totalTokens": total, "cost": {"total": total / 4}, **fields}


class Watched:
    """A source that remembers which entries were decoded."""

    records_cost = True

    def __init__(self, source: EntryLog) -> None:
        self.source = source
        self.decoded: list[int] = []
        self.batches: list[int] = []

    @property
    def tree(self) -> Tree:
        return self.source.tree

    @property
    def context_rules(self) -> ContextRules:
        return self.source.context_rules

    @property
    def session_model(self) -> str | None:
        return self.source.session_model

    def raw(self, position: int) -> bytes:
        return self.source.raw(position)

    def answer_model(self, position: int) -> ModelRef | None:
        return model_of_answer(self, position)

    def entry(self, position: int) -> Entry:
        return self.entries([position])[0]

    def entries(self, positions: Sequence[int]) -> list[Entry]:
        return list(self.iter_entries(positions))

    def iter_entries(self, positions: Sequence[int]) -> Iterator[Entry]:
        self.decoded += positions
        self.batches.append(len(positions))
        return self.source.iter_entries(positions)


def at(session: EntryLog, entry: str | None = None) -> int:
    """The position of an entry, or where the file stands."""
    return session.reading.leaf if entry is None else session.tree.positions[entry]
