"""Transcripts for lists of sessions: what answers say is not looked at where nobody asks for it.

What records say tells copies and rewinds apart, so it is needed as soon as they do not simply follow each
other. Most files are short and have neither: their records are looked at all together, and if each names the
one before it as its parent, their words are left out. Everything else is read as always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from branchline.formats.claude_code.plain import SimpleRow
from branchline.formats.claude_code.reader import ClaudeCodeReader
from branchline.formats.claude_code.rows import (
    ANSWER,
    HUMAN,
    RESULT,
    ContentBlock,
    Row,
    Spent,
    kind_of,
    text_of,
)
from branchline.formats.lines import decode_chunk

__all__ = ["ClaudeCodeListingReader"]


class _Prompt(msgspec.Struct, tag_field="role", tag="user", gc=False):
    id: str | None = None
    model: str | None = None
    content: str | tuple[ContentBlock, ...] | None = None
    stop_reason: str | None = None
    usage: Spent | None = None


class _Answer(msgspec.Struct, tag_field="role", tag="assistant", gc=False):
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Spent | None = None

    @property
    def content(self) -> None:
        return None


class _Shape(Row, gc=False):
    message: _Prompt | _Answer | None = None  # type: ignore[assignment]


_decode_shapes = msgspec.json.Decoder(_Shape).decode_lines
_ANSWER, _RESULT, _HUMAN = SimpleRow(ANSWER, 0), SimpleRow(RESULT, 0), SimpleRow(HUMAN, 0)


class ClaudeCodeListingReader(ClaudeCodeReader):
    """Knows what a list shows, and what was spent; of simple files neither calls nor quiet answers."""

    def __init__(self, path: str = "") -> None:
        super().__init__(path)
        self._waiting: tuple[bytes, int] | None = (
            None  # the beginning, until it is known whether more follows
        )
        self._simple = False

    def feed(self, data: bytes, end: int) -> None:
        if self._waiting is None and not self.reading.lines:
            self._waiting = (data, end)
            return
        self._take_waiting()
        super().feed(data, end)

    def finish(self, tail: bytes) -> None:
        if self._waiting is not None and not tail:
            data, end = self._waiting
            found = decode_chunk(data, end, _decode_shapes)
            if found is not None and self._is_simple(found.values):
                self._waiting = None
                self._simple = True
                self.take_bulk(found)
                self._simple = False
                self.reading.consumed += end
        self._take_waiting()
        super().finish(tail)

    def _take_waiting(self) -> None:
        if self._waiting is not None:
            data, end = self._waiting
            self._waiting = None
            super().feed(data, end)

    def _is_simple(self, rows: Sequence[_Shape]) -> bool:
        """Whether every record names the one before it, so that nothing has to be told apart by its words."""
        records = [row for row in rows if row.uuid]
        uuids = [row.uuid for row in records]
        if not records or [row.parentUuid for row in records] != [None, *uuids[:-1]]:
            return False
        odd = [row for row in records if row.isSidechain or row.logicalParentUuid or row.microcompactMetadata]
        return not odd and len(set(uuids)) == len(uuids)

    def plain_ones(self, rows: Sequence[Row]) -> list[SimpleRow | None]:
        if not self._simple:
            return super().plain_ones(rows)
        found: list[SimpleRow | None] = []
        for row in rows:  # without calls, as this is done for every record of a library
            said: Any = row.message
            one: SimpleRow | None = None
            if said is None or not row.uuid or row.forkedFrom is not None:
                pass
            elif type(said) is _Answer:
                if row.type == "assistant" and not row.isApiErrorMessage and said.model != "<synthetic>":
                    one = _ANSWER
            elif row.type == "user":
                content = said.content
                if type(content) is tuple and len(content) == 1 and content[0].type == "tool_result":
                    one = _RESULT
                elif kind_of(row, text_of(content)) == HUMAN:
                    one = _HUMAN
            found.append(one)
        return found

    def look_into(self, first: int, rows: Sequence[Row], plain: Sequence[SimpleRow]) -> list[int]:
        if not self._simple:
            return super().look_into(first, rows, plain)
        self._known.unspent.append((first, rows))
        return []
