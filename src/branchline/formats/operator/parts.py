"""Conversion between Operator's message parts and content blocks.

Operator stores images as base64 text or as URLs, several in one part and without a media type. The type is
detected from the first bytes; a URL is kept in an unknown block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from branchline.entries import Block, Content, Image, Text, Thinking, ToolCall, UnknownBlock
from branchline.formats.json_values import dict_of, optional_text, text_of

__all__ = ["Refuse", "blocks_of", "parts_of"]

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?,")
_MAGIC = (
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_THOUGHT = "thought_signature"  # key for a call's signature in its metadata, which Operator does not change

Refuse = Callable[[str], Exception]


def blocks_of(parts: Any) -> tuple[Block, ...]:
    """Return the blocks of these parts, without tool results, which are separate messages here."""
    if not isinstance(parts, list):
        return ()
    return tuple(block for part in parts for block in _blocks(part))


def _blocks(part: Any) -> Iterator[Block]:
    match part:
        case {"type": "text", "content": str(text)}:
            yield Text(text=text)
        case {"type": "thinking", "content": str(text)}:
            yield Thinking(thinking=text, thinking_signature=text_of(part.get("signature")) or None)
        case {"type": "image", "images": [*images]} if all(isinstance(image, str) for image in images):
            yield from map(_picture, images)
        case {"type": "tool_call", "id": str(call), "name": str(name), "args": dict(arguments)}:
            signature = optional_text(dict_of(part.get("metadata")).get(_THOUGHT))
            yield ToolCall(id=call, name=name, arguments=arguments, thought_signature=signature)
        case {"type": "tool_result"}:
            return
        case {"type": str(kind)}:
            yield UnknownBlock(type=kind, fields=part)
        case dict():
            yield UnknownBlock(type="", fields=part)
        case _:
            yield UnknownBlock(type="", fields={"value": part})


def _picture(image: str) -> Block:
    if found := _DATA_URL.match(image):
        return Image(data=image[found.end() :], mime_type=found[1])
    for magic, kind in _MAGIC:
        if image.startswith(magic):
            return Image(data=image, mime_type=kind)
    if _ADDRESS.match(image):
        return UnknownBlock(type="image", fields={"type": "image", "images": [image]})
    return Image(data=image)


def parts_of(content: Content, allowed: Iterable[type[Block]], refuse: Refuse) -> list[dict[str, Any]]:
    """Return content as Operator stores it; raises an error for a block that is not ``allowed``."""
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    allowed = tuple(allowed)
    return [_part(block, allowed, refuse) for block in content]


def _part(block: Block, allowed: tuple[type[Block], ...], refuse: Refuse) -> dict[str, Any]:
    if isinstance(block, UnknownBlock):
        if block.type in ("image", "audio") and set(block.fields) == {"type", _LISTS[block.type]}:
            return dict(block.fields)
        raise refuse("block")
    if not isinstance(block, allowed):
        raise refuse("block")
    match block:
        case Text():
            return {"type": "text", "content": block.text}
        case Image():
            return {"type": "image", "images": [block.data]}
        case Thinking():
            return {
                "type": "thinking",
                "content": block.thinking,
                "signature": block.thinking_signature or "",
            }
        case ToolCall():
            signature = block.thought_signature
            return {
                "type": "tool_call",
                "id": block.id,
                "name": block.name,
                "args": msgspec.to_builtins(block.arguments),
                "metadata": {} if signature is None else {_THOUGHT: signature},
            }


_LISTS = {"image": "images", "audio": "audio"}
