"""Goose messages as native entries.

Tool results are parts of user messages; here each is an entry of its own. A message that only the model or
only the user sees is marked: Goose does that when it compacts a conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from branchline.entries import json_codec
from branchline.formats.common.derived_format import EntryLines, RowDecoder, is_nothing, is_object
from branchline.formats.json_values import iso_time

__all__ = ["GooseMessages"]

_NOTHING = msgspec.Raw(b"null")
_MILLISECONDS = 100_000_000_000  # larger numbers are milliseconds: in seconds this is the year 5138


class _Item(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    text: str = ""
    data: str = ""
    mimeType: str = ""  # noqa: N815


class _Call(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    arguments: msgspec.Raw = _NOTHING


class _Request(msgspec.Struct, frozen=True, gc=False):
    status: str = ""
    value: _Call = _Call()
    error: str = ""


class _Response(msgspec.Struct, frozen=True, gc=False):
    status: str = ""
    value: msgspec.Raw = _NOTHING
    error: str = ""


class _Outcome(msgspec.Struct, frozen=True, gc=False):
    content: tuple[_Item, ...] = ()
    isError: bool | None = None  # noqa: N815


class PartRow(msgspec.Struct, frozen=True, gc=False):
    """One part of a message, of any type."""

    type: str = ""
    text: str = ""
    data: str = ""
    mimeType: str = ""  # noqa: N815
    thinking: str = ""
    signature: str = ""
    id: str = ""
    msg: str = ""
    toolCall: _Request = _Request()  # noqa: N815
    toolResult: _Response = _Response()  # noqa: N815


class _Parts(msgspec.Struct, frozen=True, gc=False):
    parts: tuple[PartRow, ...] = ()


class _Visibility(msgspec.Struct, frozen=True, gc=False):
    userVisible: bool = True  # noqa: N815
    agentVisible: bool = True  # noqa: N815


_decode_parts = RowDecoder(_Parts)
_decode_outcome = RowDecoder(_Outcome)
_decode_visibility = RowDecoder(_Visibility)


class GooseMessages:
    """Converts messages in order; ``model`` is that of the session."""

    def __init__(self, lines: EntryLines, model: dict[str, str]) -> None:
        self._lines = lines
        self.model = model
        self._tools: dict[str, str] = {}

    def take(self, name: str, role: str, content: bytes, created: object, metadata: bytes) -> Iterator[bytes]:
        """Yield the lines of a message; its content is a JSON array."""
        time = _milliseconds(created)
        written = iso_time(time)
        decoded = _decode_parts(b'{"parts":' + (content or b"null") + b"}")
        parts = () if decoded is None else decoded.parts
        seen = (_decode_visibility(metadata) if metadata else None) or _Visibility()
        made: list[str] = []
        results = [part for part in parts if part.type == "toolResponse"]
        for number, part in enumerate(results):
            made.append(f"{name}.{number}")
            yield self._lines.message(made[-1], written, {**self._result(part), "timestamp": time})
        rest = [part for part in parts if part.type != "toolResponse"]
        if rest or not results:
            made.append(name)
            yield from self._said(name, role, rest, time, hidden=not seen.userVisible)
        if not seen.agentVisible:
            for number, entry_id in enumerate(made):
                edit = {"targetId": entry_id, "replacement": None}
                yield self._lines.entry("context_edit", f"{name}/unseen-{number}", written, edit)

    def _said(
        self, name: str, role: str, parts: list[PartRow], time: int | None, *, hidden: bool
    ) -> Iterator[bytes]:
        written = iso_time(time)
        content = [block for part in parts if (block := self._block(part)) is not None]
        if role == "assistant":
            has_calls = any(block["type"] == "toolCall" for block in content)
            fields: dict[str, Any] = {"role": "assistant", "content": content, **self.model}
            fields |= {"stopReason": "toolUse" if has_calls else "stop", "timestamp": time}
            yield self._lines.message(name, written, fields)
        elif role == "user" and not hidden:
            yield self._lines.message(name, written, {"role": "user", "content": content, "timestamp": time})
        else:
            fields = {"customType": role or "message", "content": content, "display": not hidden}
            yield self._lines.entry("custom_message", name, written, fields)

    def _block(self, part: PartRow) -> dict[str, Any] | None:
        match part.type:
            case "text":
                return {"type": "text", "text": part.text}
            case "image":
                return {"type": "image", "data": part.data, "mimeType": part.mimeType}
            case "thinking":
                return {
                    "type": "thinking",
                    "thinking": part.thinking,
                    "thinkingSignature": part.signature or None,
                }
            case "redactedThinking":
                return {"type": "thinking", "thinking": "", "thinkingSignature": part.data, "redacted": True}
            case "toolRequest" | "frontendToolRequest":
                call = part.toolCall
                if call.status == "error":
                    return {"type": "text", "text": f"[invalid tool call: {call.error}]"}
                given = call.value.arguments
                arguments: Any = given if is_object(given) else {} if is_nothing(given) else {"input": given}
                self._tools[part.id] = call.value.name
                return {"type": "toolCall", "id": part.id, "name": call.value.name, "arguments": arguments}
            case _:
                return {"type": part.type or "unknown", "text": part.msg or part.text}

    def _result(self, part: PartRow) -> dict[str, Any]:
        decoded = part.toolResult
        failed = decoded.status == "error"
        content: list[dict[str, Any]] = [{"type": "text", "text": decoded.error}] if failed else []
        if not failed:
            value = bytes(decoded.value)
            listed = b'{"content":' + value + b"}" if value.startswith(b"[") else value
            outcome = _decode_outcome(listed) or _Outcome()
            failed = outcome.isError is True
            content = [_item(item) for item in outcome.content]
        return {
            "role": "toolResult",
            "toolCallId": part.id,
            "toolName": self._tools.get(part.id, ""),
            "content": content,
            "isError": failed,
        }


def _item(item: _Item) -> dict[str, Any]:
    if item.type == "image":
        return {"type": "image", "data": item.data, "mimeType": item.mimeType}
    return {"type": "text", "text": item.text or ("" if item.type == "text" else f"[{item.type}]")}


def _milliseconds(created: object) -> int | None:
    """Return the time of a message in milliseconds; Goose counts seconds."""
    if not isinstance(created, int | float) or created != created or abs(created) > 1e18:  # noqa: PLR0124
        return None
    return int(created if created > _MILLISECONDS else created * 1000)


def model_in(config: object, provider: object) -> dict[str, str]:
    """Return the model of a session from its configuration."""
    fields = json_codec.loads_object(config) if isinstance(config, bytes) else None
    name = (fields or {}).get("model_name")
    found = {"model": name} if isinstance(name, str) else {}
    if isinstance(provider, bytes):
        found["provider"] = provider.decode("utf-8", "replace")
    return found
