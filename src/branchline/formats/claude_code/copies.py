"""Copies records of a transcript into another file, with another session id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from branchline.entries import Header, json_codec
from branchline.formats.claude_code.kinds import PROVENANCE
from branchline.formats.claude_code.log_index import ClaudeCodeLogIndex
from branchline.formats.entry_log import EntryLog

__all__ = ["copied_lines"]


def copied_lines(
    transcript: EntryLog[ClaudeCodeLogIndex], positions: Sequence[int], header: Header
) -> Iterator[bytes]:
    """Yield the records at these positions, each once, with the id of the new session.

    Uuids are unchanged, as in Claude Code's own forks. Recorded API requests are not copied.
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
