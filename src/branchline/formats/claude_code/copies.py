"""Records of one transcript in another file, under another session id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from branchline.entries import Header, json_codec
from branchline.formats.claude_code.log_index import ClaudeCodeReading
from branchline.formats.claude_code.rows import PROVENANCE
from branchline.formats.entry_log import EntryLog

__all__ = ["copied_lines"]


def copied_lines(
    transcript: EntryLog[ClaudeCodeReading], positions: Sequence[int], header: Header
) -> Iterator[bytes]:
    """The records at these positions, each once, with the id of the new session.

    Uuids stay as they are, as in the program's own forks. Copies of requests never leave their file.
    """
    reading = transcript.reading
    before = None
    for position in sorted(positions):
        if (span := reading.span(position)) == before or position in reading.withheld:
            continue
        before = span
        line = transcript.raw(position)
        fields = json_codec.loads_object(line)
        if fields is None or fields.get("type") == PROVENANCE:
            continue
        if fields.get("sessionId") not in (None, header.id):
            line = json_codec.dumps({**fields, "sessionId": header.id})
        yield line + b"\n"
