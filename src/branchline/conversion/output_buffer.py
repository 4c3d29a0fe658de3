"""A new file in memory: its bytes, and the log that its format reads from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from branchline.entries import AssistantMessage, Entry, Header, MessageEntry, Text
from branchline.errors import NotSupported
from branchline.formats.entry_log import EntryLog
from branchline.formats.protocol import Format

__all__ = ["REFUSALS", "OutputBuffer", "Trial", "trial_of"]

REFUSALS = (NotSupported, ValueError, OverflowError, LookupError)
"""The errors with which a format rejects an entry."""


class OutputBuffer:
    """Appends to a file in memory, which the format reads as it grows."""

    def __init__(self, target: Format, head: bytes, name: str) -> None:
        self._target = target
        self._data = bytearray(head)
        self.transcript = EntryLog(target, self._read, name)
        self.tail = b""
        """The bytes after the last newline; only a file restored byte for byte has any."""

    def write(self, entries: Sequence[Entry]) -> range:
        """Write entries and return the new positions. Raises an error, and writes nothing, if rejected."""
        return self.add(self._target.required_writer().encode(entries, self.transcript.reading))

    def add(self, lines: bytes) -> range:
        """Append whole lines unchanged."""
        before = len(self.transcript.tree)
        if lines:
            self._data += lines
            self.transcript.take(lines)
        return range(before, len(self.transcript.tree))

    def content(self) -> bytes:
        return bytes(self._data) + self.tail

    def _read(self, offset: int, size: int) -> bytes:
        return bytes(memoryview(self._data)[offset : offset + size])


class Trial(NamedTuple):
    """What a format keeps of an answer, found by writing one."""

    names_models: bool
    """Whether answers name their model."""
    keeps_ids: bool
    """Whether entries keep their ids. Otherwise ids come from the new file, such as numbers of lines."""


def trial_of(target: Format, header: Header) -> Trial:
    """Return what this format keeps of an answer."""
    trial = OutputBuffer(
        target, target.required_writer().encode_header(header), "trial" + target.traits.suffix
    )
    answer = AssistantMessage(content=(Text(text="?"),), provider="a", model="b", timestamp=1)
    entry = MessageEntry(id=_TRIAL, timestamp="2020-01-01T00:00:00.000Z", message=answer)
    try:
        made = trial.write([entry])
    except REFUSALS:
        return Trial(names_models=True, keeps_ids=True)
    found = [one for one in map(trial.transcript.entry, made) if isinstance(one, MessageEntry)]
    return Trial(
        names_models=not found or getattr(found[-1].message, "model", None) == "b",
        keeps_ids=any(one.id == _TRIAL for one in found),
    )


_TRIAL = "01990000-0000-7000-8000-000000000001"
