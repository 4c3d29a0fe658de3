"""New zot files made from an existing one: forks, copies and portable files without a working directory.

Existing rows are copied byte for byte; only the meta rows, which name the session, are written anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from branchline.entries import CompactionSummaryMessage, Header, json_codec, splice
from branchline.errors import NotASession, NotSupported
from branchline.formats.entry_log import EntryLog
from branchline.formats.zot.log_index import ZotLogIndex
from branchline.formats.zot.records import SUMMARY_HEADING, CurrentModel, message_row
from branchline.formats.zot.rows import is_meta
from branchline.formats.zot.writer import header_fields, meta_row
from branchline.tree import ROOT

__all__ = ["compacted_lines", "copied_lines", "forked_lines", "imported_lines", "portable_lines"]

_BOM = b"\xef\xbb\xbf"


class _Row(NamedTuple):
    position: int
    """The last entry of the row."""
    end: int
    """The offset in the log at which the row ends."""
    kind: str
    line: bytes


def forked_lines(transcript: EntryLog[ZotLogIndex], leaf: int, header: Header) -> Iterator[bytes]:
    """Yield a fork: a meta row that names the parent and counts the copied messages, then message and usage
    rows.

    If ``header`` has the id of the source, the result is a part of that session and names no parent.
    """
    rows = list(_conversation(transcript, leaf))
    yield _fork_row(transcript, leaf, header, sum(row.kind == "message" for row in rows))
    for row in rows:
        yield row.line + b"\n"


def compacted_lines(
    transcript: EntryLog[ZotLogIndex],
    leaf: int,
    first_kept: int,
    summary: CompactionSummaryMessage,
    header: Header,
) -> Iterator[bytes]:
    """Yield a fork that begins with a summary and keeps the rows from ``first_kept`` on (-1: none)."""
    rows = list(_conversation(transcript, leaf))
    yield _fork_row(transcript, leaf, header, sum(row.kind == "message" for row in rows))
    heading = "" if summary.summary.startswith(SUMMARY_HEADING) else SUMMARY_HEADING
    headed = msgspec.structs.replace(summary, summary=heading + summary.summary)
    row = message_row(headed, CurrentModel({}))
    assert row is not None
    yield row
    spent = None  # usage before the first kept row still counts towards the session
    for kept in rows:
        if first_kept == ROOT or kept.position < first_kept:
            spent = kept.line if kept.kind == "usage" else spent
            continue
        if spent is not None:
            yield spent + b"\n"
            spent = None
        yield kept.line + b"\n"
    if spent is not None:
        yield spent + b"\n"


def copied_lines(transcript: EntryLog[ZotLogIndex], header: Header) -> Iterator[bytes]:
    """Yield every row under a new meta row; later meta rows (model changes) are rewritten to match it."""
    reading = transcript.reading
    rows = list(_rows(transcript))
    fields = header_fields(header) | _model(reading.metas[0].fields if reading.metas else {})
    if header.parent_session is not None and reading.header is not None:
        fields |= {
            "parent": reading.header.id,
            "fork_point": sum(row.kind == "message" for row in rows),
        }
    yield meta_row(fields)
    title = None
    for row in rows:
        if row.end == reading.header_end:
            continue
        if row.kind == "meta":
            meta = json_codec.loads(row.line).get("meta")
            if is_meta(meta):
                yield meta_row(fields | _model(meta) | {"title": meta.get("title") or title})
            continue
        if row.kind == "rename":
            title = json_codec.loads(row.line).get("title") or title
        yield row.line + b"\n"


def portable_lines(transcript: EntryLog[ZotLogIndex]) -> Iterator[bytes]:
    """Yield the first meta row without its working directory, then every other row unchanged."""
    reading = transcript.reading
    if not reading.metas:
        raise NotSupported(f"{transcript.name} cannot be exported: no row in it names the session")
    line = reading.header_line.strip()
    spot = splice.field_ranges(line)["meta"]
    yield (
        line[: spot.start]
        + splice.set_fields(line[spot.start : spot.end], {"cwd": ""})
        + line[spot.end :]
        + b"\n"
    )
    for row in _rows(transcript):
        if row.kind != "meta":
            yield row.line + b"\n"


def imported_lines(transcript: EntryLog[ZotLogIndex], header: Header) -> Iterator[bytes]:
    """Yield a portable file as a new session: a new meta row, then every other row unchanged."""
    reading = transcript.reading
    if not reading.metas or reading.header_end - len(reading.header_line) > len(_BOM):
        raise NotASession(f"{transcript.name} cannot be imported: its first row does not name a session")
    yield meta_row(header_fields(header) | _model(reading.metas[0].fields))
    for row in _rows(transcript):
        if row.kind != "meta":
            yield row.line + b"\n"


def _fork_row(transcript: EntryLog[ZotLogIndex], leaf: int, header: Header, messages: int) -> bytes:
    reading = transcript.reading
    parent = header.parent_session if reading.header is None else reading.header.id
    meta = reading.meta_at(len(reading.tree) if leaf == ROOT else leaf)
    fields = header_fields(header) | _model(meta)
    fork = {} if parent == header.id else {"parent": parent, "fork_point": messages}
    return meta_row(fields | {"title": reading.title} | fork)


def _conversation(transcript: EntryLog[ZotLogIndex], leaf: int) -> Iterator[_Row]:
    """Yield the message and usage rows up to the row that holds the entry ``leaf``."""
    end = ROOT if leaf == ROOT else transcript.reading.span(leaf).offset
    for row in _rows(transcript, end):
        if row.kind in ("message", "usage"):
            yield row


def _rows(transcript: EntryLog[ZotLogIndex], last: int | None = None) -> Iterator[_Row]:
    """Yield the readable rows, each once, up to the one at offset ``last``."""
    reading = transcript.reading
    size = len(reading.tree)
    for position in range(size):
        span = reading.span(position)
        if last is not None and span.offset > last:
            return
        if position + 1 < size and reading.span(position + 1).offset == span.offset:
            continue  # the next entry is in the same row
        line = transcript.raw(position).strip()
        yield _Row(position, span.offset + span.size, str(json_codec.loads(line).get("type")), line)


def _model(meta: dict[str, Any]) -> dict[str, Any]:
    return {"model": meta.get("model"), "provider": meta.get("provider")}
