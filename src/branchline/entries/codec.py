"""Lines into records and records into lines.

``decode_entry`` never fails on a JSON object: what it cannot type, it keeps as Unknown. The encoders write
the keys in the order in which pi writes them, so that files of both programs look alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from branchline.entries import blocks, json_codec, lenient, messages, records, splice
from branchline.errors import InvalidArgument

__all__ = [
    "complete_line",
    "decode_entry",
    "decode_header",
    "encode_entry",
    "encode_header",
    "entry_fields",
    "message_fields",
    "new_entry_fields",
]

_NEWEST = 3  # the version that has everything we know


@json_codec.build_once
def _known() -> msgspec.json.Decoder[records.Entry]:
    """Made when it is first needed: it looks at every record there is."""
    return msgspec.json.Decoder(records.KnownEntry)


def decode_known_lines(data: bytes | memoryview) -> list[records.Entry]:
    """Decode well-formed entries of known types; what msgspec raises passes through.

    Raises RecursionError if a value is nested about as deeply as :data:`json_codec.DEEPEST` or more.
    """
    found = _known().decode_lines(data)
    if json_codec.is_deep(_free_values(found), _DEEPEST_FREE):
        raise RecursionError("nested too deeply")
    return found


_DEEPEST_FREE = json_codec.DEEPEST - 5  # line, message, content, block, arguments


def _free_values(entries: Iterable[records.Entry]) -> list[Any]:
    """The values of fields that may hold any JSON; looking at all of the text takes four times as long."""
    found: list[Any] = []
    user, answer, result, call = (
        messages.UserMessage,
        messages.AssistantMessage,
        messages.ToolResult,
        blocks.ToolCall,
    )
    for entry in entries:
        message: Any = entry.message if type(entry) is records.MessageEntry else None
        kind = type(message)
        if kind is answer:
            if message.diagnostics is not None or message.deferred is not None:
                found += (message.diagnostics, message.deferred)
        elif kind is result:
            if message.details is not None or message.nested_calls is not None:
                found += (message.details, message.nested_calls)
        elif kind is not user:
            found.append(msgspec.to_builtins(entry))
            continue
        if type(message.content) is tuple:
            for block in message.content:
                if type(block) is call:
                    found += block.arguments.values()
    return found


def decode_entry(line: bytes | memoryview) -> records.Entry:
    """The record of one line. ValueError if the line is not a JSON object."""
    try:
        return _known().decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    fields = json_codec.loads(line)
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object")
    return lenient.entry_from_fields(fields)


def decode_header(line: bytes | memoryview) -> records.Header | None:
    """The header in this line, or None when the line is something else."""
    try:
        fields = json_codec.loads(line)
    except ValueError:
        return None
    return header_from_fields(fields)


def header_from_fields(fields: Any) -> records.Header | None:
    """The header in this JSON value: an object of type ``session`` with an id."""
    if (
        not isinstance(fields, dict)
        or fields.get("type") != "session"
        or not isinstance(fields.get("id"), str)
    ):
        return None

    def text(key: str) -> str | None:
        value = fields.get(key)
        return value if isinstance(value, str) else None

    metadata = fields.get("metadata")
    return records.Header(
        id=fields["id"],
        version=_version(fields.get("version")),
        timestamp=text("timestamp") or "",
        cwd=text("cwd") or "",
        parent_session=text("parentSession"),
        metadata=metadata if isinstance(metadata, dict) else None,
    )


def _version(value: Any) -> int:
    """The version that a header means. None is 1; one that cannot be read must not cost entries their ids."""
    match value:
        case None:
            return 1
        case bool():
            return _NEWEST
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if value.isascii() and value.isdigit() and len(value) < 10:
            return int(value)
        case _:
            return _NEWEST


def encode_header(header: records.Header) -> bytes:
    """The header as a line, newline included."""
    fields: dict[str, Any] = {
        "type": "session",
        "version": header.version,
        "id": header.id,
        "timestamp": header.timestamp,
        "cwd": header.cwd,
    }
    if header.parent_session is not None:
        fields["parentSession"] = header.parent_session
    if header.metadata is not None:
        fields["metadata"] = header.metadata
    return json_codec.dumps(fields) + b"\n"


def encode_entry(entry: records.Entry) -> bytes:
    """A new entry as a line, newline included. Lines that were read are copied, never encoded again."""
    return json_codec.dumps(new_entry_fields(entry)) + b"\n"


def new_entry_fields(entry: records.Entry) -> dict[str, Any]:
    """The JSON object of a new entry, with everything that pi and oh-my-pi need to continue the session.

    Both fail on an answer without usage, and on an answer or result whose content is a text.
    """
    fields = entry_fields(entry)
    if type(entry) is records.MessageEntry:
        fields["message"] = _complete(fields["message"])
    elif isinstance(entry, records.Compaction) and entry.retained_tail:
        fields["retainedTail"] = list(map(_complete, fields["retainedTail"]))
    return fields


def complete_line(line: bytes) -> bytes:
    """A line of pi's format for a new file, with what :func:`new_entry_fields` adds; nothing else changes."""
    is_answer = b'"assistant"' in line
    if not is_answer and b'"toolResult"' not in line:
        return line
    if (not is_answer or b'"usage"' in line) and _INCOMPLETE.search(line) is None:
        return line
    start, end = splice.field_ranges(line).get("message", (0, 0))
    message = json_codec.loads_object(line[start:end])
    if message is None or (complete := _complete(message)) is message:
        return line
    changes = {
        name: complete[name] for name in ("content", "usage") if complete.get(name) != message.get(name)
    }
    return line[:start] + splice.set_fields(line[start:end], changes) + line[end:]


