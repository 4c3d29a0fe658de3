"""Operator's lines as typed rows: decoded in bulk, or made from the fields of one object.

The typed decoder rejects a line that does not fit (an unknown type, role, part or reason; a number instead of
a string), which Operator would skip. :func:`row_from` still makes a row of it, without the values that do not
fit, and :func:`row_problems` reports what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from branchline.formats.json_values import dict_of, optional_text, text_of
from branchline.formats.operator.timestamps import instant
from branchline.tree import Kind

__all__ = [
    "MessageFacts",
    "OperatorRow",
    "RowMessage",
    "decode_lines",
    "message_facts",
    "reference",
    "row_from",
    "row_problems",
]

_ENDED_WELL = (None, "stop", "tool_calls")
_NO_TIME = -1
_TREE_ROLES = {"branch_summary": "branchSummary", "compaction_summary": "compactionSummary"}
"""Roles that have a different name in the tree."""

_Type = Literal[
    "message",
    "thinking_level_change",
    "model_change",
    "compaction",
    "branch_summary",
    "label",
    "leaf",
    "session_info",
    "channel",
    "custom",
    "custom_message",
]
_Role = Literal["system", "user", "assistant", "tool", "custom", "branch_summary", "compaction_summary"]
_StopReason = Literal["stop", "length", "tool_calls", "content_filter", "abort", "error"]


class _Part(msgspec.Struct, tag_field="type", gc=False):
    """One part of a message; only string fields are kept."""


class _Text(_Part, tag="text", gc=False):
    content: str = ""


class _Image(_Part, tag="image", gc=False):
    pass


class _Audio(_Part, tag="audio", gc=False):
    pass


class _Thinking(_Part, tag="thinking", gc=False):
    pass


class _Call(_Part, tag="tool_call", gc=False):
    id: str = ""
    name: str = ""


class _Result(_Part, tag="tool_result", gc=False):
    id: str = ""


_AnyPart = _Text | _Image | _Audio | _Thinking | _Call | _Result
_PARTS: dict[str, type[_AnyPart]] = {str(part.__struct_config__.tag): part for part in get_args(_AnyPart)}


class RowMessage(msgspec.Struct, gc=False):
    """A message."""

    role: _Role
    contents: tuple[_AnyPart, ...]
    timestamp: int | float | None = None
    stop_reason: _StopReason | None = None


class OperatorRow(msgspec.Struct, gc=False):
    """An entry."""

    id: str
    timestamp: int | float
    type: _Type
    parent_id: str | None = None
    message: RowMessage | None = None
    label: str | None = None
    target_id: str | None = None
    name: str | None = None
    provider_id: str | None = None
    model_id: str | None = None


decode_lines: Callable[[memoryview], Sequence[OperatorRow]] = msgspec.json.Decoder(OperatorRow).decode_lines


class MessageFacts(NamedTuple):
    """What the tree and listings need to know about some messages, identified by index."""

    roles: list[str | None]
    """Roles by their names in the tree; a tool message without results keeps Operator's name."""
    tools: dict[int, list[str]]
    """For messages with tool results: the tool name of each result."""
    quiet: list[int]
    """Textless answers that ended normally."""
    newest: float
    """The time of the newest user or assistant message that has content."""


def message_facts(
    messages: Iterable[RowMessage | None], calls: dict[str, str], older: dict[str, str]
) -> MessageFacts:
    """Collect facts in one pass, adding tool calls to ``calls``; ``older`` are those of earlier messages."""
    roles: list[str | None] = []
    tools: dict[int, list[str]] = {}
    quiet: list[int] = []
    newest: float = 0
    for number, message in enumerate(messages):
        role: str | None = None if message is None else message.role
        if message is None:
            pass
        elif role == "tool":
            answered = [part.id for part in message.contents if type(part) is _Result]
            if answered:
                role = "toolResult"
                tools[number] = [calls.get(call) or older.get(call, "") for call in answered]
        elif role in {"assistant", "user"}:
            has_content = has_text = False
            for part in message.contents:
                if type(part) is _Text:
                    has_content = True
                    has_text = has_text or (not part.content.isspace() and part.content != "")
                elif type(part) is _Call:
                    calls[part.id] = part.name
                elif type(part) is _Image:
                    has_content = True
            if not has_text and role == "assistant" and message.stop_reason in _ENDED_WELL:
                quiet.append(number)
            if has_content and message.timestamp is not None and message.timestamp > newest:
                newest = message.timestamp
        else:
            role = _TREE_ROLES.get(message.role, message.role)
        roles.append(role)
    return MessageFacts(roles, tools, quiet, newest)


