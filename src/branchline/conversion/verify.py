"""Verify written lines: find what a line lacks of the entry that it was written for.

The line is decoded by its own format, and the two records are compared. Ids, positions in the tree and
equivalent notations (a text or one text block, false or absent) are ignored.
"""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from branchline.context import milliseconds
from branchline.conversion.entry_utils import calls_with_long_numbers, message_of
from branchline.conversion.fallbacks import replace_lone_surrogates
from branchline.conversion.fidelity import Remark
from branchline.conversion.new_file import NewFile
from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    Compaction,
    Entry,
    MessageEntry,
    UsageEntry,
    entry_fields,
    message_fields,
)
from branchline.formats.entry_log import EntryLog
from branchline.formats.pi import PI

__all__ = ["Verifier", "missing_fields"]

_LONG_NUMBER = re.compile(rb"\d{16}")
_SURROGATE = b"\\ud"

_PLACES = frozenset(
    {
        *("id", "parentId", "type", "timestamp", "targetId", "firstKeptEntryId", "fromId", "role"),
        "toolCallId",  # calls are renamed together with their results
    }
)
_FIELD_NAMES = {
    "api": "the API",
    "cost": "the cost",
    "customType": "the name of the extension",
    "data": "the data",
    "deferred": "what was deferred",
    "details": "the details",
    "diagnostics": "the diagnostics",
    "display": "whether it is shown",
    "fromHook": "who wrote it",
    "kind": "what it was for",
    "name": "a part of the title",
    "nestedCalls": "nested calls",
    "note": "the note",
    "providerThinkingLevel": "the thinking level",
    "responseModel": "the model that answered",
    "summary": "the summary for the model",
    "thinkingLevel": "the thinking level",
    "isError": "the error flag",
    "mimeType": "the image type",
    "model": "the model",
    "provider": "the provider",
    "redacted": "the hidden-thinking mark",
    "responseId": "the id of the response",
    "retainedTail": "the kept messages",
    "stopReason": "why it ended",
    "rawStopReason": "why it ended",
    "textSignature": "signatures",
    "thinkingSignature": "signatures",
    "thoughtSignature": "signatures",
    "time": "its time",
    "tokensBefore": "the tokens before",
    "toolName": "the name of the tool",
    "usage": "the tokens",
    "content": "a part of the content",
    "systemMessage": "the system prompt",
}


class Verifier:
    """Compares entries with what the target's agent will read for them."""

    def __init__(self, source: EntryLog, file: NewFile) -> None:
        self._source, self._file = source, file

    def remarks(self, position: int, entry: Entry, place: int | None, around: range) -> dict[Remark, str]:
        """Return what is different at ``place``; ``around`` are the positions written for this entry.

        A row about the session, such as a title, has no position in its tree.
        """
        unread = self._unread(entry, place)
        found = {Remark.UNREAD: "; ".join(unread)} if unread else {}
        if place is None:
            return found
        continues = place in self._file.out.transcript.tree.continuations
        if continues and position not in self._source.tree.continuations:
            found[Remark.JOINED] = "joined with the answer before it"
        if self._file.target is not PI and (missing := self._not_kept(entry, place, around)):
            found[Remark.MISSING] = "without " + ", ".join(missing)
        return found

    def _unread(self, entry: Entry, place: int | None) -> list[str]:
        """Return what the target's agent does not see of an entry in the new file."""
        out, target, line = self._file.out.transcript, self._file.target, b""
        limits, traits = target.limits, target.traits
        if place is not None:
            entry, line = out.entry(place), out.raw(place)
        found = [] if limits is None else list(limits.unread(entry))
        if traits.rounds_integers and _LONG_NUMBER.search(line) and calls_with_long_numbers(entry):
            found.append(f"with whole numbers that {traits.name} rounds")
        if (
            not traits.keeps_lone_surrogates
            and (place is None or _SURROGATE in line)
            and replace_lone_surrogates(entry) is not None
        ):
            found.append(f"with lone surrogates that {traits.name} does not keep")
        if limits is not None and (problem := limits.line_problem(len(line) + 1)) is not None:
            found.append(f"with a long line: {problem}")
        return found

    def _not_kept(self, entry: Entry, place: int, around: range) -> tuple[str, ...]:
        """Return what the new file lacks of an entry.

        Its usage may be written before it, and further parts of an answer after it.
        """
        out, kinds = self._file.out.transcript, self._file.out.transcript.tree.types
        before = range(around.start, place)
        beside = [out.entry(other) for other in before if kinds[other] == "usage"]
        spent = next((other.usage for other in beside if isinstance(other, UsageEntry)), None)
        found = out.entry(place)
        if self._file.target.traits.splits_answers:
            found = self._whole_answer(found, range(place + 1, around.stop))
        if found.type != entry.type:
            return () if isinstance(entry, Compaction) else ("its kind of entry",)
        missing = missing_fields(entry, found, spent)
        if isinstance(entry, BranchSummary):  # its text is written beside it
            missing = tuple(name for name in missing if name != "the summary for the model")
        if not self._file.kept.names_models:  # the entry before an answer names its model
            missing = tuple(name for name in missing if name not in ("the model", "the provider"))
        return missing

    def _whole_answer(self, found: Entry, after: range) -> Entry:
        """Return an answer with the parts written after it."""
        message = message_of(found)
        for part in map(self._file.out.transcript.entry, after):
            more = message_of(part)
            if isinstance(message, AssistantMessage) and isinstance(more, AssistantMessage):
                message = self._file.target.reader.merge_answers(message, more) or message
        return found if message is None else msgspec.structs.replace(found, message=message)


