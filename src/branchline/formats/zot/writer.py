"""Encodes entries as zot rows, for appending.

A row depends on those before it: usage is a running total, a meta row repeats every field, and the results of
one answer are in one row after it. :class:`ZotWriter` keeps that state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from branchline.entries import (
    SIDE_TYPES,
    AssistantMessage,
    CompactionSummaryMessage,
    Entry,
    Header,
    Leaf,
    Message,
    MessageEntry,
    ModelChange,
    SessionInfo,
    ToolResult,
    Usage,
    UsageEntry,
    UserMessage,
    tool_calls,
)
from branchline.errors import NotSupported
from branchline.formats.extra_fields import typed_message
from branchline.formats.go_json import dumps, go_timestamp
from branchline.formats.zot.log_index import ZotLogIndex
from branchline.formats.zot.records import CurrentModel, message_row, results_row
from branchline.formats.zot.rows import CumulativeUsage
from branchline.tree import ROOT

__all__ = ["CANNOT", "VERSION", "ZotWriter", "header_fields", "meta_row"]

VERSION = "0.1.62"
"""The zot version whose rows are written."""

CANNOT = {
    "branch": "a zot file is linear; to continue from an earlier message, fork it",
    "reset": "a zot file is linear; start a new session instead",
    "elsewhere": "a zot file is linear, and another writer has appended; refresh to continue after that",
    "label": "a row for it would be lost in zot's own forks",
    "untitle": "zot keeps the last title that was not empty",
    "compaction": "zot keeps every message; a compacted conversation continues in a fork",
    "branch_summary": "a zot file is linear, without branches",
    "thinking_level_change": "zot does not record how hard a model thinks",
    "context_edit": "zot has no context edits",
    "custom": "a row for it would be lost in zot's own forks",
    "custom_message": "zot supports only user, assistant and tool messages",
    "message": "zot supports only user, assistant and tool messages",
    "block": "zot supports only text, images, thinking, tool calls and tool results",
    "result": "the results of all calls of an answer are in one row after it; append them together",
}

_META = ("id", "cwd", "model", "provider", "started", "version")
_META_IF_ANY = ("title", "parent", "fork_point")
_TOKEN_FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def meta_row(fields: dict[str, Any]) -> bytes:
    """Return a complete meta row, keys in zot's order; empty optional fields are omitted."""
    meta = {name: fields.get(name) or "" for name in _META}
    meta |= {name: fields[name] for name in _META_IF_ANY if fields.get(name)}
    return dumps({"type": "meta", "meta": meta}) + b"\n"


def header_fields(header: Header) -> dict[str, Any]:
    """Return the fields of a new session's first meta row."""
    metadata = header.metadata or {}
    return {
        "id": header.id,
        "cwd": header.cwd,
        "model": metadata.get("model"),
        "provider": metadata.get("provider"),
        "started": go_timestamp(header.timestamp),
        "version": VERSION,
        "parent": header.parent_session,
        "fork_point": metadata.get("fork_point"),
    }


