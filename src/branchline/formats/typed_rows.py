"""Typed rows of JSON lines: many decoded in one call, and the same rows from objects of unusual shape.

A format describes its lines as a msgspec struct whose fields all have defaults. :class:`TypedReader` decodes
lines into such rows in bulk. A line that does not fit is read again field by field: a value of the wrong type
is left out, everything else of the line is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from branchline.entries import json_codec
from branchline.formats.json_values import iso_time
from branchline.formats.lines import LineReader, Lines
from branchline.formats.log_index import LogIndex
from branchline.tree import ROOT

__all__ = ["LinkedReader", "ReplayReader", "RowPlace", "TypedReader", "row_from"]

RowT = TypeVar("RowT", bound=msgspec.Struct)
_MISFIT: Any = object()
_DECODERS: dict[type[Any], Callable[[memoryview], list[Any]]] = {}


class TypedReader(LineReader, Generic[RowT]):
    """Reads lines as rows of one type; a format derives from it and writes ``take_rows``."""

    row_type: ClassVar[type[Any]]
    begins_with_header = False

    def decode_rows(self, data: memoryview) -> Sequence[RowT]:
        found = _DECODERS.get(self.row_type)
        if found is None:
            found = _DECODERS[self.row_type] = msgspec.json.Decoder(self.row_type).decode_lines
        return found(data)

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        self.take_one(row_from(fields, self.row_type), line, offset)


class ReplayReader(TypedReader[RowT]):
    """Reads rows that name no parents, by replaying them: each is any number of entries, mostly none or one.

    A format derives from it, and writes :meth:`replay` and :meth:`are_regular`.
    """

    def __init__(self, reading: LogIndex) -> None:
        super().__init__(reading)
        self.tip = ROOT
        """The parent of the next entry."""
        self._times: list[str | float | None] = []  # of the entries of the rows that are taken now

    def replay(self, row: RowT, number: int, lines: Lines, index: int) -> None:
        """Take the row at this place among the lines, with its number in the file; calls :meth:`add`."""
        raise NotImplementedError

    def are_regular(self, rows: Sequence[RowT]) -> bool:
        """Whether rows are of the usual kinds, so that their objects need no further check."""
        raise NotImplementedError

    def take_rows(self, rows: Sequence[RowT], lines: Lines) -> bool:
        if not lines.alone and not self.are_regular(rows):
            return False
        tree = self.reading.tree
        keys, replay = tree.keys, self.replay
        first = before = len(keys)
        counts = []
        self._times = []
        for index, (number, row) in enumerate(enumerate(rows, lines.number)):
            replay(row, number, lines, index)
            after = len(keys)
            counts.append(after - before)
            before = after
        tree.extend_times(map(_time_text, self._times))
        self.locate(first, lines, counts)
        return True

    def add(
        self,
        key: str,
        type: str,  # noqa: A002
        time: str | float | None = "",
        role: str | None = None,
    ) -> int:
        """Add an entry behind the tip, and make it the tip. A key that is taken gets a number.

        A time in milliseconds is written as text when it is first needed.
        """
        tree = self.reading.tree
        name, count = key, 1
        while name in tree.positions:
            count += 1
            name = f"{key}#{count}"
        self._times.append(time)
        self.tip = tree.add(name, self.tip, type=type, time=None, role=role)
        return self.tip

    def move_to(self, position: int, key: str, time: str | float | None = "") -> None:
        """Go back to an entry, and record that in an entry of its own."""
        self.tip = position
        self.add(key, "leaf", time)
        self.tip = position

    def find_leaf(self) -> int:
        return self.tip


def _time_text(time: str | float | None) -> str:
    return time if isinstance(time, str) else iso_time(time)


class RowPlace(NamedTuple):
    """The place of a row in the tree, and its kind of entry."""

    id: str
    """"" if the row has none."""
    parent: str | msgspec.UnsetType | None
    """None for a root; UNSET if the row has none: it then follows the entry before it."""
    type: str
    time: str = ""
    role: str | None = None
    quiet: bool = False
    """Whether it is an answer without text."""


class LinkedReader(TypedReader[RowT]):
    """Reads rows that name their own id and that of their parent, one entry each.

    A format derives from it and writes :meth:`place`, and :meth:`note` for what it keeps beside the tree.
    """

    def place(self, row: RowT) -> RowPlace:
        """Where a row belongs; changes nothing."""
        raise NotImplementedError

    def note(self, row: RowT, position: int) -> None:
        """The row is in the tree, at this position."""

    def take_rows(self, rows: Sequence[RowT], lines: Lines) -> bool:
        places = list(map(self.place, rows))
        tree = self.reading.tree
        if not lines.alone and not all(one.id and one.parent is not msgspec.UNSET for one in places):
            return False
        ids, parents, types, times, roles, quiet = map(list, zip(*places, strict=True))
        if lines.alone and parents[0] is msgspec.UNSET:
            parents[0] = tree.keys[-1] if len(tree) else None
        first = len(tree)
        silent = [position for position, one in enumerate(quiet, first) if one]
        if not self.link(lines, ids, parents, types=types, times=times, roles=roles, quiet=silent):
            return False
        for position, row in enumerate(rows, first):
            self.note(row, position)
        return True

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        row = row_from(fields, self.row_type)
        if not self.place(row).id:
            self.note_not_an_entry("an object without an id", line, offset)
            self.gap = True  # what follows it names a parent that is not there
            return
        self.take_one(row, line, offset)


def row_from(fields: dict[str, Any], shape: type[RowT]) -> RowT:
    """The row in a JSON object, without the values that have the wrong type."""
    try:
        return json_codec.convert(fields, shape)
    except ValueError:
        pass
    values = {}
    for field in msgspec.structs.fields(shape):
        if field.encode_name in fields:
            value = _fitted(fields[field.encode_name], field.type)
            if value is not _MISFIT:
                values[field.name] = value
    return shape(**values)


def _fitted(value: Any, shape: Any) -> Any:
    """The value as this type, as much of it as fits; or the mark that nothing does."""
    try:
        return json_codec.convert(value, shape)
    except ValueError:
        pass
    for option in get_args(shape) if get_origin(shape) in (Union, UnionType) else (shape,):
        if isinstance(value, dict) and isinstance(option, type) and issubclass(option, msgspec.Struct):
            return row_from(value, option)
        if isinstance(value, list) and get_origin(option) in (list, tuple):
            item = get_args(option)[0]
            items = [found for one in value if (found := _fitted(one, item)) is not _MISFIT]
            return tuple(items) if get_origin(option) is tuple else items
    return _MISFIT