def missing_fields(wanted: Entry, found: Entry, spent: Any = None) -> tuple[str, ...]:
    """Return readable names of what ``found`` lacks; ``spent`` is usage recorded beside it."""
    one, other = _content(wanted), _content(found)
    if spent is not None and not other.get("usage"):
        other["usage"] = _plain(msgspec.to_builtins(spent))
    names: set[str] = set()
    for name, value in one.items():
        here = other.get(name)
        if name == "content":
            names |= _blocks_not_kept(value, here)
        elif name == "usage":
            names |= _usage_not_kept(value, here)
        elif name == "retainedTail":
            names |= _tail_not_kept(value, here)
        elif not _same(value, here):
            names.add(_FIELD_NAMES.get(name, name))
    return tuple(sorted(names))


def _content(entry: Entry) -> dict[str, Any]:
    """Return the content of an entry, without its ids and links."""
    fields = message_fields(entry.message) if isinstance(entry, MessageEntry) else entry_fields(entry)
    compared = {name: _plain(value) for name, value in fields.items() if name not in _PLACES}
    if "content" in fields:
        compared["content"] = _blocks(fields["content"])
    timestamp = fields.get("timestamp") if isinstance(entry, MessageEntry) else None
    compared["time"] = milliseconds(entry.timestamp)
    if isinstance(timestamp, int) or (isinstance(timestamp, float) and math.isfinite(timestamp)):
        compared["time"] = round(timestamp)
    return {name: value for name, value in compared.items() if not _is_empty(value)}


def _blocks(content: Any) -> list[Any]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    plain = [_plain(msgspec.to_builtins(block)) for block in blocks]
    return [block for block in plain if not (isinstance(block, dict) and set(block) == {"type"})]


def _blocks_not_kept(wanted: list[Any], found: Any) -> set[str]:
    if wanted == found:
        return set()
    if not isinstance(found, list) or [_kind(block) for block in wanted] != [_kind(block) for block in found]:
        return {_FIELD_NAMES["content"]}
    return {
        _word_in_block(name)
        for one, other in zip(wanted, found, strict=True)
        if isinstance(one, dict) and isinstance(other, dict)
        for name, value in one.items()
        if not _same(value, other.get(name)) and not (name == "id" and _kind(one) == "toolCall")
    }


def _word_in_block(name: str) -> str:
    return "the name of the tool" if name == "name" else _FIELD_NAMES.get(name, _FIELD_NAMES["content"])


def _tail_not_kept(wanted: list[Any], found: Any) -> set[str]:
    if not isinstance(found, list) or len(wanted) != len(found):
        return {"some of the kept messages"}
    same = all(
        _blocks(one.get("content")) == _blocks(other.get("content"))
        for one, other in zip(wanted, found, strict=True)
    )
    return set() if same else {"details of the kept messages"}


def _usage_not_kept(wanted: Any, found: Any) -> set[str]:
    if not isinstance(wanted, dict) or not isinstance(found, dict):
        return set() if _same(wanted, found) else {_FIELD_NAMES["usage"]}
    names = set()
    tokens = ("input", "output", "cacheRead", "cacheWrite")
    if any(not _same(wanted.get(name), found.get(name)) for name in tokens):
        names.add(_FIELD_NAMES["usage"])
    cost, here = wanted.get("cost") or {}, found.get("cost") or {}
    if not _same(cost.get("total"), here.get("total")):
        names.add(_FIELD_NAMES["cost"])
    elif any(not _same(value, here.get(name)) for name, value in cost.items()):
        names.add("the cost breakdown")
    if any(not _same(wanted.get(name), found.get(name)) for name in ("reasoning", "cacheWrite1h")):
        names.add("reasoning and one-hour cache tokens")
    return names


def _kind(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        try:
            return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
        except OverflowError:  # an integer that is larger than every float
            return False
    if _is_empty(one) and _is_empty(other):
        return True
    return bool(one == other)


def _plain(value: Any) -> Any:
    """Return a value without empty fields, which are equivalent to absent ones."""
    if isinstance(value, dict):
        found = {name: _plain(inner) for name, inner in value.items()}
        return {name: inner for name, inner in found.items() if not _is_empty(inner)}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value is msgspec.UNSET or value in ("", 0, {}, [])
