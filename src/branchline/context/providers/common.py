"""What the request shapes of all providers share: the result type, clean text, ids and names they accept."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import msgspec

from branchline.context.javascript import stringify
from branchline.entries import Content, Image, Text, ToolResult, blocks_text

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
    "tool_schema",
]

NO_OUTPUT = "(no output)"
IMAGES_SENTENCE = "Pictures from the tool results above:"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")
_NOT_PLAIN = re.compile("[^A-Za-z0-9_-]")


class ProviderRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a request that the conversation decides, as plain JSON values.

    ``system`` is None where the provider wants the prompt among the messages.
    """

    api: Literal["anthropic", "openai-chat", "openai-responses"]
    system: str | None
    tools: list[dict[str, Any]]
    messages: list[dict[str, Any]]

    def body(self) -> dict[str, Any]:
        """The fields by the names that the provider gives them; empty ones are left out."""
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
    """Ids of tool calls as providers accept them: letters, digits, ``_`` and ``-``, not too long, unique."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._plain: dict[str, str] = {}
        self._given: set[str] = set()

    def __getitem__(self, name: str) -> str:
        if name in self._plain:
            return self._plain[name]
        # pi keeps the ids of the Responses API as «call|item»; only the first half is the call.
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
    """Text that is valid UTF-8: half a character becomes a replacement character."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def arguments_text(arguments: dict[str, Any]) -> str:
    """The arguments of a call as JSON text, with half characters replaced."""
    text = stringify(arguments)
    return _ESCAPED_SURROGATE.sub(r"\1\\ufffd", text) if "\\ud" in text else text


def clean_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call with half characters replaced."""
    text = stringify(arguments)
    return arguments if "\\ud" not in text else json.loads(arguments_text(arguments))


def parts(content: Content) -> list[Text | Image]:
    """The texts and pictures of some content that are worth sending: no blank text, no empty picture."""
    if isinstance(content, str):
        content = (Text(text=content),)
    return [
        block
        for block in content
        if (isinstance(block, Text) and block.text.strip()) or (isinstance(block, Image) and block.data)
    ]


def error_text(result: ToolResult) -> str:
    """The words of a result for providers that cannot flag an error otherwise."""
    text = replace_surrogates(blocks_text(result.content, "\n"))
    if not text.strip():
        text = NO_OUTPUT
    return f"[tool error] {text}" if result.is_error is True else text


def data_url(image: Image) -> str:
    return f"data:{image.mime_type or 'image/png'};base64,{image.data}"


def plain_name(name: str) -> str:
    """The name of a tool as all providers accept it."""
    return _NOT_PLAIN.sub("_", name)[:64] or "unnamed"


def tool_schema(tool: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a tool as a JSON schema of an object."""
    schema = tool.get("parameters")
    if not isinstance(schema, dict) or not schema:
        return {"type": "object", "properties": {}}
    return schema
