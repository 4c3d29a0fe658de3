"""Answers to lines that are no message of the protocol, with the id of the request if it can be read.

A client waits for the answer to each request it sends, so a request that cannot be understood needs one too.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

__all__ = ["LARGEST_MESSAGE", "Refusal", "refusals"]

LARGEST_MESSAGE = 1 << 20
"""Size limit of a message in bytes."""
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600
_BLANK = re.compile(r"[ \t\r\n]*")


class Refusal(NamedTuple):
    """A JSON-RPC error; ``id`` is None if the id of the request cannot be read."""

    id: int | str | None
    code: int
    message: str


def refusals(line: bytes, *, is_cut: bool = False) -> list[Refusal]:
    """Return the answers to a line that is no message: one, or one for each request of a batch.

    A line that is larger than a message may be has been cut. A malformed response has no answer.
    """
    if is_cut:
        reason = f"a message has at most {LARGEST_MESSAGE:,} bytes"
        return [Refusal(_id_in(line.decode("utf-8", "replace")), _INVALID_REQUEST, reason)]
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return [Refusal(_id_in(line.decode("utf-8", "replace")), _PARSE_ERROR, "the message is not JSON")]
    if isinstance(value, list) and value:
        reason = "batches are not supported; send each request as a message of its own"
        named = [one for one in map(_id_of, value) if one is not None]
        return [Refusal(one, _INVALID_REQUEST, reason) for one in named] or [
            Refusal(None, _INVALID_REQUEST, reason)
        ]
    if isinstance(value, dict) and "method" not in value and ("result" in value or "error" in value):
        return []
    return [Refusal(_id_of(value), _INVALID_REQUEST, "the message is not a JSON-RPC 2.0 request")]


def _id_of(request: Any) -> int | str | None:
    found = request.get("id") if isinstance(request, dict) else None
    if isinstance(found, str):
        return found if found.isprintable() else None  # half characters are not printable
    return found if type(found) is int else None


def _id_in(text: str) -> int | str | None:
    """Return the id of a request whose text breaks off or goes wrong after it."""
    decode, request = json.JSONDecoder().raw_decode, {}
    end = _after_blanks(text, 0) + 1
    try:
        while text[end - 1] in "{,":
            name, end = decode(text, _after_blanks(text, end))
            end = _after_blanks(text, end)
            if text[end] != ":":
                break
            value, end = decode(text, _after_blanks(text, end + 1))
            end = _after_blanks(text, end) + 1
            text[end - 1]  # a number may go on where the text ends
            request[name] = value
    except (ValueError, IndexError, RecursionError, TypeError):
        pass
    return _id_of(request)


def _after_blanks(text: str, start: int) -> int:
    found = _BLANK.match(text, start)
    assert found is not None, "the pattern matches nothing, too"
    return found.end()
