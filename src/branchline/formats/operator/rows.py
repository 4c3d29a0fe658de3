"""What reading needs of Operator's lines, decoded many at a time when all of them are in good order.

A line that does not fit (another type, role, part or reason; a number where a text should be) is one that
Operator would skip. Such a line is looked at with care, and :func:`row_problems` says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from branchline.formats.operator.parts import PARTS
from branchline.formats.operator.records import ROLES, STOP_REASONS, TREE_ROLES, TYPES
from branchline.formats.operator.timestamps import instant
from branchline.tree import Kind

__all__ = [
    "MessageFacts",
    "OperatorRow",
    "RowMessage",
    "decode_lines",
    "decode_shapes",
    "message_facts",
    "message_facts_shallow",
    "row_problems",
    "said_in",
]


_ENDED_WELL = (None, "stop", "tool_calls")


class _Part(msgspec.Struct, tag_field="type", gc=False):
    """One part of a message."""


class _Words(_Part, tag="text", gc=False):
    content: str = ""


class _Picture(_Part, tag="image", gc=False):
    pass


class _Sound(_Part, tag="audio", gc=False):
    pass


class _Thought(_Part, tag="thinking", gc=False):
    pass


class _Call(_Part, tag="tool_call", gc=False):
    id: str = ""
    name: str = ""


class _Result(_Part, tag="tool_result", gc=False):
    id: str = ""


class RowMessage(msgspec.Struct, gc=False):
    """A message."""

    role: Literal["system", "user", "assistant", "tool", "custom", "branch_summary", "compaction_summary"]
    contents: tuple[_Words | _Picture | _Sound | _Thought | _Call | _Result, ...]
    timestamp: int | float | None = None
    stop_reason: Literal["stop", "length", "tool_calls", "content_filter", "abort", "error"] | None = None


class MessageFacts(NamedTuple):
    """What messages tell at a look; they are named by their numbers."""

    roles: list[str | None]
    """As the tree names them; a message of tools without a result keeps Operator's name."""
    tools: dict[int, list[str]]
    """For the messages that hold tool results: the name of the tool of each result."""
    quiet: list[int]
    """The answers without words for a person that ended well."""
    newest: float
    """When the last message was spoken: one by a person or a model that says or shows something."""


def message_facts(
    messages: Iterable[RowMessage | None], calls: dict[str, str], older: dict[str, str]
) -> MessageFacts:
    """One pass over all parts. Tool calls are put into ``calls``, id to name; ``older`` came before."""
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
            spoken = words = False
            for part in message.contents:
                kind = type(part)
                if kind is _Words:
                    spoken = True
                    words = words or (not part.content.isspace() and part.content != "")  # type: ignore[union-attr]
                elif kind is _Call:
                    calls[part.id] = part.name  # type: ignore[union-attr]
                elif kind is _Picture:
                    spoken = True
            if not words and role == "assistant" and message.stop_reason in _ENDED_WELL:
                quiet.append(number)
            if spoken and message.timestamp is not None and message.timestamp > newest:
                newest = message.timestamp
        else:
            role = TREE_ROLES.get(message.role, message.role)
        roles.append(role)
    return MessageFacts(roles, tools, quiet, newest)


