"""String lengths, JSON text and whitespace with JavaScript semantics, to match agents written in it.

JavaScript counts UTF-16 units, writes ``1.0`` as 1, and lists integer keys before all others. Unlike there,
integers beyond 2**53 keep their digits: they are often ids, which a summary must not change. Requests and
exports do not use these rules; they write every number as Python does.
"""

from __future__ import annotations

import math
import re
from typing import Any

__all__ = ["in_order", "number_text", "stringify", "trim", "utf16_cut", "utf16_length"]

_SURROGATE = "[\ud800-\udfff]"
_LONGEST_INTEGER = 2**128  # identifiers have at most 128 bits
_LAST_INDEX = 2**32 - 1
_BLANKS = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def utf16_length(text: str) -> int:
    """Return the length in UTF-16 units: characters outside the basic plane count twice."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_cut(text: str, length: int) -> str:
    """Return the first ``length`` UTF-16 units, without half a surrogate pair at the end."""
    if text.isascii():
        return text[:length]
    return text.encode("utf-16-le", "surrogatepass")[: 2 * length].decode("utf-16-le", "ignore")


def trim(text: str) -> str:
    """Strip JavaScript whitespace, which includes U+FEFF, but not U+0085 and U+001C."""
    return text.strip(_BLANKS)


def stringify(value: Any) -> str:
    """Return compact JSON text, as ``JSON.stringify`` writes it. Iterative, so the depth is not limited."""
    parts: list[str] = []
    rest: list[Any] = [value]
    while rest:
        item = rest.pop()
        match item:
            case _Written():
                parts.append(item.text)
            case str():
                parts.append(_string(item))
            case None | bool() | int() | float():
                parts.append(_scalar(item))
            case dict():
                rest.append(_Written("}"))
                pairs = list(in_order(item).items())
                for number, (key, member) in enumerate(reversed(pairs), 1 - len(pairs)):
                    rest += [member, _Written(f"{',' if number else ''}{_string(str(key))}:")]
                rest.append(_Written("{"))
            case list() | tuple():
                rest.append(_Written("]"))
                for number, member in enumerate(reversed(item), 1 - len(item)):
                    rest += [member, _Written(",")] if number else [member]
                rest.append(_Written("["))
            case _:
                raise TypeError(f"{type(item).__name__} has no JSON text")
    return "".join(parts)


def in_order(value: dict[str, Any]) -> dict[str, Any]:
    """Order keys like JavaScript: array indexes first, in numeric order."""
    indexes = [key for key in value if _is_index(key)]
    if not indexes:
        return value
    indexes.sort(key=int)
    return {**{key: value[key] for key in indexes}, **value}


def number_text(number: float) -> str:
    """Format a number like JavaScript: ``1.0`` is 1, very large and very small ones have an exponent."""
    if isinstance(number, int) and abs(number) < _LONGEST_INTEGER:
        return str(number)
    try:
        value = float(number)
    except OverflowError:
        value = math.inf if number > 0 else -math.inf
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    figures = (whole + fraction).lstrip("0")
    # Digits before the point; if negative, zeros after it.
    point = len(figures) - len(fraction) + int(power or 0)
    digits = figures.rstrip("0")
    if len(digits) <= point <= 21:
        text = digits.ljust(point, "0")
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        text = f"{digits[0]}.{digits[1:]}".rstrip(".") + f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return "-" + text if value < 0 else text


class _Written:
    """Finished text on the stack of values that are still to be written."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _scalar(value: float | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = number_text(value)
    return "null" if text.lstrip("-") in ("NaN", "Infinity") else text


def _string(text: str) -> str:
    from json.encoder import encode_basestring  # noqa: PLC0415  3 ms that most commands need not pay

    quoted: str = encode_basestring(text)
    if quoted.isascii():
        return quoted
    return re.sub(_SURROGATE, lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _is_index(key: str) -> bool:
    return (
        key.isascii()
        and key.isdigit()
        and len(key) <= 10
        and (key == "0" or key[0] != "0")
        and int(key) < _LAST_INDEX
    )
