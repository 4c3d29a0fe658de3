"""Typed oh-my-pi lines, decoded only as far as the tree needs, with native names for types and roles.

pi's row types know neither these types nor these roles, so nearly every chunk of such a file would take the
slow path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

import msgspec

from branchline.entries import CONVERSATION_TYPES, SIDE_TYPES, skeleton

__all__ = ["NATIVE_ROLES", "NATIVE_TYPES", "OWN_TYPES", "decode_lines", "renamed"]

NATIVE_TYPES = {"title_change": "session_info", "model_usage": "usage"}
"""oh-my-pi types that correspond to native ones."""

NATIVE_ROLES = {"hookMessage": "custom"}

OWN_TYPES = (
    "title_change",
    "service_tier_change",
    "mode_change",
    "model_usage",
    "ttsr_injection",
    "credential_pin",
    "session_init",
    "reset_boundary",
)
"""Types that only oh-my-pi writes."""

_ROLES = (
    "user",
    "toolResult",
    "bashExecution",
    "custom",
    "developer",
    "pythonExecution",
    "fileMention",
    "hookMessage",
    "system",
)
_SILENT = ("thinking", "redactedThinking", "toolCall", "fallback", "anthropicServerTool", "image")
_ENDED_WELL = (None, "", "stop", "toolUse")
_Time = int | float | None


def _struct(name: str, fields: list[Any], field: str, tag: str, **namespace: Any) -> Any:
    return msgspec.defstruct(
        name, fields, tag_field=field, tag=tag, kw_only=True, gc=False, namespace=namespace
    )


_text = _struct("_Text", [("text", str)], "type", "text")
_silent = tuple(_struct(f"_{kind}", [], "type", kind) for kind in _SILENT)


def _is_quiet(answer: Any) -> bool:
    for block in answer.content:
        if type(block) is _text and block.text.strip():
            return False
    return answer.stopReason in _ENDED_WELL


if TYPE_CHECKING:
    _Blocks = Any
else:
    _Blocks = tuple[Union[(_text, *_silent)], ...]
_answer = _struct(
    "_Answer",
    [("content", _Blocks), ("stopReason", str | None, None), ("timestamp", _Time, None)],
    "role",
    "assistant",
    role="assistant",
    is_quiet=_is_quiet,
)
_others = tuple(
    _struct(f"_{role}", [("timestamp", _Time, None)], "role", role, role=NATIVE_ROLES.get(role, role))
    for role in _ROLES
)
_LINK = [("id", str), ("parentId", str | msgspec.UnsetType | None, msgspec.UNSET), ("timestamp", str, "")]
_entries = tuple(
    _struct(f"_{kind}", _LINK, "type", kind, type=NATIVE_TYPES.get(kind, kind), message=skeleton.NO_MESSAGE)
    for kind in (*sorted((SIDE_TYPES | CONVERSATION_TYPES) - {"message"}), *OWN_TYPES)
)


_message = _struct(
    "_Message", [*_LINK, ("message", Union[(_answer, *_others)])], "type", "message", type="message"
)
_usual_lines = msgspec.json.Decoder(Union[(_message, *_entries)]).decode_lines


def decode_lines(data: bytes | memoryview) -> Sequence[Any]:
    """Return the rows of many values, in order."""
    try:
        return _usual_lines(data)
    except msgspec.ValidationError:
        return [renamed(found) for found in skeleton.decode_any(data)]


def renamed(found: skeleton.Skeleton) -> skeleton.Skeleton:
    """Return a row of pi's decoders with native names for type and role."""
    if found.type in NATIVE_TYPES:
        found.type = NATIVE_TYPES[found.type]
    if found.message is not None and found.message.role in NATIVE_ROLES:
        found.message.role = NATIVE_ROLES[found.message.role]
    return found
