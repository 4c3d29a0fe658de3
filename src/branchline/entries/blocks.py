"""The blocks that message content is made of, as frozen records.

Decoding a block of a type that is not listed here gives an :class:`UnknownBlock` that still holds every
field, so that nothing is lost between reading and showing.
"""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

from typing import Any

import msgspec

__all__ = [
    "Block",
    "Image",
    "Text",
    "Thinking",
    "ToolCall",
    "UnknownBlock",
    "as_blocks",
    "blocks_text",
    "tool_calls",
]


class _Block(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", tag_field="type", gc=False
):
    """What all known blocks share: camelCase on the wire, absent means default."""


class Text(_Block, frozen=True, kw_only=True, tag="text"):
    text: str
    text_signature: str | None = None


class Image(_Block, frozen=True, kw_only=True, tag="image"):
    """A picture as base64, without the prefix of a data URL."""

    data: str
    mime_type: str = ""


class Thinking(_Block, frozen=True, kw_only=True, tag="thinking"):
    """Reasoning; when redacted the text is empty and the payload is in the signature."""

    thinking: str
    thinking_signature: str | None = None
    redacted: bool | None = None


class ToolCall(_Block, frozen=True, kw_only=True, tag="toolCall"):
    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | None = None
    namespace: str | None = None


class UnknownBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block of a type we do not know, or one whose fields have other types than we know."""

    type: str
    fields: dict[str, Any]


Block = Text | Image | Thinking | ToolCall | UnknownBlock
KnownBlock = Text | Image | Thinking | ToolCall


def as_blocks(content: str | tuple[Block, ...]) -> tuple[Block, ...]:
    """The blocks of some content: a plain text counts as one text block."""
    return (Text(text=content),) if isinstance(content, str) else content


def tool_calls(content: str | tuple[Block, ...]) -> list[ToolCall]:
    """The tool calls in some content."""
    return [block for block in as_blocks(content) if isinstance(block, ToolCall)]


def blocks_text(content: str | tuple[Block, ...], separator: str = "") -> str:
    """The text of some content: the string itself, or its text blocks joined."""
    if isinstance(content, str):
        return content
    return separator.join(block.text for block in content if isinstance(block, Text))
