"""Verify written lines: find what a line lacks of the entry that it was written for.

The line is decoded by its own format, and the two records are compared. Ids, positions in the tree and
equivalent notations (a text or one text block, false or absent) are ignored.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from branchline.context import milliseconds
from branchline.entries import Entry, MessageEntry, entry_fields, message_fields

__all__ = ["missing_fields"]

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
