"""One line into its record, also where it is nested too deeply to be read whole."""

from __future__ import annotations

from functools import cache

import msgspec

from branchline.entries import Entry, Label, Leaf, SessionInfo, Unknown, decode_entry, skeleton

__all__ = ["record", "shallow_record", "side_record"]


@cache
def _side() -> msgspec.json.Decoder[Label | SessionInfo | Leaf]:
    return msgspec.json.Decoder(Label | SessionInfo | Leaf)


def side_record(line: bytes) -> Entry:
    """As :func:`record`, for lines that a reader looks into itself.

    The decoder of all records is left to who asks for some: making it takes as long as a thousand of these.
    """
    try:
        return _side().decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return record(line)


def record(line: bytes) -> Entry:
    try:
        return decode_entry(line)
    except ValueError:
        return shallow_record(line)


def shallow_record(line: bytes) -> Entry:
    """What is known of a line that was readable while scanning, so that only its depth can be in the way."""
    fields = skeleton.decode_lenient(line)
    fields.pop("message", None)
    return Unknown(
        type=fields["type"], id=fields.get("id") or "", timestamp=fields.get("timestamp") or "", fields=fields
    )
