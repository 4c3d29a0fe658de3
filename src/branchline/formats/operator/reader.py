"""Operator's lines into a reading: a tree by ``parent_id``, where the last line says where the session stands.

Every line is an entry, also moves, labels and names, and later entries hang from them. The name of a session
belongs to a branch; labels belong to the file. A message that holds several tool results becomes as many
entries, the last of which carries the id.
"""

from __future__ import annotations

import re
from array import array
from typing import Any

from branchline.clock import iso
from branchline.entries import Header, jsontext
from branchline.entries.skeleton import Fragment
from branchline.formats.base import Block, LabelState, Reading
from branchline.formats.lines import LinesReader, bulk
from branchline.formats.operator.parts import PARTS
from branchline.formats.operator.records import ROLES, STOP_REASONS, TYPES, Result, results_in, tree_role
from branchline.formats.operator.skeleton import Line, Said, decode_lines
from branchline.formats.operator.times import instant, iso_time
from branchline.tree import ROOT, BackwardLinker

__all__ = ["OperatorReader", "OperatorReading"]

VERSION = 3
_SIDE = frozenset({"label", "session_info", "leaf"})
_SPEAKERS = frozenset({"user", "assistant"})
_FRAGMENT = re.compile(
    rb'\s*\{"id":"([^"\\]+)","timestamp":-?[0-9][0-9.eE+-]*,'
    rb'(?:"parent_id":(?:"([^"\\]+)"|null),)?"type":"[^"\\]*"'
)
_FILE_NAME = re.compile(
    r"[0-9T-]{26}_([0-9a-f]{8})-([0-9a-f]{4})(-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl"
)


class OperatorReading(Reading):
    """A reading that also knows which tool result of a line an entry stands for."""

    def __init__(self) -> None:
        super().__init__("operator")
        self.linker = BackwardLinker(self.tree)
        self.results: dict[int, Result] = {}
        self.inner: set[int] = set()
        """Entries that share their line with a later one."""
        self.first_parts: dict[str, str] = {}
        """For the last entry of such a line, the first one."""


class OperatorReader(LinesReader):
    """Reads the sessions of version 3."""

    format_name = "operator"
    markers = (b'{"id":"', b'{"type":"session"')
    reading: OperatorReading

    def __init__(self, path: str = "") -> None:
        super().__init__()
        self.reading = OperatorReading()
        self._path = path
        self._started = False
        self._calls: dict[str, str] = {}
        self._moves: dict[int, int | None] = {}
        self._titles: dict[int, str] = {}
        self._titled_by: list[int] = []
        self._first_title = 0

    # -- the regular way ------------------------------------------------------------------------------

    def take_regular(self, data: bytes, end: int, offset: int) -> bool:
        found = bulk(data, end, decode_lines) if self._started else None
        if found is None:
            return False
        lines: list[Line] = list(found.values)
        types = [line.type for line in lines]
        said = [line.message if line.type == "message" else None for line in lines]
        if types.count("message") != len(said) - said.count(None):
            return False
        reading = self.reading
        first = len(reading.tree)
        ids = [line.id for line in lines]
        parents = [line.parent_id for line in lines]
        times = [iso_time(line.timestamp) for line in lines]
        if "" in times:
            return False
        answers = [m.results() if m is not None and m.role == "tool" else [] for m in said]
        roles = [
            None if m is None else tree_role(m.role, len(answers[number])) for number, m in enumerate(said)
        ]
        quiet = [
            number
            for number, m in enumerate(said)
            if m is not None and m.role == "assistant" and m.is_quiet()
        ]
        shared = [number for number, results in enumerate(answers) if len(results) > 1]
        rows = range(len(lines))
        if shared:
            rows = _spread(answers, ids, parents, types, times, roles)
        if not reading.linker.extend(ids, parents, types, times, roles, [first + rows[n] for n in quiet]):  # type: ignore[arg-type]
            return False
        self._place(first, offset, found.ends, {number: len(answers[number]) for number in shared})
        for number, message in enumerate(said):
            if message is not None:
                self._note_message(first + rows[number], message, answers[number])
        if not _SIDE.isdisjoint(types):
            for number, line in enumerate(lines):
                if line.type in _SIDE:
                    self._note_side(
                        first + rows[number],
                        line.type,
                        times[rows[number]],
                        line.label,
                        line.target_id,
                        line.name,
                    )
        return True
