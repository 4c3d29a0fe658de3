"""JSON decoding and encoding that loses nothing one parser alone would lose.

msgspec is fast and strict: it refuses lone surrogates, NaN and numbers beyond its range. Agents do write such
things, so the standard library reads what msgspec will not. Only what neither can read is an error
(:class:`ValueError`).

Values are nested :data:`DEEPEST` levels at most. Deeper values are read as null, so that recursive
code is safe; the line in the file keeps them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from functools import cache, wraps
from itertools import chain
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

if TYPE_CHECKING:
    import json

__all__ = [
    "BUILDING",
    "DEEPEST",
    "bounded",
    "build_once",
    "convert",
    "dumps",
    "is_deep",
    "is_hopeless",
    "loads",
    "loads_object",
]

DEEPEST = 100
"""How deeply values may be nested; low enough for recursive code."""

_T = TypeVar("_T")

_HOPELESS = r"Input data was truncated$|JSON is malformed: .* \(byte 0\)$"
_NUMBERS = (b"N", b"I", b"-")  # how the numbers begin that only the standard library knows

BUILDING = RLock()
"""Held while a decoder is built: msgspec crashes if two threads use a type for the first time."""
_built_shapes: set[Any] = set()

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
    text = bounded(text if isinstance(text, bytes) else bytes(text))
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as reason:
        if is_hopeless(text, str(reason)):
            raise ValueError(str(reason)) from None  # before it costs a copy of a long line
    try:
        value, end = _lenient().raw_decode(string := text.decode("utf-8", "replace").strip(" \t\r\n"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if end != len(string):
        raise ValueError(f"more than one value, the first ends at character {end}")
    return value


def is_hopeless(text: bytes, reason: str) -> bool:
    """Whether the standard library cannot read a text either that msgspec refused for this reason.

    It reads a few numbers that msgspec does not know, and half a character, after which msgspec may find the
    end of the text too early.
    """
    return re.match(_HOPELESS, reason) is not None and text[:1] not in _NUMBERS and b"\\u" not in text[-24:]


def convert(value: Any, shape: type[_T]) -> _T:
    """A decoded JSON value as a record or another type; ValueError where it does not fit.

    A value that :func:`loads` gave may hold what msgspec cannot look at, lone surrogates and huge numbers.
    Such a value does not fit either.
    """
    try:
        if shape in _built_shapes:
            return msgspec.convert(value, shape)
        with BUILDING:
            found = msgspec.convert(value, shape)
            _built_shapes.add(shape)
            return found
    except (msgspec.MsgspecError, UnicodeEncodeError, OverflowError) as reason:
        raise ValueError(str(reason)) from None


# Possessive, so that a string of a gigabyte costs no memory; one that never ends is taken to the end.
_TOKEN = rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[{]++|[\]}]++'
_CONTAINERS = frozenset({dict, list, tuple})
_OPENING = bytes.maketrans(b"]}", b"[{")


def bounded(text: bytes) -> bytes:
    """The same JSON text with null for whatever is nested more than :data:`DEEPEST` levels deep.

    Text that is not valid JSON is returned unchanged: a decoder reports it.
    """
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return text
    pieces: list[bytes] = []
    opened = bytearray()
    start = 0
    for token in re.finditer(_TOKEN, text, re.DOTALL):
        mark = token[0]
        before = len(opened)
        if mark[0] in b"[{":
            opened += mark
            if before <= DEEPEST < len(opened):
                pieces.append(text[start : token.start() + DEEPEST - before])
        elif mark[0] in b"]}":
            if not opened.endswith(mark[::-1].translate(_OPENING)):
                return text
            del opened[-len(mark) :]
            if len(opened) <= DEEPEST < before:
                pieces.append(b"null")
                start = token.start() + before - DEEPEST
    return text if opened or not pieces else b"".join([*pieces, text[start:]])


def is_deep(values: Iterable[Any], levels: int) -> bool:
    """Whether one of these values, as :func:`loads` returns them, is nested more than so many levels deep."""
    for _ in range(levels + 1):
        level = [value for value in values if type(value) in _CONTAINERS]
        if not level:
            return False
        values = chain.from_iterable([value.values() if type(value) is dict else value for value in level])
    return True


def dumps(
    value: Any, *, surrogates: Literal["backslashreplace", "replace", "strict"] = "backslashreplace"
) -> bytes:
    r"""Encode as JavaScript programs write: compactly, non-ASCII as it is, lone surrogates as ``\udXXX``.

    For readers that accept no such escapes, lone surrogates become question marks with "replace" and a
    UnicodeEncodeError with "strict". Numbers that JSON has no text for (NaN, infinity) become null.
    """
    try:
        return _encode(value)
    except (UnicodeEncodeError, OverflowError):
        import json  # noqa: PLC0415  hardly ever

        text = json.dumps(
            _finite(msgspec.to_builtins(value)), ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )
        # Python's name for a lone surrogate is JSON's escape for it.
        return text.encode("utf-8", surrogates)


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


def build_once(build: Callable[[], _T]) -> Callable[[], _T]:
    """Make a function that builds a decoder build it once, while no other thread builds one."""
    made: list[_T] = []

    @wraps(build)
    def built() -> _T:
        if not made:
            with BUILDING:
                if not made:
                    made.append(build())
        return made[0]

    return built


def loads_object(line: bytes) -> dict[str, Any] | None:
    """The object that a line is; None when it is another value or no JSON at all."""
    try:
        value = loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
