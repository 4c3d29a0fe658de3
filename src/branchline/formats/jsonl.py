"""Base class for third-party formats: one JSON object per line, one method to write."""

from __future__ import annotations

from branchline.formats.lines import LineReader

__all__ = ["JsonlReader"]


class JsonlReader(LineReader):
    """Reads a log one JSON object at a time; derive from it, set ``format_name`` and write ``take``.

    ``take(fields, line, offset)`` is called for every object. It sets ``self.reading.header`` or calls
    :meth:`add_entry`; :meth:`note_not_an_entry` reports any other object. It is not called for damaged lines.
    """

    def takes_rows(self) -> bool:
        return False

    def add_entry(
        self,
        entry_id: str,
        parent: str | None,
        line: bytes,
        offset: int,
        *,
        type: str = "message",  # noqa: A002
        role: str | None = None,
        time: str = "",
    ) -> int:
        """Add an entry to the tree and record where its line is; return its position."""
        index = self.reading
        position = index.linker.add(entry_id, parent, type=type, role=role, time=time, after_gap=self.gap)
        index.add_range(position, offset, len(line), index.lines)
        self.gap = False
        return position
