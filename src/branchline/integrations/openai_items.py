"""Lossless conversion between items of OpenAI's Responses API and session messages.

Consecutive items of one answer are one assistant message; a tool output is a tool result. A message stores
its items in ``native`` only if they cannot be rebuilt from its content.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from branchline.entries import Content, UnknownMessage

__all__ = ["decode_items", "edited_items", "messages_of"]

_FORMAT = "openai.responses"
_TEXTS = frozenset({"input_text", "output_text", "text"})
_INPUT_ROLES = frozenset({"user", "system", "developer"})

Item = dict[str, Any]


def messages_of(items: Iterable[Any], names: dict[str, str] | None = None) -> list[UnknownMessage]:
    """Convert items to messages. ``names`` maps call ids to tool names, for the results."""
    names = {} if names is None else names
    messages = []
    for group in _groups(items):
        message = _message(group)
        if message["role"] == "assistant":
            calls = (block for block in message["content"] if block["type"] == "toolCall")
            names.update({call["id"]: call["name"] for call in calls})
        elif message["role"] == "toolResult" and not message["toolName"]:
            message["toolName"] = names.pop(message["toolCallId"], "")
        # An UnknownMessage is written unchanged: blocks of hosted tools have no type of their own.
        messages.append(UnknownMessage(role=message["role"], fields=message))
    return messages


def _groups(items: Iterable[Any]) -> Iterator[list[Item]]:
    answer: list[Item] = []
    for item in items:
        plain: Item = item if isinstance(item, dict) else item.model_dump(exclude_unset=True)
        if _is_answer(plain):
            answer.append(plain)
            continue
        if answer:
            yield answer
            answer = []
        yield [plain]
    if answer:
        yield answer


def _is_answer(item: Item) -> bool:
    kind = item.get("type", "message")
    return not str(kind).endswith("_output") and not (kind == "message" and item.get("role") in _INPUT_ROLES)


def _message(group: list[Item]) -> dict[str, Any]:
    first = group[0]
    kind = first.get("type", "message")
    message: dict[str, Any]
    if kind == "message" and first.get("role") in _INPUT_ROLES:
        role = "user" if first["role"] == "user" else "developer"
        content = first.get("content")
        message = {"role": role, "content": content if isinstance(content, str) else _blocks(content)}
    elif str(kind).endswith("_output"):
        output = first.get("output")
        message = {
            "role": "toolResult",
            "toolCallId": str(first.get("call_id") or first.get("id") or ""),
            "toolName": "" if kind == "function_call_output" else str(kind).removesuffix("_output"),
            "content": _blocks([{"type": "text", "text": output}] if isinstance(output, str) else output),
        }
    else:
        message = {
            "role": "assistant",
            "content": [block for item in group for block in _answer_blocks(item)],
        }
        message["stopReason"] = (
            "toolUse" if any("call" in str(item.get("type")) for item in group) else "stop"
        )
    if _rebuilt(message["role"], message["content"], message.get("toolCallId", "")) != group:
        message["native"] = {"format": _FORMAT, "v": 1, "items": group}
    return message


def _answer_blocks(item: Item) -> list[dict[str, Any]]:
    match item.get("type", "message"):
        case "message":
            blocks = _blocks(item.get("content"))
            identity = item.get("id")
            if identity and len(blocks) == 1 and blocks[0]["type"] == "text":
                blocks[0]["textSignature"] = json.dumps({"v": 1, "id": identity})
            return blocks
        case "reasoning":
            summary = item.get("summary") or []
            words = [str(part.get("text", "")) for part in summary if isinstance(part, dict)]
            return [
                {"type": "thinking", "thinking": "\n\n".join(words), "thinkingSignature": json.dumps(item)}
            ]
        case "function_call":
            return [
                {
                    "type": "toolCall",
                    "id": str(item.get("call_id", "")),
                    "name": str(item.get("name", "")),
                    "arguments": _arguments(item.get("arguments")),
                }
            ]
        case _:
            return [dict(item)]  # hosted tools, compactions: unknown blocks are preserved


def _arguments(text: Any) -> dict[str, Any]:
    return _parsed(text) or ({} if text == "{}" else {"input": text})


def _parsed(text: Any) -> dict[str, Any]:
    """Parse a JSON object; empty for anything else."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_block(part) for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _block(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind in _TEXTS:
        return {"type": "text", "text": str(part.get("text", ""))}
    if kind == "refusal":
        return {"type": "text", "text": str(part.get("refusal", ""))}
    head, comma, body = str(part.get("image_url", "")).partition(";base64,")
    if kind == "input_image" and comma:
        return {"type": "image", "data": body, "mimeType": head.removeprefix("data:")}
    return {"type": "text", "text": f"[{kind}]"}


