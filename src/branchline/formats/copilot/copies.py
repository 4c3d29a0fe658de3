"""Events of one session of Copilot CLI in another file, under another session id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from branchline.entries import Header, json_codec
from branchline.formats.copilot.log_index import CopilotLogIndex
from branchline.formats.copilot.writer import header_line
from branchline.formats.entry_log import EntryLog

__all__ = ["copied_lines"]


def copied_lines(
    transcript: EntryLog[CopilotLogIndex], positions: Sequence[int], header: Header
) -> Iterator[bytes]:
    """A new first event, then the events at these positions as they are, as the program's own forks do."""
    start = header_line(header)
    yield start
    last = json_codec.loads(start)["id"]
    for position in positions:
        fields = json_codec.loads_object(transcript.raw(position))
        if fields is None or fields.get("type") == "session.start":
            continue
        yield json_codec.dumps({**fields, "parentId": last}) + b"\n"
        last = fields.get("id")
