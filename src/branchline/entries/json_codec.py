"""JSON text in and out, where one parser alone would lose something.

msgspec is fast and strict: it refuses lone surrogates, NaN, numbers beyond its range, and deep nesting.
Agents do write such things, so the standard library reads what msgspec will not. Only what neither can
read is an error (:class:`ValueError`).
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    import json

__all__ = ["dumps", "loads", "loads_object"]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def _integer(digits: str) -> int | float:
    # Python refuses very long integers; their size is all that a view needs, the line keeps the digits.
    try:
        return int(digits)
    except ValueError:
        return -math.inf if digits.startswith("-") else math.inf


@cache
def _lenient() -> json.JSONDecoder:
    import json  # noqa: PLC0415  hardly ever

    return json.JSONDecoder(parse_int=_integer)


def loads(text: bytes | memoryview) -> Any:
    """Decode one JSON value from UTF-8; invalid bytes become replacement characters."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        value, end = _lenient().raw_decode(string := bytes(text).decode("utf-8", "replace").strip(" \t\r\n"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if end != len(string):
        raise ValueError(f"more than one value, the first ends at character {end}")
    return value


def dumps(value: Any) -> bytes:
    r"""Encode as JavaScript programs write: compactly, non-ASCII as it is, lone surrogates as ``\udXXX``.

    Numbers that JSON has no text for (NaN, infinity) become null.
    """
    try:
        return _encode(value)
    except (UnicodeEncodeError, OverflowError):
        import json  # noqa: PLC0415  hardly ever

        text = json.dumps(
            _finite(msgspec.to_builtins(value)), ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )
        # Python's name for a lone surrogate is JSON's escape for it.
        return text.encode("utf-8", "backslashreplace")


def _finite(value: Any) -> Any:
    """The value with null where the other encoder would write null too."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value


def loads_object(line: bytes) -> dict[str, Any] | None:
    """The object that a line is; None when it is another value or no JSON at all."""
    try:
        value = loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
