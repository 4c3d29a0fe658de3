"""Records of one session of Qwen Code in another file, under another session id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from branchline.entries import Header, json_codec
from branchline.formats.entry_log import EntryLog
from branchline.formats.qwen.log_index import QwenLogIndex
from branchline.formats.qwen.writer import header_line

__all__ = ["copied_lines"]


def copied_lines(
    transcript: EntryLog[QwenLogIndex], positions: Sequence[int], header: Header
) -> Iterator[bytes]:
    """The records at these positions with the id of the new session, marked as the program marks copies."""
    source = None if transcript.reading.header is None else transcript.reading.header.id
    if not positions:
        yield header_line(header)
    for position in positions:
        fields = json_codec.loads_object(transcript.raw(position))
        if fields is None:
            continue
        if header.parent_session is not None and source is not None and "forkedFrom" not in fields:
            fields["forkedFrom"] = {"sessionId": source, "messageUuid": fields.get("uuid")}
        yield json_codec.dumps({**fields, "sessionId": header.id, "cwd": header.cwd}) + b"\n"
