"""Upgrades versions 1 and 2 in memory: ids are derived from positions, the same on every load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from branchline._sha256 import sha256
from branchline.entries import Entry, entry_from_fields
from branchline.tree import ROOT

if TYPE_CHECKING:
    from branchline.formats.log_index import LogIndex

__all__ = ["CURRENT_VERSION", "FIRST_TYPES", "assign_position_id", "upgraded"]

CURRENT_VERSION = 3
FIRST_TYPES = frozenset({"message", "thinking_level_change", "model_change", "compaction"})
"""The entry types of version 1."""


def _position_id(session: str, index: int) -> str:
    """Return the id of the object at this index (header 0) of a version 1 file: the same on every load."""
    return sha256(f"{session}:{index}".encode("utf-8", "surrogatepass")).hexdigest()[:8]


def assign_position_id(fields: dict[str, Any], reading: LogIndex) -> dict[str, Any]:
    """Upgrade an entry from version 1 to 2: add an id, and the previous entry as its parent.

    An entry that has both is not of version 1, whatever the header says, and keeps them.
    """
    if isinstance(fields.get("id"), str) and "parentId" in fields:
        return fields
    count = len(reading.tree)
    entry_id = _position_id("" if reading.header is None else reading.header.id, count + 1)
    parent = reading.tree.keys[-1] if count else None
    return {**fields, "id": entry_id, "parentId": parent}


def _object_position(index: int, reading: LogIndex) -> int:
    """Return the position of the object with this index, which counts every readable object (header 0).

    -1 for the header and for other objects that are not entries.
    """
    position = index - 1
    for passed, size in enumerate(reading.other_objects, 1):
        if size + passed == index:
            return ROOT
        position -= size + passed < index
    return position


def upgraded(fields: dict[str, Any], reading: LogIndex, position: int) -> Entry:
    """Return the record of a version 1 or 2 entry as version 3."""
    if reading.version == 1:
        fields["id"] = reading.tree.keys[position]
        kept = fields.pop("firstKeptEntryIndex", None)
        if isinstance(kept, int) and (first := _object_position(kept, reading)) in range(position + 1):
            fields["firstKeptEntryId"] = reading.tree.keys[first]
    message = fields.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        fields["message"] = {**message, "role": "custom"}
    return entry_from_fields(fields)
