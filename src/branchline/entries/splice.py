"""Change one field of a line; every other byte is preserved.

Forks re-chain parents and upgrades add ids. Decoding and encoding the line again would lose repeated keys,
long numbers and escapes, so only the bytes of the value are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from branchline.entries import json_codec

__all__ = ["ValueRange", "field_ranges", "set_fields"]

# Possessive, because a pasted picture is one string of many megabytes: nothing to come back to is remembered.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:]', re.DOTALL)


class ValueRange(NamedTuple):
    """The byte range of a value in a line."""

    start: int
    end: int


def field_ranges(line: bytes) -> dict[str, ValueRange]:
    """The values of the outermost object, by key; of a repeated key the last one, which counts."""
    spots: dict[str, ValueRange] = {}
    depth = 0
    key: bytes | None = None
    last_text: bytes | None = None
    value_start = 0
    for token in _TOKEN.finditer(line):
        mark = token[0]
        if depth == 1 and key is not None and mark in (b",", b"}"):
            stripped = line[value_start : token.start()]
            start = value_start + len(stripped) - len(stripped.lstrip())
            name = json_codec.loads(key)
            spots[name] = ValueRange(start, start + len(stripped.strip()))
            key = None
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
        elif mark == b":" and depth == 1 and key is None:
            key = last_text
            value_start = token.end()
        elif mark.startswith(b'"') and depth == 1 and key is None:
            last_text = mark
    return spots


def set_fields(line: bytes, fields: Mapping[str, Any]) -> bytes:
    """Return the line with these fields replaced, or added after the first field."""
    spots = field_ranges(line)
    if not spots:
        raise ValueError("not a JSON object with fields")
    changes = [(spots[name], json_codec.dumps(value)) for name, value in fields.items() if name in spots]
    added = b"".join(
        b"," + json_codec.dumps(name) + b":" + json_codec.dumps(value)
        for name, value in fields.items()
        if name not in spots
    )
    if added:
        first = min(spot.end for spot in spots.values())
        changes.append((ValueRange(first, first), added))
    for spot, text in sorted(changes, reverse=True):
        line = line[: spot.start] + text + line[spot.end :]
    return line
