"""Whole files of zot made from another one: forks, copies, and the portable form without a working directory.

What others wrote is copied byte for byte; only the meta rows, which name the session, are written anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

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
    """Its last entry."""
    end: int
    """Where it ends in the log."""
    kind: str
    line: bytes


def forked_lines(transcript: EntryLog[ZotLogIndex], leaf: int, header: Header) -> Iterator[bytes]:
    """A fork: its meta row names the parent and how many messages it took; then their rows and the usage.

    Under the id of its source it is a part of that session, which has no parent in itself.
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
    """A fork that begins with a summary, followed by the rows from an entry on (-1: none)."""
    rows = list(_conversation(transcript, leaf))
    yield _fork_row(transcript, leaf, header, sum(row.kind == "message" for row in rows))
    heading = "" if summary.summary.startswith(SUMMARY_HEADING) else SUMMARY_HEADING
    row = message_row(
        CompactionSummaryMessage(
            summary=heading + summary.summary,
            tokens_before=summary.tokens_before,
            timestamp=summary.timestamp,
        ),
        CurrentModel({}),
    )
    assert row is not None
    yield row
    spent = None  # what was spent before the first kept row is still the session's
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
    """Every row under a new meta row; where the model changes, the meta rows change with it."""
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
    """The first meta row without its working directory, then every other row as it is."""
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
    """A portable file as a session of its own: a new meta row, then every other row as it is."""
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
    """The rows of messages and usage up to the one that holds this entry."""
    end = ROOT if leaf == ROOT else transcript.reading.span(leaf).offset
    for row in _rows(transcript, end):
        if row.kind in ("message", "usage"):
            yield row


def _rows(transcript: EntryLog[ZotLogIndex], last: int | None = None) -> Iterator[_Row]:
    """The readable rows, one each, up to the one at this offset."""
    reading = transcript.reading
    size = len(reading.tree)
    for position in range(size):
        span = reading.span(position)
        if last is not None and span.offset > last:
            return
        if position + 1 < size and reading.span(position + 1).offset == span.offset:
            continue  # the next entry stands in the same row
        line = transcript.raw(position).strip()
        yield _Row(position, span.offset + span.size, str(json_codec.loads(line).get("type")), line)


def _model(meta: dict[str, Any]) -> dict[str, Any]:
    return {"model": meta.get("model"), "provider": meta.get("provider")}
