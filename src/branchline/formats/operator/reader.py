"""Operator's lines into a reading: a tree by ``parent_id``; the last line says where the session stands.

Every line is an entry, also moves, labels and names, and later entries hang from them. The name of a session
belongs to a branch; labels belong to the file. A message that holds several tool results becomes as many
entries, the last of which carries the id.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from branchline.context import ModelRef
from branchline.entries import Header, json_codec
from branchline.entries.skeleton import SalvagedIds
from branchline.formats.lines import LineReader, decode_chunk
from branchline.formats.operator.inherited_value import InheritedValue
from branchline.formats.operator.records import Result
from branchline.formats.operator.rows import (
    MessageFacts,
    OperatorRow,
    decode_lines,
    decode_shapes,
    message_facts,
    message_facts_shallow,
    row_problems,
    said_in,
)
from branchline.formats.operator.timestamps import are_times, instant, iso_time, iso_times
from branchline.formats.protocol import LabelState, LogIndex
from branchline.tree import ROOT, BackwardLinker, Kind

__all__ = ["OperatorReader", "OperatorReading"]

VERSION = 3
_SIDE = frozenset({"label", "session_info", "leaf"})
_NOTED = _SIDE | {"model_change"}
_MESSAGES = frozenset({"message"})
_FRAGMENT = re.compile(
    rb'\s*\{"id":"([^"\\]+)","timestamp":-?[0-9][0-9.eE+-]*,'
    rb'(?:"parent_id":(?:"([^"\\]+)"|null),)?"type":"[^"\\]*"'
)
_FILE_NAME = re.compile(
    r"[0-9T-]{26}_(([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl"
)


class OperatorReading(LogIndex):
    """A reading that also knows which tool result of a line an entry stands for."""

    def __init__(self) -> None:
        super().__init__("operator")
        self.linker = BackwardLinker(self.tree)
        self.tools: dict[int, str] = {}
        """For each tool result, the name of the tool."""
        self.numbers: dict[int, int] = {}
        """For each result that shares its line with others, which of them it is."""
        self.inner: set[int] = set()
        """Those among them that another one of the same line follows."""
        self.first_parts: dict[str, str] = {}
        """For the last entry of such a line, the first one."""
        self.models: InheritedValue[ModelRef] = InheritedValue(self.tree)
        """The models that were chosen: no answer names its own."""

    def result(self, position: int) -> Result | None:
        """Which tool result an entry stands for."""
        name = self.tools.get(position)
        return None if name is None else Result(self.numbers.get(position, 0), name)


class OperatorReader(LineReader):
    """Reads sessions of version 3; the path helps where the header is lost.

    ``shape_only`` is for lists of sessions: it leaves out the names of tools, which answers are quiet and, in
    all but forks, times.
    """

    format_name = "operator"
    markers = (b'{"id":"', b'{"type":"session"')

    def __init__(self, path: str = "", *, shape_only: bool = False) -> None:
        self._reading = OperatorReading()
        super().__init__(self._reading)
        self._path = path
        self._started = False
        self._calls: dict[str, str] = {}
        self._moves: dict[int, int | None] = {}
        self._titles: InheritedValue[str] = InheritedValue(self.reading.tree)
        self._shape_only = shape_only

    # -- the regular way: many lines at once ----------------------------------------------------------

    def take_regular(self, data: bytes, start: int, end: int) -> bool:
        if not self._started:
            return False
        found = decode_chunk(data, end, decode_shapes if self._shape_only else decode_lines, start=start)
        if found is None:
            return False
        lines: Sequence[OperatorRow] = found.values
        types: list[str] = [line.type for line in lines]
        moments = [line.timestamp for line in lines]
        said = [line.message for line in lines]
        kinds = set(types)
        if kinds != _MESSAGES:
            said = [line.message if line.type == "message" else None for line in lines]
        if not are_times(moments) or types.count("message") != len(said) - said.count(None):
            return False
        calls: dict[str, str] = {}
        looked = message_facts_shallow(said) if self._shape_only else message_facts(said, calls, self._calls)
        if looked.newest and instant(looked.newest) is None:
            return False
        ids = [line.id for line in lines]
        parents = [line.parent_id for line in lines]
        times = [""] * len(lines) if self._needs_no_times(looked) else iso_times(moments)
        roles, tools = looked.roles, looked.tools
        first = len(self.reading.tree)
        rows: Sequence[int] = range(len(lines))
        if tools and max(map(len, tools.values())) > 1:
            rows = _spread(tools, ids, parents, types, times, roles)
        quiet = [first + rows[number] for number in looked.quiet]
        if not self.reading.linker.extend(ids, parents, types, times, roles, quiet):
            return False
        self._calls |= calls
        self._place(first, found.ends, rows)
        self._note_spoken(looked.newest)
        for number, names in tools.items():
            self._note_tools(first + rows[number], names)
        if not _NOTED.isdisjoint(kinds):
            for row, line in zip(rows, lines, strict=True):
                if line.type == "model_change":
                    self._note_model(first + row, line.provider_id, line.model_id)
                elif line.type in _SIDE:
                    target = None if line.target_id is None else self._found(line.target_id, first + row)
                    self._note_side(first + row, line.type, line.label, line.target_id, target, line.name)
        return True

    def _needs_no_times(self, looked: MessageFacts) -> bool:
        """Whether nobody who lists sessions asks when these entries were made.

        In a fork it tells which came from the parent; where nobody said anything, how old the file is.
        """
        header = self.reading.header
        is_fork = header is not None and header.parent_session is not None
        return self._shape_only and not is_fork and looked.newest > 0

    def _place(self, first: int, ends: list[int], rows: Sequence[int]) -> None:
        """Say where the entries lie; those of one line lie in the same place."""
        offset = self.reading.consumed
        if isinstance(rows, range):
            self.add_block(first, offset, ends)
        else:
            self.add_lines(
                first, offset, [one - other for one, other in zip(rows, [-1, *rows], strict=False)], ends
            )

    # -- the careful way: one line at a time ----------------------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        kind, entry_id, parent = fields.get("type"), fields.get("id"), fields.get("parent_id")
        if kind == "session":
            self._take_header(fields, line, offset)
            return
        if not isinstance(kind, str):
            self.note_not_an_entry("an object without a type", line, offset)
            return
        self._start_without_header()
        if not isinstance(entry_id, str):
            self.gap = False
            self._note("no-id", "an entry without an id", line, offset)
            return
        for finding, what in row_problems(fields):
            self._note(finding, f"{entry_id}: {what}", line, offset)
        if parent is not None and not isinstance(parent, str):
            parent = f"{parent}"  # as text it may be somebody's id; else the link is guessed
        message = said_in(fields.get("message")) if kind == "message" else None
        looked = message_facts([message], self._calls, self._calls)
        role, tools = looked.roles[0], looked.tools.get(0, [])
        time = iso_time(fields.get("timestamp"))
        target_id = fields.get("target_id") if kind in _SIDE else None
        target = self._found(target_id, len(self.reading.tree)) if isinstance(target_id, str) else None
        for part in range(1, len(tools)):
            inner = f"{entry_id}.{part}"
            self.add(inner, parent, line, offset, type=kind, time=time, role=role)
            parent = inner
        quiet = bool(looked.quiet)
        position = self.add(entry_id, parent, line, offset, type=kind, time=time, role=role, quiet=quiet)
        self._note_spoken(looked.newest)
        if tools:
            self._note_tools(position, tools)
        elif kind == "model_change":
            self._note_model(position, fields.get("provider_id"), fields.get("model_id"))
        elif kind in _SIDE:
            label, name = fields.get("label"), fields.get("name")
            self._note_side(
                position,
                kind,
                label if isinstance(label, str) else None,
                target_id if target_id is None else str(target_id),
                target,
                name if isinstance(name, str) else None,
            )

    def salvage(self, data: bytes) -> SalvagedIds | None:
        found = _FRAGMENT.match(data)
        if found is None or not self._started:
            return None
        parent = None if found[2] is None else found[2].decode("utf-8", "replace")
        return SalvagedIds(found[1].decode("utf-8", "replace"), parent)

    def is_record(self, data: bytes) -> bool:
        try:
            fields = json_codec.loads(data)
        except ValueError:
            return False
        return isinstance(fields, dict) and (
            fields.get("type") == "session" or {"id", "timestamp", "type"} <= fields.keys()
        )

    def _take_header(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        self.gap = False
        session, version = fields.get("id"), fields.get("version")
        if self._started or not isinstance(session, str):
            what = "another header inside the file; ignored" if self._started else "a header without an id"
            self._note("extra-header", what, line, offset)
            return
        self._started = True
        cwd, parent = fields.get("cwd"), fields.get("parent_session")
        reading.read_only = None
        reading.version = version if isinstance(version, int) and not isinstance(version, bool) else VERSION
        reading.header = Header(
            id=session,
            version=reading.version,
            timestamp=iso_time(fields.get("timestamp")),
            cwd=cwd if isinstance(cwd, str) else "",
            parent_session=parent if isinstance(parent, str) else None,
        )
        reading.header_line, reading.header_end = line, offset + len(line)
        if reading.version > VERSION:
            reading.read_only = f"it is of version {version}, newer than {VERSION}"
            message = f"version {version} is newer than {VERSION}; opened read-only"
            self._note("newer-version", message, line, offset)

    def _start_without_header(self) -> None:
        if self._started:
            return
        self._started = True
        reading = self.reading
        reading.version = VERSION
        reading.header = _header_from_name(self._path)
        reading.read_only = "it has no header, and Operator would overwrite it"
        reading.add_finding("no-header", "the file has no header; opened read-only", line=1)

    # -- what is the same both ways -------------------------------------------------------------------

    def _found(self, entry_id: str, before: int) -> int | None:
        """The nearest entry before this position that carries the id."""
        found = self.reading.linker.latest_with_id(entry_id)
        return found if found is not None and found < before else None

    def _note_spoken(self, time: object) -> None:
        """A message was spoken: the newest one says when the session was last used."""
        moment = instant(time) or 0
        if moment > (self.reading.last_message_time or 0):
            self.reading.last_message_time = moment

    def _note_model(self, position: int, provider: object, model: object) -> None:
        chosen = ModelRef(
            provider=provider if isinstance(provider, str) else "", id=model if isinstance(model, str) else ""
        )
        self._reading.models.add(position, chosen)

    def _note_tools(self, position: int, tools: Sequence[str]) -> None:
        reading = self._reading
        if len(tools) == 1:
            reading.tools[position] = tools[0]
            return
        first = position - len(tools) + 1
        reading.tools.update(enumerate(tools, first))
        reading.inner.update(range(first, position))
        reading.first_parts[reading.tree.keys[position]] = reading.tree.keys[first]
        reading.numbers.update(zip(range(first, position + 1), range(len(tools)), strict=True))

    def _note_side(
        self,
        position: int,
        kind: str,
        label: str | None,
        target_id: str | None,
        target: int | None,
        name: str | None,
    ) -> None:
        reading = self.reading
        if kind == "session_info":
            if title := (name or "").strip():
                self._titles.add(position, title)
        elif kind == "leaf":
            self._moves[position] = ROOT if target_id is None else target
        if kind == "session_info" or target_id is None:
            return
        if target is None:
            span = reading.span(position)
            finding: Kind = "leaf-target" if kind == "leaf" else "label-target"
            message = f"the {kind} entry points at {target_id}, which is not above it"
            reading.add_finding(
                finding, message, line=reading.line_of(position), offset=span.offset, size=span.size
            )
        elif kind == "label" and label:
            reading.labels[reading.tree.keys[target]] = LabelState(label, reading.tree.times[position])
        elif kind == "label":
            reading.labels.pop(reading.tree.keys[target], None)

    def _note(self, kind: Kind, message: str, line: bytes, offset: int) -> None:
        self.reading.add_finding(kind, message, line=self.reading.lines, offset=offset, size=len(line))

    # -- the end --------------------------------------------------------------------------------------

    def finish(self, tail: bytes) -> None:
        super().finish(tail)
        reading = self.reading
        reading.title = self._titles.at(reading.leaf)
        if not self._started and (reading.consumed or tail):
            reading.read_only = "nothing in it can be read as a session"
            reading.add_tail_finding("no-header", "no header and no entry can be read")

    def find_leaf(self) -> int:
        """The last entry, or what it points at; what points nowhere or cannot be read is passed over."""
        tree = self.reading.tree
        position = len(tree) - 1
        while position >= 0:
            if position in tree.placeholders:
                position -= 1
                continue
            target = self._moves.get(position, position)
            if target is not None:
                while target in tree.placeholders:
                    target = tree.parents[target]
                return target
            position -= 1
        return ROOT


def _spread(
    tools: Mapping[int, Sequence[str]],
    ids: list[str],
    parents: list[str | None],
    types: list[str],
    times: list[str],
    roles: list[str | None],
) -> list[int]:
    """Make room for messages with several results; returns where the last entry of each line is now."""
    rows: list[int] = []
    row = 0
    for number in range(len(ids)):
        inner = [f"{ids[row]}.{part}" for part in range(1, len(tools.get(number, ())))]
        if inner:
            ids[row:row] = inner
            parents[row + 1 : row + 1] = inner
            types[row:row] = [types[row]] * len(inner)
            times[row:row] = [times[row]] * len(inner)
            roles[row:row] = [roles[row]] * len(inner)
        row += len(inner)
        rows.append(row)
        row += 1
    return rows


def _header_from_name(path: str) -> Header | None:
    """What the name of a file says about its session: the id, and in it the time."""
    found = _FILE_NAME.fullmatch(os.path.basename(path))
    if found is None:
        return None
    return Header(id=found[1], version=VERSION, timestamp=iso_time(int(found[2] + found[3], 16) / 1000))
