"""What messages of all providers share on their way in: plain values, arguments, pictures, and refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from branchline.entries import Image, Text, ToolResult

__all__ = [
    "INCOMPLETE",
    "KnownCalls",
    "data_image",
    "number",
    "object_of",
    "parse_arguments",
    "plain",
    "refuse",
    "words",
]

INCOMPLETE = "incomplete"
"""The only argument of a call whose arguments are not whole: their text so far."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[^,]*)?;base64,(.*)", re.DOTALL)
_LONGEST = 60


def plain(value: Any) -> Any:
    """A value as JSON: objects of a client library become plain ones."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str | bytes | int | float | None):
        return value
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    if callable(dump := getattr(value, "model_dump", None)):
        return plain(dump(mode="json", by_alias=True))
    if hasattr(value, "__dict__") and not callable(value):
        return {key: plain(item) for key, item in vars(value).items() if not key.startswith("_")}
    return value


def object_of(value: Any, what: str, maker: str) -> dict[str, Any]:
    """A value that has to be an object; ValueError says what was given instead."""
    if isinstance(value, dict):
        return value
    raise refuse(maker, f"{what} has to be an object or a dict, not {shown(value)}")


def refuse(maker: str, why: str) -> ValueError:
    """The error for what is not understood."""
    return ValueError(f"{maker}() cannot take this: {why}")


def shown(value: Any) -> str:
    """A value as messages quote it: short, whatever it is."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def words(value: Any) -> str:
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def parse_arguments(text: str) -> dict[str, Any]:
    """The arguments of a call from their JSON text; anything but an object is kept unchanged."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {INCOMPLETE: text}
    return found if isinstance(found, dict) else {INCOMPLETE: text}


def data_image(url: str, maker: str) -> Image:
    """A picture from a data URL. One that is only linked is refused: a session holds its pictures."""
    found = _DATA_URL.fullmatch(url)
    if found is None:
        raise refuse(maker, f"the picture {shown(url)} is not a data: URL; send it as base64")
    return Image(data=found[2], mime_type=found[1])


class _Call(NamedTuple):
    id: str
    name: str


class KnownCalls:
    """The calls that were seen so far, so that a result names the tool that it is of."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}

    def add(self, provider_id: str, stored_id: str, name: str) -> None:
        self._calls[provider_id] = _Call(stored_id, name)

    def result(
        self, provider_id: str, content: tuple[Text | Image, ...], *, error: bool = False
    ) -> ToolResult:
        """A result; the name of its tool is empty where the call is not here, and the session finds it."""
        call = self._calls.get(provider_id, _Call(provider_id, ""))
        return ToolResult(tool_call_id=call.id, tool_name=call.name, content=content, is_error=error)
