"""Typed Goose lines: the few fields that the tree depends on.

A line holds one message as older versions of Goose wrote it to their files; a row of a database becomes the
same line. The last line has what the session itself says.
"""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

from typing import Any

import msgspec

from branchline.entries import json_codec
from branchline.formats.common.derived_lines import value_in

__all__ = ["MILLISECONDS", "TAB", "End", "Part", "Row", "fields_of_line", "instant_of"]

TAB = b"\t"
"""Precedes each JSON value of a database row: Goose writes none, so a bad value harms no other."""
_METADATA = b',"metadata":\t'

MILLISECONDS = 100_000_000_000
"""Times from here on are in milliseconds: in seconds this is the year 5138."""
_LARGEST = 1e18


class _Called(msgspec.Struct, frozen=True, gc=False):
    name: str = ""


class _Call(msgspec.Struct, frozen=True, gc=False):
    status: str = ""
    value: _Called = _Called()


class Part(msgspec.Struct, gc=False):
    """One part of a message, of any type."""

    type: str = ""
    text: str | None = None
    id: str = ""
    toolCall: _Call = _Call()  # noqa: N815


class _Visibility(msgspec.Struct, frozen=True, gc=False):
    userVisible: bool = True  # noqa: N815
    agentVisible: bool = True  # noqa: N815


class End(msgspec.Struct, frozen=True, gc=False):
    """What the session itself says, behind its messages."""

    id: str = ""
    time: str = ""
    title: str = ""
    input: int | float = 0
    output: int | float = 0
    cached: int | float = 0
    """Tokens read from a cache; ``input`` contains them, and those written to it."""
    written: int | float = 0
    cost: int | float | None = None
    model: str | None = None
    provider: str | None = None


class Row(msgspec.Struct, gc=False):
    """One line: a message, or the end of the session."""

    id: str = ""
    role: str | None = None
    created: int | float | None = None
    metadata: _Visibility | None = None
    content: list[Part] = []
    end: End | None = None


def instant_of(created: float | None) -> int | None:
    """Return the time of a message in milliseconds; Goose counts seconds. None if it is not a valid time."""
    if created is None or not 0 < created <= _LARGEST:
        return None
    return int(created if created >= MILLISECONDS else created * 1000)


def fields_of_line(line: bytes) -> Any:
    """Return the JSON value of a line. Raises ValueError if it is not JSON.

    Values of a database row that are not JSON are null.
    """
    try:
        return json_codec.loads(line)
    except ValueError:
        head, tab, rest = line.partition(TAB)
        if not tab:
            raise
    content, found, metadata = rest.removesuffix(b"}").rpartition(_METADATA)
    if not found:
        content, metadata = metadata, b"null"
    fields = json_codec.loads(head.removesuffix(b',"content":') + b"}")
    fields["content"], fields["metadata"] = value_in(content), value_in(metadata)
    return fields
