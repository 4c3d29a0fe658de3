"""What a row of a list shows, read off a whole file without building its tree.

Most files are in good order and never branched. Of these everything that a row needs is in a few columns; all
others are left to a reader, which also tells what is strange about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal

import msgspec

from branchline.context import ModelRef
from branchline.context.selection import model_in
from branchline.entries import (
    COUNTED_ROLES,
    Header,
    MessageEntry,
    ModelChange,
    SessionInfo,
    message_text,
    skeleton,
)
from branchline.formats.lines import decode_chunk
from branchline.formats.pi.records import record
from branchline.formats.pi.rows import latest_time, line_at, places_of, skeleton_columns
from branchline.formats.protocol import Survey, first_after_fork

__all__ = ["survey"]

_MOVES = frozenset({"leaf", "session"})


class _HeaderLine(msgspec.Struct, tag_field="type", tag="session", gc=False):
    id: str
    version: Literal[3]
    timestamp: str
    cwd: str
    parentSession: str | None = None  # noqa: N815
    metadata: dict[str, Any] | None = None


_decode_header = msgspec.json.Decoder(_HeaderLine).decode


def survey(data: bytes) -> Survey | None:
    """The whole file in a few words; None where only a reader can tell."""
    start = data.find(b"\n") + 1
    if not start or data[-1] != 0x0A:
        return None
    try:
        header = _decode_header(memoryview(data)[:start])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    whole = decode_chunk(data, len(data), skeleton.decode_shapes, start=start)
    if whole is None:
        return None
    found = whole.values
    columns = skeleton_columns(found)
    if columns is None or not _MOVES.isdisjoint(kinds := set(columns.types)):
        return None
    types = columns.types
    ids = [s.id for s in found]
    if columns.parents != [None, *ids][: len(ids)] or len(set(ids)) != len(ids):
        return None  # a branch, or something odd
    spoken = latest_time(columns.messages, columns.roles)
    if spoken is None:
        return None
    lines = _Lines(data, start, whole.stops)
    inherited = 0
    if header.parentSession is not None and header.timestamp:
        inherited = first_after_fork(header.timestamp, [s.timestamp for s in found])
    model = _model(lines, types, columns.roles)
    if model is _ASK:
        return None
    return Survey(
        header=Header(
            id=header.id,
            version=header.version,
            timestamp=header.timestamp,
            cwd=header.cwd,
            parent_session=header.parentSession,
            metadata=header.metadata,
        ),
        title=_title(lines, types) if "session_info" in kinds else None,
        messages=sum(map(COUNTED_ROLES.__contains__, columns.roles)),
        total_messages=types.count("message"),
        first_prompt=_first_prompt(lines, columns.roles, inherited),
        model=model,
        last_message_time=spoken or None,
    )


class _Lines:
    """The lines behind the header, one for each entry."""

    __slots__ = ("data", "start", "stops")

    def __init__(self, data: bytes, start: int, stops: list[int]) -> None:
        self.data = data
        self.start = start
        self.stops = stops

    def __getitem__(self, number: int) -> bytes:
        return line_at(self.data, self.start, self.stops, number)


_ASK = ModelRef(provider="", id="")
"""The last answer does not tell its model, so that somebody has to look further up."""


def _model(lines: _Lines, types: Sequence[str], roles: Sequence[str | None]) -> ModelRef | None:
    """The last one chosen or the last one that answered, whichever is later."""
    for number in range(len(types) - 1, -1, -1):
        if roles[number] == "assistant":
            return model_in(record(lines[number])) or _ASK
        if types[number] == "model_change":
            entry = record(lines[number])
            if not isinstance(entry, ModelChange):
                return _ASK
            return ModelRef(provider=entry.provider, id=entry.model_id)
    return None


def _title(lines: _Lines, types: list[str]) -> str | None:
    for number in reversed(places_of(("session_info",), types)):
        if isinstance(entry := record(lines[number]), SessionInfo):
            return entry.name.strip() or None
    return None


def _first_prompt(lines: _Lines, roles: list[str | None], inherited: int) -> str:
    """The first prompt with words, if there is one its own, behind what came with a fork."""
    for number in chain(range(inherited, len(roles)), range(inherited)):
        if roles[number] == "user":
            entry = record(lines[number])
            if isinstance(entry, MessageEntry) and (text := message_text(entry.message, " ")).strip():
                return text
    return ""
