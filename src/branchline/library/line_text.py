"""The texts on one line of a session file of any format, for snippets.

Decoding an entry may need the whole file; a line is decoded alone.
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
"""Fields whose strings are ids, times, encoded data or metadata; objects in them are read."""


_SAID = frozenset({"text", "thinking", "summary"})
"""Fields with the text of a model, as opposed to tool arguments."""


_COUNTS = frozenset({"input", "input_tokens", "totalTokens", "total_tokens"})


def line_texts(line: bytes, column: str | None = None) -> list[str]:
    """Return all texts on a line, in order, without ids, times and encoded data.

    ``column`` restricts them to the text of an answer (``said``) or its tool arguments (``tools``).
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
                [
                    inner
                    for name, inner in one.items()
                    if (_counts(name, column) if isinstance(inner, str) else not _is_usage(name, inner))
                ]
            )
        elif isinstance(one, list):
            waiting += reversed(one)
    return found


def _is_usage(name: str, value: Any) -> bool:
    """Whether these are token counts, which some agents store with names of tiers and regions."""
    return name == "usage" and isinstance(value, dict) and not _COUNTS.isdisjoint(value)


def _counts(name: str, column: str | None) -> bool:
    return name not in _NOT_TEXT and (column is None or (name in _SAID) == (column == "said"))
