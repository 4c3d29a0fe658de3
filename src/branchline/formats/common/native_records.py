"""Decoder for the few records that a reader itself needs."""

from __future__ import annotations

from functools import cache

import msgspec

from branchline.entries import Entry, Label, Leaf, SessionInfo, decode_entry

__all__ = ["side_record"]


@cache
def _side() -> msgspec.json.Decoder[Label | SessionInfo | Leaf]:
    return msgspec.json.Decoder(Label | SessionInfo | Leaf)


def side_record(line: bytes) -> Entry:
    """Decode a side record, like :func:`decode_entry`.

    Avoids building the decoder of all records, which takes as long as decoding a thousand of these.
    """
    try:
        return _side().decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return decode_entry(line)
