"""Common parts of importing provider messages: plain values, arguments, images and errors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from branchline.entries import Block, Image, ToolResult, UnknownBlock, json_codec
from branchline.errors import InvalidMessage

__all__ = [
    "INCOMPLETE",
    "KnownCalls",
    "call_arguments",
    "data_image",
    "given",
    "is_only_too_much",
    "kept_whole",
    "number",
    "object_of",
    "parse_arguments",
    "plain",
    "refuse",
    "words",
]

INCOMPLETE = "incomplete"
"""The only argument of a call whose arguments are incomplete: their text so far."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[^,]*)?;base64,(.*)", re.DOTALL)
_LONGEST = 60
_DEEPEST = json_codec.DEEPEST - 10  # a call lies a few levels deep in its line


def plain(value: Any) -> Any:
    """Convert a value to JSON types, including objects of a client library."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str | bytes | int | float | None):
        return value
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    if callable(dump := getattr(value, "model_dump", None)):
        # Only what the provider sent, without the defaults of the class that the client library chose; and
        # without warnings, because a block that is newer than the library is no mistake.
        return plain(dump(mode="json", by_alias=True, exclude_unset=True, warnings=False))
    if hasattr(value, "__dict__") and not callable(value):
        return {key: plain(item) for key, item in vars(value).items() if not key.startswith("_")}
    return value


def given(value: Any, maker: str) -> Any:
    """Convert what a caller passed to JSON types. Raises InvalidMessage if it has no end."""
    try:
        return plain(value)
    except RecursionError:
        raise refuse(maker, "it contains itself, or is nested too deeply") from None


def kept_whole(value: Any) -> UnknownBlock:
    """Return a part of an answer that has no counterpart in a session, with all its fields."""
    fields = value if isinstance(value, dict) else {"value": value}
    return UnknownBlock(type=words(fields.get("type")), fields=fields)


def object_of(value: Any, what: str, maker: str) -> dict[str, Any]:
    """Return a value that must be an object. Raises ValueError otherwise."""
    if isinstance(value, dict):
        return value
    raise refuse(maker, f"{what} has to be an object or a dict, not {shown(value)}")


def refuse(maker: str, why: str) -> InvalidMessage:
    """Return the error for unsupported input."""
    return InvalidMessage(f"{maker}() cannot take this: {why}")


def shown(value: Any) -> str:
    """Format a value for a message, truncated."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def words(value: Any) -> str:
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def call_arguments(value: Any) -> dict[str, Any]:
    """Return the arguments of a call, which providers send as an object or as JSON text."""
    if isinstance(value, dict):
        return value
    return parse_arguments(value) if isinstance(value, str | None) else {INCOMPLETE: value}


def parse_arguments(text: str | None) -> dict[str, Any]:
    """Parse the arguments of a call; anything but a JSON object that can be stored unchanged is kept as text.

    A number beyond the range of floats, or a value that is nested too deeply, could not be.
    """
    try:
        found = json.loads(text or "{}", parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        return {INCOMPLETE: text}
    fits = isinstance(found, dict) and not json_codec.is_deep([found], _DEEPEST)
    return found if fits else {INCOMPLETE: text}


def is_only_too_much(text: str) -> bool:
    """Return whether arguments that were kept as text are complete, and only more than can be stored."""
    if INCOMPLETE not in parse_arguments(text):
        return False
    try:
        return isinstance(json.loads(text, parse_constant=_finite), dict)
    except (ValueError, RecursionError):
        return False


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is no finite number")
    return value


def data_image(url: str, maker: str) -> Image:
    """Return the image in a data URL. Other URLs are refused, because sessions store image data."""
    found = _DATA_URL.fullmatch(url)
    if found is None:
        raise refuse(maker, f"the image {shown(url)} is not a data: URL; send it as base64")
    return Image(data=found[2], mime_type=found[1])


class _Call(NamedTuple):
    id: str
    name: str


class KnownCalls:
    """The calls seen so far, from which results get the name of their tool."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}

    def add(self, provider_id: str, stored_id: str, name: str) -> None:
        self._calls[provider_id] = _Call(stored_id, name)

    def result(self, provider_id: str, content: tuple[Block, ...], *, error: bool = False) -> ToolResult:
        """Return a tool result.

        Its tool name is empty if the call is unknown, and the session fills it in.
        """
        call = self._calls.get(provider_id, _Call(provider_id, ""))
        return ToolResult(tool_call_id=call.id, tool_name=call.name, content=content, is_error=error)