# -- back -------------------------------------------------------------------------------------------------


class _Native(msgspec.Struct, gc=False):
    format: str = ""
    v: int = 0
    items: list[Any] | None = None


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    content: Any = None
    native: _Native | None = None
    toolCallId: str = ""  # noqa: N815  the name in the file


class _Line(msgspec.Struct, gc=False):
    message: _Message | None = None


class _Signature(msgspec.Struct, gc=False):
    id: str


_decoder = msgspec.json.Decoder(_Line)
_signatures = msgspec.json.Decoder(_Signature)


def edited_items(line: bytes, replacement: Content | None) -> list[Item]:
    """Return the items of a message with edited content; none if the edit removed the message."""
    message = _decoder.decode(line).message
    if message is None or replacement is None:
        return []
    return _rebuilt(message.role, msgspec.to_builtins(replacement), message.toolCallId)


def decode_items(line: bytes) -> list[Item]:
    """Return the items of the message in a session line; none for other lines."""
    try:
        message = _decoder.decode(line).message
    except msgspec.ValidationError:
        return []
    if message is None:
        return []
    native = message.native
    if native is not None and native.format == _FORMAT and native.v == 1 and native.items is not None:
        return native.items
    return _rebuilt(message.role, message.content, message.toolCallId)


def _rebuilt(role: str, content: Any, call: str) -> list[Item]:
    """Rebuild the items of a message in the form that the Runner and the models usually write."""
    if isinstance(content, str) and role in _INPUT_ROLES:
        return [{"role": role, "content": content}]
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    match role:
        case "assistant":
            return [item for block in blocks for item in _answer_item(block)]
        case "toolResult":
            return [{"call_id": call, "output": _joined_text(blocks), "type": "function_call_output"}]
        case "user" | "developer" | "system":
            plain = not any(block.get("type") == "image" for block in blocks)
            message = _joined_text(blocks) if plain else [_input_part(part) for part in blocks]
            return [{"role": role, "content": message}]
        case _:
            return []  # other roles have no items


def _joined_text(blocks: list[dict[str, Any]]) -> str:
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


def _input_part(block: dict[str, Any]) -> Item:
    if block.get("type") == "image":
        url = f"data:{block.get('mimeType') or 'image/png'};base64,{block.get('data', '')}"
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    return {"type": "input_text", "text": str(block.get("text", ""))}


def _answer_item(block: dict[str, Any]) -> tuple[Item, ...]:
    """Return the item of a block of an answer; none for thinking blocks of other models."""
    match block.get("type"):
        case "text":
            text, identity = block.get("text", ""), _signed_id(block.get("textSignature"))
            if identity is None:
                return ({"role": "assistant", "content": text},)
            part = {"annotations": [], "text": text, "type": "output_text", "logprobs": []}
            item = {"id": identity, "content": [part], "role": "assistant", "status": "completed"}
            item["type"] = "message"
            return (item,)
        case "toolCall":
            arguments = json.dumps(block.get("arguments"), ensure_ascii=False)
            call: Item = {"arguments": arguments, "call_id": block.get("id"), "name": block.get("name")}
            return ({**call, "type": "function_call"},)
        case "thinking":
            thought = _parsed(block.get("thinkingSignature"))
            return (thought,) if thought.get("type") == "reasoning" else ()
        case _:
            return (block,)


def _signed_id(signature: Any) -> str | None:
    """Return the item id in the signature of a text; None if another program wrote it."""
    try:
        return _signatures.decode(signature).id if signature else None
    except (msgspec.MsgspecError, TypeError):
        return None
