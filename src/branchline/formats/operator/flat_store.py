"""Operator's older store: a line of metadata, then bare messages without ids, in a straight line.

Operator rewrote such a file at every save, so it is never appended to here. Each message is translated into
a line of today's form; a ``tool`` message, which holds a call and its result, into two.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from branchline.entries import Header
from branchline.formats.json_values import dict_of, iso_time, text_of
from branchline.formats.operator.timestamps import instant
from branchline.formats.suffixes import JSONL
from branchline.tree import Kind

__all__ = [
    "current_lines",
    "flat_header",
    "flat_problems",
    "is_flat_folder",
    "is_flat_header",
    "is_flat_message",
]

_ROLES = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
_FOLDER = re.compile(r"(?:^|/)sessions/\d\d-\d\d-\d{4}/[^/]+\.jsonl$")
_USAGE = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}


def is_flat_header(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is the first line of such a file. Kimi's has a version of its protocol."""
    return (
        fields.get("type") == "metadata"
        and ("created_at" in fields or "updated_at" in fields)
        and "protocol_version" not in fields
    )


def is_flat_message(fields: Mapping[str, Any]) -> bool:
    return isinstance(role := fields.get("role"), str) and role in _ROLES and "type" not in fields


def is_flat_folder(path: str) -> bool:
    """Return whether a file is in a folder of the store, which are named for days."""
    return _FOLDER.search(path) is not None


def flat_header(fields: Mapping[str, Any], path: str) -> tuple[Header, float | None]:
    """Return the header and the time of the last message in milliseconds.

    A session that does not name its id is named by its file.
    """
    created, updated = _moment(fields.get("created_at")), _moment(fields.get("updated_at"))
    header = Header(
        id=text_of(fields.get("id")) or posixpath.basename(path).removesuffix(JSONL),
        version=1,
        timestamp="" if created is None else iso_time(created),
        cwd="",
        metadata=dict_of(fields.get("metadata")) or None,
    )
    return header, created if updated is None else updated


def flat_problems(fields: Mapping[str, Any]) -> Iterator[tuple[Kind, str]]:
    """Yield what is wrong with a message."""
    role, content = fields.get("role"), fields.get("content")
    if not isinstance(role, str) or role not in _ROLES:
        yield "unknown", f"the role {role} is unknown"
        return
    if _has_parts(fields):
        return
    allowed = {"ai": (str, dict, type(None)), "tool": (str, type(None))}.get(role, str)
    if not isinstance(content, allowed):
        yield "bad-value", "its content is not a text"
    if role == "tool":
        for name in ("id", "name"):
            if not isinstance(fields.get(name), str):
                yield "bad-value", f"the {name} of its call is not a string"


def current_lines(
    fields: Mapping[str, Any], name: str, parent: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield a message as lines of today's form; ``name`` is the id of the last one."""
    role = fields.get("role")
    called = role == "tool" and not _has_parts(fields)
    messages = list(_tool(fields)) if called else [_message(fields, role)]
    for place, message in enumerate(messages, 1):
        key = name if place == len(messages) else f"{name}.{place}"
        yield {"id": key, "parent_id": parent, "type": "message", "message": message}
        parent = key


def _has_parts(fields: Mapping[str, Any]) -> bool:
    """Return whether a message holds parts, as one of today does, in place of a text."""
    return fields.get("content") is None and isinstance(fields.get("contents"), list)


def _message(fields: Mapping[str, Any], role: object) -> dict[str, Any]:
    if not isinstance(role, str) or role not in _ROLES:
        return dict(fields)
    message: dict[str, Any] = {"contents": [*_thinking(fields), *_parts(fields)], "role": _ROLES[role]}
    return _answer(message, fields, "stop") if role == "ai" else message


def _tool(fields: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the answer that called a tool, unless its name is lost, and the result unless there is none."""
    call = {
        "type": "tool_call",
        "id": text_of(fields.get("id")),
        "name": text_of(fields.get("name")),
        "args": dict_of(fields.get("params")),
        "metadata": {},
    }
    if call["name"]:
        yield _answer({"contents": [*_thinking(fields), call], "role": "assistant"}, fields, "tool_calls")
    if (content := fields.get("content")) is not None or not call["name"]:
        told = content if isinstance(content, str) else ""
        result = {"type": "tool_result", "id": call["id"], "content": told, "is_error": False, "metadata": {}}
        extra = [] if isinstance(content, str) else [content]
        yield {"contents": [result, *extra], "role": "tool"}


def _answer(message: dict[str, Any], fields: Mapping[str, Any], reason: str) -> dict[str, Any]:
    counted = dict_of(fields.get("usage"))
    usage = {ours: counted[name] for name, ours in _USAGE.items() if counted.get(name) is not None}
    return {**message, **({"usage": usage} if usage else {}), "stop_reason": reason}


def _thinking(fields: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if thought := text_of(fields.get("thinking")):
        signature = text_of(fields.get("thinking_signature"))
        yield {"type": "thinking", "content": thought, "signature": signature}


def _parts(fields: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the content as parts; a value that is not a text is kept as an unknown one."""
    content, images = fields.get("content"), fields.get("images")
    if _has_parts(fields):
        yield from fields["contents"]
    for part in content if isinstance(content, list) else () if content is None else (content,):
        text = part.get("text") if isinstance(part, dict) else part
        yield {"type": "text", "content": text} if isinstance(text, str) else part
    if isinstance(images, list) and images:
        yield {"type": "image", "images": images}


def _moment(value: object) -> float | None:
    """Return a stored time in milliseconds: text, which is local unless it names its zone, or seconds."""
    if not isinstance(value, str):
        return instant(value)
    try:
        return datetime.fromisoformat(value).astimezone(UTC).timestamp() * 1000
    except (ValueError, OverflowError, OSError):
        return None