class ZotWriter:
    """Encodes rows for appending. ``refuse`` makes the exception for anything that zot cannot store."""

    def __init__(self, reading: ZotLogIndex, refuse: Callable[[str], NotSupported]) -> None:
        self._refuse = refuse
        self._meta = dict(reading.metas[-1].fields) if reading.metas else {}
        self._title = reading.title
        self._sums = reading.totals
        self._calls = dict(reading.calls) if reading.calls_open else {}
        tree = reading.tree
        tip = tree.nearest_conversation_entry(len(tree) - 1)
        self._tip: set[str | None] = {None, *tree.keys} if tip == ROOT else set(tree.keys[tip:])
        """Possible parents of the next message: the last entry of the conversation and what follows it."""
        self._rows: list[bytes] = []

    def write(self, entries: Sequence[Entry]) -> bytes:
        """Return the rows for these entries; raises an error unless all of them can be written."""
        number = 0
        while number < len(entries):
            results = _results_from(entries[number:])
            written = entries[number : number + (len(results) or 1)]
            if results:
                self._require_end(entries[number])
                self._write_results(results)
            else:
                self._write_one(entries[number])
            if written[0].type not in SIDE_TYPES:
                self._tip.clear()
            self._tip.update(entry.id for entry in written)
            number += len(written)
        return b"".join(self._rows)

    def _require_end(self, entry: Entry) -> None:
        """Raise an error unless the entry continues the end of the file."""
        if entry.parent not in self._tip:
            raise self._refuse("elsewhere")

    def _write_one(self, entry: Entry) -> None:
        match entry:
            case MessageEntry():
                self._require_end(entry)
                self._write_message(entry.message)
            case ModelChange():
                self._require_end(entry)
                self._write_model(entry.provider, entry.model_id)
            case SessionInfo():
                if not entry.name:
                    raise self._refuse("untitle")
                self._title = entry.name
                self._rows.append(dumps({"title": entry.name, "type": "rename"}) + b"\n")
            case UsageEntry():
                self._write_usage(entry.usage or Usage())
            case Leaf():
                raise self._refuse("reset" if entry.target is None else "branch")
            case _:
                raise self._refuse(entry.type)

    def _write_message(self, message: Message) -> None:
        typed = typed_message(message)
        if isinstance(typed, AssistantMessage):
            self._write_before_answer(typed)
        row = message_row(message, CurrentModel(self._meta))
        if row is None:
            speaks = isinstance(typed, UserMessage | AssistantMessage | CompactionSummaryMessage)
            raise self._refuse("block" if speaks else "message")
        self._rows.append(row)
        self._calls = {}
        if isinstance(typed, AssistantMessage):
            self._calls = {call.id: call.name for call in tool_calls(typed.content)}

    def _write_before_answer(self, answer: AssistantMessage) -> None:
        """Write the rows that zot writes before an answer: a model change and the usage so far."""
        if answer.model and (answer.provider or "", answer.model) != (
            self._meta.get("provider") or "",
            self._meta.get("model") or "",
        ):
            self._write_model(answer.provider or "", answer.model)
        if answer.usage is not None and _added(CumulativeUsage(), answer.usage) != CumulativeUsage():
            self._write_usage(answer.usage)

    def _write_results(self, results: Sequence[Message]) -> None:
        typed = [typed_message(message) for message in results]
        answered = [message.tool_call_id for message in typed if isinstance(message, ToolResult)]
        if sorted(answered) != sorted(self._calls):
            raise self._refuse("result")
        named = [(message, self._calls[call]) for message, call in zip(results, answered, strict=True)]
        row = results_row(named)
        if row is None:
            raise self._refuse("block")
        self._rows.append(row)
        self._calls = {}

    def _write_model(self, provider: str, model: str) -> None:
        self._meta |= {"provider": provider, "model": model, "title": self._title}
        self._rows.append(meta_row(self._meta))

    def _write_usage(self, usage: Usage) -> None:
        self._sums = _added(self._sums, usage)
        numbers = {name: getattr(self._sums, name) for name in CumulativeUsage.__struct_fields__}
        self._rows.append(dumps({"type": "usage", "usage": numbers, "cumulative": numbers}) + b"\n")


def _results_from(entries: Sequence[Entry]) -> list[Message]:
    """Return the consecutive tool results at the start of these entries."""
    results: list[Message] = []
    for entry in entries:
        if not isinstance(entry, MessageEntry) or not isinstance(typed_message(entry.message), ToolResult):
            break
        results.append(entry.message)
    return results


def _added(sums: CumulativeUsage, usage: Usage) -> CumulativeUsage:
    tokens = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    numbers = {name: getattr(sums, name) + more for name, more in zip(_TOKEN_FIELDS, tokens, strict=True)}
    return CumulativeUsage(**numbers, cost_usd=_sum(sums.cost_usd, usage.cost.total))


def _sum(one: float, other: float) -> float:
    # Decimal digits of money, not of binary fractions: 0.1 + 0.2 is written as 0.3.
    return one + other if type(one) is type(other) is int else round(one + other, 12)
