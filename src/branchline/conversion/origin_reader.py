"""Restores the original lines of a converted native session, for entries that were not changed since."""

from __future__ import annotations

from typing import NamedTuple

from branchline.conversion.origin import HeaderOrigin, head_origin, origin_of
from branchline.formats.entry_log import EntryLog
from branchline.formats.pi import PI
from branchline.formats.protocol import Format

__all__ = ["OriginReader", "RestoredRows", "origin_reader_for"]

_ABOUT_THE_SESSION = frozenset({"usage", "model_change", "session_info"})
"""Types whose lines may refer to the whole session: its id, or its cost so far."""


class RestoredRows(NamedTuple):
    """Original bytes of the target's agent, and their entries."""

    positions: tuple[int, ...]
    data: bytes
    made: bool = False
    """An entry that was never in the agent's file, and has no bytes."""
    bound: bool = False
    """Whether the first entry has another parent than in the native session."""


class OriginReader:
    """Finds the original lines of a native session. ``exact`` restores the whole file, header included."""

    def __init__(self, source: EntryLog, origin: HeaderOrigin, *, exact: bool) -> None:
        self._source = source
        self._exact = exact
        self.head = origin.head if exact else None

    def restored(self, position: int) -> RestoredRows | None:
        """Return the original bytes from the first entry of a line on; None if the entry must be written."""
        source = self._source
        origin = origin_of(source.raw(position))
        if origin is None:
            return None
        if origin.made:
            # to a compaction, whose line already contains it
            belongs = source.tree.types[position] == "message"
            return RestoredRows((position,), b"", made=True) if self._exact or belongs else None
        if origin.line is None:
            return None
        if not self._exact and (origin.bound or source.tree.types[position] in _ABOUT_THE_SESSION):
            return None
        positions = tuple(range(position, position + origin.parts))
        if positions[-1] >= len(source.tree) or not all(map(self._is_part, positions[1:])):
            return None
        after = origin.after if self._exact else b"\n"
        return RestoredRows(positions, origin.line + after, bound=origin.bound)

    def _is_part(self, position: int) -> bool:
        origin = origin_of(self._source.raw(position))
        return origin is not None and origin.part


def origin_reader_for(source: EntryLog, target: Format, *, exact: bool) -> OriginReader | None:
    """Return the reader of original lines, if this session was converted from the target's format."""
    origin = head_origin(source.reading.header) if source.format is PI else None
    if origin is None or origin.format != target.name:
        return None
    if exact:
        return OriginReader(source, origin, exact=True) if origin.head is not None else None
    return OriginReader(source, origin, exact=False) if origin.current else None
