"""piglet's session format: detection, reading and writing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from branchline.context import ContextMessage, ContextRules, ModelRef
from branchline.entries import (
    Compaction,
    CustomContent,
    Entry,
    Header,
    SystemMessage,
    UserMessage,
    json_codec,
)
from branchline.formats.entry_log import EntryLog
from branchline.formats.go_json import go_timestamp
from branchline.formats.lines import head_lines
from branchline.formats.piglet.copies import copied_lines, forked_lines
from branchline.formats.piglet.home import PigletHome
from branchline.formats.piglet.log_index import PigletLogIndex
from branchline.formats.piglet.reader import PigletReader
from branchline.formats.piglet.records import record_of
from branchline.formats.piglet.writer import CANNOT, PigletWriter, meta_fields, meta_row
from branchline.formats.protocol import (
    Format,
    FormatReader,
    FormatTraits,
    LinkFields,
    ReadingLimits,
    header_in,
)
from branchline.formats.uuid_writer import UuidWriter

__all__ = ["PIGLET"]

_ROW = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"[^"\\]*"\s*,\s*(?:"id"\s*:\s*"[^"\\]*"\s*,\s*)?'
    rb'(?:"parentId"\s*:\s*"[^"\\]*"\s*,\s*)?"ts"\s*:\s*"'
)
_NAME = re.compile(r"[/\\]piglet[/\\]sessions[/\\][0-9a-fA-F-]{36}\.jsonl$")


_LISTED = 1 << 20
"""The longest line, including its newline, in a session that piglet lists."""
_OPENED = 10 << 20
"""The longest line, including its newline, in a session that piglet opens."""


class _Rest(msgspec.Struct, gc=False):
    provider: Any = None
    model: Any = None


class _Answer(msgspec.Struct, gc=False):
    provider: str | None = None
    model: str | None = None
    branchline: _Rest | None = None


class _Line(msgspec.Struct, gc=False):
    data: _Answer


_answer_in = msgspec.json.Decoder(_Line).decode


def _as_sent(messages: list[ContextMessage]) -> list[ContextMessage]:
    """Return what piglet sends: extension messages become user messages, system prompts are omitted."""
    return [
        ContextMessage(item.entry, UserMessage(content=message.content, timestamp=message.timestamp))
        if isinstance(message := item.message, CustomContent)
        else item
        for item in messages
        if not isinstance(item.message, SystemMessage)
    ]


TRAITS = FormatTraits(
    name="piglet",
    file_patterns=("*.jsonl",),
    links=LinkFields("parentId", "", ""),
    unsupported=CANNOT,
    path_types=frozenset({"leaf"}),  # entries after a move are its children
    compaction_embeds_tail=True,
    rounds_integers=True,
    keeps_lone_surrogates=False,
)


class PigletFormatReader(FormatReader[PigletLogIndex]):
    """Reads piglet sessions, as of May 2026, and older ones without ids."""

    log_reader = PigletReader
    context_rules = ContextRules(
        excluded_types=frozenset({"branch_summary"}), session_has_model=True, finish=_as_sent
    )
    """The last meta row names the model; branch summaries are notes for the user."""

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize a line that starts like piglet's or, if no line is conclusive, a path like piglet's."""
        for line in head_lines(head):
            if _ROW.match(line):
                return True
            if line.strip() and (fields := json_codec.loads_object(line)) is not None:
                return {"type", "ts", "data"} <= fields.keys()
        return b'{"type":"' not in head and _NAME.search(path) is not None

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """Read two lines: a fork names its parent in the second."""
        return header_in(head, self.log_reader, path, whole=whole, lines=2)

    def decode(self, line: bytes, index: PigletLogIndex, position: int) -> Entry:
        return record_of(line, index.tree, position)

    def answer_model(self, transcript: EntryLog[PigletLogIndex], position: int) -> ModelRef | None:
        """Return the model of an answer without decoding its content."""
        try:
            answer = _answer_in(transcript.raw(position)).data
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return super().answer_model(transcript, position)
        if not answer.model or answer.branchline not in (
            None,
            _Rest(),
        ):  # the names as given are stored beside it
            return super().answer_model(transcript, position)
        return ModelRef(provider=answer.provider or "", id=answer.model)


class PigletFormatWriter(UuidWriter[PigletLogIndex]):
    """Writes piglet sessions."""

    def encode_header(self, header: Header) -> bytes:
        """Return the meta row of a new session, followed by one that names its model if it has one."""
        written = go_timestamp(header.timestamp)
        fields = meta_fields(header)
        rows = meta_row(fields, written)
        if model := (header.metadata or {}).get("model"):
            rows += meta_row(fields | {"model": model}, written)
        return rows

    def encode(self, entries: Sequence[Entry], index: PigletLogIndex) -> bytes:
        return _readable([PigletWriter(index, TRAITS.unsupported_error).write(entries)])

    def fork(self, transcript: EntryLog[PigletLogIndex], leaf: int, header: Header) -> bytes:
        return _readable(forked_lines(transcript, leaf, header))

    def copy(self, transcript: EntryLog[PigletLogIndex], header: Header) -> bytes:
        return _readable(copied_lines(transcript, header))


def _readable(lines: Iterable[bytes]) -> bytes:
    """Join the lines; raises NotSupported if piglet could not open a session with one of them."""
    data = b"".join(lines)
    if len(data) > _OPENED and max(map(len, data.split(b"\n"))) + 1 > _OPENED:
        raise TRAITS.unsupported_error("line")
    return data


class PigletLimits(ReadingLimits):
    """piglet ignores system prompts, and its session list omits sessions with long lines."""

    def unread(self, entry: Entry) -> tuple[str, ...]:
        if isinstance(entry, Compaction) and entry.system_message is not None:
            return ("with a system prompt that piglet does not read",)
        return ()

    def line_problem(self, size: int) -> str | None:
        return "piglet does not list a session with a line of more than 1 MiB" if size > _LISTED else None


PIGLET = Format(
    traits=TRAITS,
    reader=PigletFormatReader(),
    writer=PigletFormatWriter(),
    home=PigletHome(),
    limits=PigletLimits(),
)