class OperatorRow(msgspec.Struct, gc=False):
    """An entry."""

    id: str
    timestamp: int | float
    type: Literal[
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
    parent_id: str | None = None
    message: RowMessage | None = None
    label: str | None = None
    target_id: str | None = None
    name: str | None = None
    provider_id: str | None = None
    model_id: str | None = None


decode_lines: Callable[[memoryview], Sequence[OperatorRow]] = msgspec.json.Decoder(OperatorRow).decode_lines


# -- for lists: what messages are, not what they say --------------------------------------------------------


class _Piece(msgspec.Struct, tag_field="type", gc=False):
    """One part of a message, of which only its kind is asked."""


class _Text(_Piece, tag="text", gc=False):
    pass


class _Image(_Piece, tag="image", gc=False):
    pass


class _Answered(_Piece, tag="tool_result", gc=False):
    pass


class _Audio(_Piece, tag="audio", gc=False):
    pass


class _Thinking(_Piece, tag="thinking", gc=False):
    pass


class _Asked(_Piece, tag="tool_call", gc=False):
    pass


_SHOWN = frozenset({_Text, _Image})


class _SaidShape(RowMessage, gc=False):
    contents: tuple[_Text | _Image | _Audio | _Thinking | _Asked | _Answered, ...]  # type: ignore[assignment]


class _Shape(OperatorRow, gc=False):
    message: _SaidShape | None = None


decode_shapes: Callable[[memoryview], Sequence[OperatorRow]] = msgspec.json.Decoder(_Shape).decode_lines


def message_facts_shallow(messages: Iterable[Any]) -> MessageFacts:
    """As :func:`message_facts`, without the names of tools and without the answers that are quiet."""
    roles: list[str | None] = []
    tools: dict[int, list[str]] = {}
    newest: float = 0
    for number, message in enumerate(messages):
        role: str | None = None if message is None else message.role
        if message is None:
            pass
        elif role == "tool":
            contents = message.contents
            if len(contents) == 1 and type(contents[0]) is _Answered:
                role = "toolResult"
            elif answered := ["" for part in contents if type(part) is _Answered]:
                role = "toolResult"
                tools[number] = answered
        elif role in ("assistant", "user"):
            time = message.timestamp
            if time is not None and time > newest and not _SHOWN.isdisjoint(map(type, message.contents)):
                newest = time
        else:
            role = TREE_ROLES.get(message.role, message.role)
        roles.append(role)
    return MessageFacts(roles, tools, [], newest)


# -- one line, with care ----------------------------------------------------------------------------------


def said_in(message: Any) -> RowMessage | None:
    """What can be told of a message of any shape; None when it is none."""
    if not isinstance(message, dict) or not isinstance(role := message.get("role"), str):
        return None
    contents, reason, time = message.get("contents"), message.get("stop_reason"), message.get("timestamp")
    return RowMessage(
        role=role,  # type: ignore[arg-type]
        contents=tuple(_parts(contents if isinstance(contents, list) else [])),
        stop_reason=reason,
        timestamp=None if instant(time) is None else time,
    )


def _parts(contents: list[Any]) -> Iterator[Any]:
    for part in contents:
        if not isinstance(part, dict):
            continue
        match part.get("type"):
            case "text":
                yield _Words(content=_text(part.get("content")))
            case "image":
                yield _Picture()
            case "tool_call":
                yield _Call(id=_text(part.get("id")), name=_text(part.get("name")))
            case "tool_result":
                yield _Result(id=_text(part.get("id")))
            case _:
                continue


def row_problems(fields: dict[str, Any]) -> Iterator[tuple[Kind, str]]:
    """Why Operator would skip this entry and lose what hangs from it."""
    if instant(fields.get("timestamp")) is None:
        yield "bad-value", "its timestamp is no time"
    if not isinstance(fields.get("parent_id"), str | None):
        yield "bad-value", "its parent_id is no text"
    kind = fields.get("type")
    if kind not in TYPES:
        yield "unknown", f"entries of type {kind} are not known"
    elif kind == "message":
        yield from _oddities_of_message(fields.get("message"))


def _oddities_of_message(message: Any) -> Iterator[tuple[Kind, str]]:
    if not isinstance(message, dict):
        yield "bad-value", "it holds no message"
        return
    role, contents, reason = message.get("role"), message.get("contents"), message.get("stop_reason")
    if not isinstance(role, str) or role not in ROLES:
        yield "unknown", f"the role {role} is not known"
    if not isinstance(contents, list):
        yield "bad-value", "its contents are no list"
        return
    for part in contents:
        part_type = part.get("type") if isinstance(part, dict) else None
        if not isinstance(part_type, str) or part_type not in PARTS:
            yield "unknown", f"parts of type {part_type} are not known"
    if reason is not None and (not isinstance(reason, str) or reason not in STOP_REASONS):
        yield "unknown", f"the stop reason {reason} is not known"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
