"""What a tree needs to know of oh-my-pi's lines, many at once: its types and roles by their native names.

pi's own skeletons know neither these types nor these roles, so that nearly every chunk of such a file would
go the slow way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

import msgspec

from branchline.entries import skeleton

__all__ = ["NATIVE_ROLES", "NATIVE_TYPES", "decode_lines", "decode_shapes", "renamed"]

NATIVE_TYPES = {"title_change": "session_info", "model_usage": "usage"}
"""Types that say what a native one says."""

NATIVE_ROLES = {"hookMessage": "custom"}

_TYPES = (
    "compaction",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "session_info",
    "title_change",
    "model_change",
    "model_usage",
    "thinking_level_change",
    "service_tier_change",
    "mode_change",
    "ttsr_injection",
    "credential_pin",
    "session_init",
    "reset_boundary",
    "usage",
    "context_edit",
    "leaf",
)
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


_words = _struct("_Words", [("text", str)], "type", "text")
_silent = tuple(_struct(f"_{kind}", [], "type", kind) for kind in _SILENT)


def _is_quiet(answer: Any) -> bool:
    for block in answer.content:
        if type(block) is _words and block.text.strip():
            return False
    return answer.stopReason in _ENDED_WELL


if TYPE_CHECKING:
    _Blocks = Any
else:
    _Blocks = tuple[Union[(_words, *_silent)], ...]
_answer = _struct(
    "_Answer",
    [("content", _Blocks), ("stopReason", str | None, None), ("timestamp", _Time, None)],
    "role",
    "assistant",
    role="assistant",
    is_quiet=_is_quiet,
)
_answer_shape = _struct("_Shape", [("timestamp", _Time, None)], "role", "assistant", role="assistant")
_others = tuple(
    _struct(f"_{role}", [("timestamp", _Time, None)], "role", role, role=NATIVE_ROLES.get(role, role))
    for role in _ROLES
)
_LINK = [("id", str), ("parentId", str | msgspec.UnsetType | None, msgspec.UNSET), ("timestamp", str, "")]
_entries = tuple(
    _struct(f"_{kind}", _LINK, "type", kind, type=NATIVE_TYPES.get(kind, kind), message=skeleton.NO_MESSAGE)
    for kind in _TYPES
)


def _decoder(answer: Any) -> msgspec.json.Decoder[Any]:
    message = ("message", Union[(answer, *_others)])
    entry = _struct("_Message", [*_LINK, message], "type", "message", type="message")
    return msgspec.json.Decoder(Union[(entry, *_entries)])


_usual_lines = _decoder(_answer).decode_lines
_usual_shapes = _decoder(_answer_shape).decode_lines


def decode_lines(data: bytes | memoryview) -> Sequence[Any]:
    """The skeletons of many values, in the order in which they stand."""
    try:
        return _usual_lines(data)
    except msgspec.ValidationError:
        return [renamed(found) for found in skeleton.decode_any(data)]


def decode_shapes(data: bytes | memoryview) -> Sequence[Any]:
    """As :func:`decode_lines`, for those who never ask whether an answer is quiet."""
    try:
        return _usual_shapes(data)
    except msgspec.ValidationError:
        return [renamed(found) for found in skeleton.decode_any(data)]


def renamed(found: skeleton.Skeleton) -> skeleton.Skeleton:
    """A skeleton of pi's decoders with type and role by their native names."""
    if found.type in NATIVE_TYPES:
        found.type = NATIVE_TYPES[found.type]
    if found.message is not None and found.message.role in NATIVE_ROLES:
        found.message.role = NATIVE_ROLES[found.message.role]
    return found
