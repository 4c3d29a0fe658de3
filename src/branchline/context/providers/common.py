"""Common parts of provider requests: the result type, clean text, and accepted ids and names."""

from __future__ import annotations

import math
import re
from typing import Any, Literal

import msgspec

from branchline.context.providers.received import INCOMPLETE, is_only_too_much
from branchline.entries import Content, Image, Text, ToolResult, as_blocks, blocks_text, json_codec

__all__ = [
    "IMAGES_SENTENCE",
    "NO_OUTPUT",
    "ProviderIds",
    "ProviderRequest",
    "arguments_text",
    "clean_arguments",
    "data_url",
    "error_text",
    "parts",
    "plain_name",
    "replace_surrogates",
    "tool_function",
    "tool_name",
    "tool_schema",
]

NO_OUTPUT = "(no output)"
IMAGES_SENTENCE = "Pictures from the tool results above:"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_PLAIN = re.compile("[^A-Za-z0-9_-]")


class ProviderRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a request that comes from the conversation, as plain JSON values.

    ``system`` is None if the provider expects the prompt among the messages.
    """

    api: Literal["anthropic", "openai-chat", "openai-responses"]
    system: str | None
    tools: list[dict[str, Any]]
    messages: list[dict[str, Any]]

    def body(self) -> dict[str, Any]:
        """Return the fields under the provider's names; empty ones are left out."""
        names = {
            "anthropic": ("system", "messages"),
            "openai-chat": ("", "messages"),
            "openai-responses": ("instructions", "input"),
        }
        system, messages = names[self.api]
        fields: dict[str, Any] = {messages: self.messages}
        if self.system:
            fields[system] = self.system
        if self.tools:
            fields["tools"] = self.tools
        return fields


class ProviderIds:
    """Maps call ids to unique ids that providers accept: letters, digits, ``_`` and ``-``, limited length."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._plain: dict[str, str] = {}
        self._given: set[str] = set()

    def __getitem__(self, name: str) -> str:
        if name in self._plain:
            return self._plain[name]
        # pi stores the ids of the Responses API as ``call|item``; only the first half is the call id.
        base = _NOT_PLAIN.sub("_", name.partition("|")[0])[: self._limit] or "call"
        plain, count = base, 1
        while plain in self._given:
            count += 1
            suffix = f"_{count}"
            plain = base[: self._limit - len(suffix)] + suffix
        self._plain[name] = plain
        self._given.add(plain)
        return plain


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates by U+FFFD, so that the text is valid UTF-8."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def arguments_text(arguments: dict[str, Any]) -> str:
    """Return the arguments of a call as JSON text that every provider accepts, with each number unchanged."""
    text = arguments.get(INCOMPLETE)
    if len(arguments) == 1 and isinstance(text, str) and is_only_too_much(text):
        return replace_surrogates(text)
    return json_codec.dumps(clean_arguments(arguments)).decode()


def clean_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the arguments of a call with what JSON cannot hold replaced.

    Lone surrogates become U+FFFD, numbers that are not finite null. All other values stay as they are.
    """
    return {replace_surrogates(str(key)): _clean(value) for key, value in arguments.items()}


def _clean(value: Any) -> Any:
    match value:
        case str():
            return replace_surrogates(value)
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return clean_arguments(value)
        case list() | tuple():
            return [_clean(item) for item in value]
        case _:
            return value


def parts(content: Content) -> list[Text | Image]:
    """Return the texts and images of some content, without blank texts and empty images."""
    return [
        block
        for block in as_blocks(content)
        if (isinstance(block, Text) and block.text.strip()) or (isinstance(block, Image) and block.data)
    ]


def error_text(result: ToolResult) -> str:
    """Return the text of a result, marked if it is an error, for providers without an error flag."""
    text = replace_surrogates(blocks_text(result.content, "\n"))
    if not text.strip():
        text = NO_OUTPUT
    return f"[tool error] {text}" if result.is_error is True else text


def data_url(image: Image) -> str:
    return f"data:{image.mime_type or 'image/png'};base64,{image.data}"


def plain_name(name: str) -> str:
    """Reduce a tool name to the characters and length that all providers accept."""
    return _NOT_PLAIN.sub("_", name)[:64] or "unnamed"


def tool_name(tool: dict[str, Any]) -> dict[str, str]:
    """Return the name and description of a tool."""
    name, description = plain_name(str(tool.get("name", ""))), str(tool.get("description", ""))
    return {"name": name, "description": description}


def tool_function(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the declaration of a tool in OpenAI's form."""
    return {**tool_name(tool), "parameters": tool_schema(tool)}


def tool_schema(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a tool as a JSON schema of an object."""
    schema = tool.get("parameters")
    if not isinstance(schema, dict) or not schema:
        return {"type": "object", "properties": {}}
    return schema