_INCOMPLETE = re.compile(rb'"content"\s*:\s*"|"usage"\s*:\s*null')
_NO_USAGE = msgspec.to_builtins(messages.Usage(cost=messages.Cost(known=False)))


def _complete(message: dict[str, Any]) -> dict[str, Any]:
    """A message with usage, marked as unknown where there is none, and with blocks, if it needs them."""
    role = message.get("role")
    changes: dict[str, Any] = {}
    if role in ("assistant", "toolResult") and isinstance(text := message.get("content"), str):
        changes["content"] = [{"type": "text", "text": text}] if text else []
    if role == "assistant":
        usage = message.get("usage")
        if usage is None:
            changes["usage"] = _NO_USAGE
        elif isinstance(usage, dict) and not _NO_USAGE.keys() <= usage.keys():
            changes["usage"] = {**_NO_USAGE, **usage}  # a dict of the caller's, with some of the numbers
    return {**message, **changes} if changes else message


def entry_fields(entry: records.Entry) -> dict[str, Any]:
    """The JSON object of an entry, keys in the order of the format."""
    if type(entry) is records.MessageEntry:  # nearly always, so it asks no further
        return {
            "type": "message",
            "id": entry.id,
            "parentId": entry.parent,
            "timestamp": entry.timestamp,
            "message": message_fields(entry.message),
        }
    common: dict[str, Any] = {"id": entry.id, "parentId": entry.parent, "timestamp": entry.timestamp}
    match entry:
        case records.Unknown():
            rest = {k: v for k, v in entry.fields.items() if k not in common and k != "type"}
            return {"type": entry.type, **common, **rest}
        case records.Damaged():
            raise InvalidArgument(f"{entry.id} is damaged; only its bytes can be copied")
        case records.Custom():
            own = {"customType": entry.custom_type, "data": entry.data}
            return {"type": entry.type, **_present(own), **common}
        case records.CustomMessage():
            own = {
                "customType": entry.custom_type,
                "content": _content_fields(entry.content),
                "role": None if entry.role == "user" else entry.role,
                "display": entry.display,
                "details": entry.details,
            }
            return {"type": entry.type, **_present(own), **common}
        case records.ContextEdit():
            replacement = entry.replacement
            edit = None if replacement is None else {"content": _content_fields(replacement.content)}
            return {"type": entry.type, **common, "targetId": entry.target, "replacement": edit}
        case records.Leaf():
            return {"type": entry.type, **common, "targetId": entry.target}
        case records.SessionInfo():
            return {"type": entry.type, **common, "name": entry.name}
        case _:
            fields = msgspec.to_builtins(entry)
            own = {key: value for key, value in fields.items() if key not in common and key != "type"}
            if isinstance(entry, records.Compaction):
                # Their blocks and roles may be unknown ones, which have a wire form of their own.
                if entry.system_message is not None:
                    own["systemMessage"] = message_fields(entry.system_message)
                if entry.retained_tail is not None:
                    own["retainedTail"] = [message_fields(message) for message in entry.retained_tail]
            return {"type": entry.type, **common, **own}


def message_fields(message: messages.Message) -> dict[str, Any]:
    """The JSON object of a message, keys in the order of the format."""
    if type(message) is messages.UnknownMessage:
        return message.fields
    fields: dict[str, Any] = msgspec.to_builtins(message)
    content = getattr(message, "content", None)
    if isinstance(content, tuple):
        fields["content"] = _content_fields(content)
    return fields


def _content_fields(content: messages.Content) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    return [
        block.fields if isinstance(block, blocks.UnknownBlock) else msgspec.to_builtins(block)
        for block in content
    ]


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None and value is not msgspec.UNSET}
