"""Ids that look random but are derived from other ids, so they are reproducible."""

from __future__ import annotations

import re
from collections.abc import Iterator

from branchline._sha256 import sha256

__all__ = ["api_call_ids", "call_ids", "is_uuid", "made_after", "uuid4_from"]

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_API_CALL = re.compile(r"[0-9A-Za-z_-]{1,40}", re.ASCII)
_CALL = re.compile(r"[0-9A-Za-z]{24}", re.ASCII)


def uuid4_from(seed: str) -> str:
    """Return a version 4 UUID derived from a text, as random as the text is."""
    digits = sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID in its usual form."""
    return _UUID.fullmatch(text) is not None


def made_after(one: str, other: str) -> bool:
    """Return whether both ids are UUIDs of version 7, which begin with a time, and one is not older."""
    return is_uuid(one) and is_uuid(other) and one[14] == other[14] == "7" and one[:13] >= other[:13]


def call_ids(prefix: str, call: str) -> Iterator[str]:
    """Yield ids for a tool call, in the order in which to try them: a prefix and 24 letters and digits.

    The call's own id comes first if it has that form. The same call id always gives the same sequence, so
    that a result gets the id of its call.
    """
    if call.startswith(prefix) and _CALL.fullmatch(call[len(prefix) :]):
        yield call
    number = 0
    while True:
        digits = sha256(f"{number} {call}".encode("utf-8", "surrogatepass")).hexdigest()
        yield prefix + digits[:24]
        number += 1


def api_call_ids(call: str) -> Iterator[str]:
    """Yield ids for a tool call as :func:`call_ids` does, its own id first if model APIs accept it."""
    if _API_CALL.fullmatch(call):
        yield call
    yield from call_ids("call_", call)
