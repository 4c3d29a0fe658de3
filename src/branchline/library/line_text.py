"""The texts on one line of a session file, whatever its format: what a snippet is made of.

Entries need the whole file to be decoded, a line needs nothing but itself.
"""

from __future__ import annotations

from typing import Any

import msgspec

from branchline.entries import json_codec

__all__ = ["line_texts"]

_NOT_TEXT = frozenset(
    {
        "id",
        "uuid",
        "parentId",
        "parentUuid",
        "sessionId",
        "requestId",
        "tool_use_id",
        "toolCallId",
        "call_id",
        "signature",
        "thinkingSignature",
        "thought_signature",
        "encrypted_content",
        "timestamp",
        "type",
        "role",
        "data",
        "version",
        "media_type",
        "mimeType",
        "api",
        "provider",
        "model",
        "stopReason",
        "stop_reason",
        "responseId",
        "cwd",
        "gitBranch",
        "userType",
        "entrypoint",
        "slug",
        "time",
        "ts",
        "created_at",
        "createdAt",
    }
)
"""Fields whose strings are ids, times, encoded data or facts about a session; objects in them are read."""


_SAID = frozenset({"text", "thinking", "summary"})
"""Fields in which a model writes, and not what it hands to tools."""


def line_texts(line: bytes, column: str | None = None) -> list[str]:
    """All texts on a line, in order; ids, times and encoded data are left out.

    With ``column``, ``said`` or ``tools``, only those of an answer that are told to people or to tools.
    """
    try:
        value = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            value = json_codec.loads(line)
        except (ValueError, RecursionError):
            return [line.decode("utf-8", "replace")]
    found: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            waiting += reversed(
                [inner for name, inner in one.items() if not isinstance(inner, str) or _counts(name, column)]
            )
        elif isinstance(one, list):
            waiting += reversed(one)
    return found


def _counts(name: str, column: str | None) -> bool:
    return name not in _NOT_TEXT and (column is None or (name in _SAID) == (column == "said"))
