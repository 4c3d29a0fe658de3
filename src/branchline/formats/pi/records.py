"""One line into its record, also where it is nested too deeply to be read whole."""

from __future__ import annotations

from branchline.entries import Entry, Unknown, decode_entry, skeleton

__all__ = ["record", "shallow_record"]


def record(line: bytes) -> Entry:
    try:
        return decode_entry(line)
    except ValueError:
        return shallow_record(line)


def shallow_record(line: bytes) -> Entry:
    """What is known of a line that was readable while scanning, so that only its depth can be in the way."""
    fields = skeleton.careful(line)
    fields.pop("message", None)
    return Unknown(
        type=fields["type"], id=fields.get("id") or "", timestamp=fields.get("timestamp") or "", fields=fields
    )
