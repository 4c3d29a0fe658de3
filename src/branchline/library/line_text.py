"""The texts on one line of a session file.

A search for words shows the lines of its hits: :func:`line_texts` reads them by their fields, whatever the
format is, because loading a format takes longer than the search. A search for a part of a word decides by the
text whether a line is a hit: :func:`entry_texts` reads it as the format does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from branchline.entries import json_codec
from branchline.views.text import without_escapes

if TYPE_CHECKING:
    from branchline.formats import Format

__all__ = ["column_text", "entry_texts", "line_texts"]

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
_ID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{16,64}"
_WRAPPED = r"\s*<([\w-]+)(?:\s[^<>]*)?>(.*)</\1>\s*"


def column_text(said: str, tools: str, column: str | None) -> str:
    """Return what an entry says, what its tools read and wrote, or both."""
    if column is None:
        return f"{said}\n{tools}" if said and tools else said or tools
    return said if column == "said" else tools


def entry_texts(format_: Format, line: bytes, column: str | None = None) -> list[str]:
    """Return the text of each entry on a line, as the format reads a file with this line alone."""
    from branchline.catalog.documents import documents_of  # noqa: PLC0415  as described above
    from branchline.formats import EntryLog  # noqa: PLC0415  as described above

    data = line + b"\n"
    transcript = EntryLog(format_, lambda offset, size: data[offset : offset + size])
    return [column_text(one.said, one.tools, column) for one in documents_of(transcript)]


_COUNTS = frozenset({"input", "input_tokens", "totalTokens", "total_tokens"})


def line_texts(line: bytes, column: str | None = None) -> list[str]:
    """Return all texts on a line, in order, without ids, times and encoded data.

    A text inside one pair of tags, as agents store prompts, is returned without the tags. ``column``
    restricts them to the text of an answer (``said``) or its tool arguments (``tools``).
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
            if not re.fullmatch(_ID, one):
                found.append(without_escapes(_unwrapped(one)))
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


def _unwrapped(text: str) -> str:
    wrapped = re.fullmatch(_WRAPPED, text, re.DOTALL) if text.lstrip()[:1] == "<" else None
    return text if wrapped is None or f"</{wrapped[1]}>" in wrapped[2] else wrapped[2]


def _is_usage(name: str, value: Any) -> bool:
    """Whether these are token counts, which some agents store with names of tiers and regions."""
    return name == "usage" and isinstance(value, dict) and not _COUNTS.isdisjoint(value)


def _counts(name: str, column: str | None) -> bool:
    return name not in _NOT_TEXT and (column is None or (name in _SAID) == (column == "said"))