# -- one object of any shape ------------------------------------------------------------------------------


def reference(value: Any) -> str | None:
    """Return the id of another entry; a value that is not a string may still be an id when serialized."""
    return value if isinstance(value, str | None) else f"{value}"


def row_from(fields: Mapping[str, Any]) -> OperatorRow:
    """Return the row of an object whose id and type are strings."""
    kind = fields["type"]
    return OperatorRow(
        id=fields["id"],
        timestamp=_NO_TIME if instant(fields.get("timestamp")) is None else fields["timestamp"],
        type=kind,
        parent_id=reference(fields.get("parent_id")),
        message=_message(fields.get("message")) if kind == "message" else None,
        label=optional_text(fields.get("label")),
        target_id=reference(fields.get("target_id")),
        name=optional_text(fields.get("name")),
        provider_id=optional_text(fields.get("provider_id")),
        model_id=optional_text(fields.get("model_id")),
    )


def _message(message: Any) -> RowMessage | None:
    """Return a message of any shape; None if it is not one."""
    if not isinstance(message, dict) or not isinstance(role := message.get("role"), str):
        return None
    contents, time = contents_of(message), message.get("timestamp")
    return RowMessage(
        role=role,  # type: ignore[arg-type]
        contents=tuple(_parts(contents)) if isinstance(contents, list) else (),
        timestamp=None if instant(time) is None else time,
        stop_reason=message.get("stop_reason"),
    )


def contents_of(message: Mapping[str, Any]) -> Any:
    """Return the parts of a message; plain ``content``, as other agents write it, becomes text parts."""
    content = message.get("content")
    if "contents" in message or content is None:
        return message.get("contents")
    blocks = [{"text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        return None
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return [{"type": "text", "content": text} for text in texts if isinstance(text, str)]


def _parts(contents: list[Any]) -> Iterator[_AnyPart]:
    for part in contents:
        fields = dict_of(part)
        if known := _PARTS.get(text_of(fields.get("type"))):
            yield known(*(text_of(fields.get(name)) for name in known.__struct_fields__))


def row_problems(fields: Mapping[str, Any], *, documented: bool = False) -> Iterator[tuple[Kind, str]]:
    """Yield the reasons why Operator would skip this entry and lose its descendants.

    In the ``documented`` form an entry may lack a time, and a message may have plain content.
    """
    is_left_out = documented and "timestamp" not in fields
    if instant(fields.get("timestamp")) is None and not is_left_out:
        yield "bad-value", "its timestamp is invalid"
    if not isinstance(fields.get("parent_id"), str | None):
        yield "bad-value", "its parent_id is not a string"
    kind = fields["type"]
    if kind not in get_args(_Type):
        yield "unknown", f"entries of type {kind} are unknown"
    elif kind == "message":
        yield from _message_problems(fields.get("message"), documented=documented)


def _message_problems(message: Any, *, documented: bool) -> Iterator[tuple[Kind, str]]:
    if not isinstance(message, dict):
        yield "bad-value", "it holds no message"
        return
    role, reason = message.get("role"), message.get("stop_reason")
    contents = contents_of(message) if documented else message.get("contents")
    if role not in get_args(_Role):
        yield "unknown", f"the role {role} is unknown"
    if not isinstance(contents, list):
        yield "bad-value", "its contents are not a list"
        return
    for part in contents:
        part_type = part.get("type") if isinstance(part, dict) else None
        if part_type not in tuple(_PARTS):
            yield "unknown", f"parts of type {part_type} are unknown"
    if reason not in (None, *get_args(_StopReason)):
        yield "unknown", f"the stop reason {reason} is unknown"
