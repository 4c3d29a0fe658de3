"""Items of OpenAI's Responses API as messages of a session, and back, without loss.

Consecutive items of one answer are one assistant message; an output of a tool is a tool result. A message
keeps its items in ``native`` only if they cannot be rebuilt from its content.
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
    """The messages that hold some items. ``names`` remembers the tools of calls, for their results."""
    names = {} if names is None else names
    messages = []
    for group in _groups(items):
        message = _message(group)
        if message["role"] == "assistant":
            calls = (block for block in message["content"] if block["type"] == "toolCall")
            names.update({call["id"]: call["name"] for call in calls})
        elif message["role"] == "toolResult" and not message["toolName"]:
            message["toolName"] = names.pop(message["toolCallId"], "")
        # Given as it is to be written: blocks of tools that OpenAI runs are not among those that we know.
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
            return [dict(item)]  # a tool that OpenAI runs, a compaction: unknown blocks are kept as they are


def _arguments(text: Any) -> dict[str, Any]:
    return _parsed(text) or ({} if text == "{}" else {"input": text})


def _parsed(text: Any) -> dict[str, Any]:
    """The object that a text is in JSON; an empty one for anything else."""
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


class _Said(msgspec.Struct, gc=False):
    role: str = ""
    content: Any = None
    native: _Native | None = None
    toolCallId: str = ""  # noqa: N815  as it is written


class _Line(msgspec.Struct, gc=False):
    message: _Said | None = None


class _Signature(msgspec.Struct, gc=False):
    id: str


_decoder = msgspec.json.Decoder(_Line)
_signatures = msgspec.json.Decoder(_Signature)


def edited_items(line: bytes, replacement: Content | None) -> list[Item]:
    """The items of a message whose content a context edit replaced; none if it removed the message."""
    said = _decoder.decode(line).message
    if said is None or replacement is None:
        return []
    return _rebuilt(said.role, msgspec.to_builtins(replacement), said.toolCallId)


def decode_items(line: bytes) -> list[Item]:
    """The items of the message in a line of a session; none for other lines."""
    try:
        said = _decoder.decode(line).message
    except msgspec.ValidationError:
        return []
    if said is None:
        return []
    native = said.native
    if native is not None and native.format == _FORMAT and native.v == 1 and native.items is not None:
        return native.items
    return _rebuilt(said.role, said.content, said.toolCallId)


def _rebuilt(role: str, content: Any, call: str) -> list[Item]:
    """The items that a message stands for, as the Runner and the models write them most of the time."""
    if isinstance(content, str) and role in _INPUT_ROLES:
        return [{"role": role, "content": content}]
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    match role:
        case "assistant":
            return [item for block in blocks for item in _answer_item(block)]
        case "toolResult":
            return [{"call_id": call, "output": _words(blocks), "type": "function_call_output"}]
        case "user" | "developer" | "system":
            plain = not any(block.get("type") == "image" for block in blocks)
            said = _words(blocks) if plain else [_input_part(part) for part in blocks]
            return [{"role": role, "content": said}]
        case _:
            return []  # commands and notes of other interfaces are no items


def _words(blocks: list[dict[str, Any]]) -> str:
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


def _input_part(block: dict[str, Any]) -> Item:
    if block.get("type") == "image":
        url = f"data:{block.get('mimeType') or 'image/png'};base64,{block.get('data', '')}"
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    return {"type": "input_text", "text": str(block.get("text", ""))}


def _answer_item(block: dict[str, Any]) -> tuple[Item, ...]:
    """The item that a block of an answer stands for; none for the thoughts of other models."""
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
    """The id of an item in the signature of its text; None if another program signed it."""
    try:
        return _signatures.decode(signature).id if signature else None
    except (msgspec.MsgspecError, TypeError):
        return None
