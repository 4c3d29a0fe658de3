"""Typed rows of JSON lines: decoded in bulk, and the same rows from objects of unusual shape.

A format describes its lines as a msgspec struct whose fields all have defaults. :class:`TypedReader` decodes
lines into such rows in bulk. A line that does not fit is read again field by field: values of the wrong type
are dropped, everything else is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, count
from operator import sub
from types import UnionType
from typing import Any, ClassVar, Generic, TypeVar, Union, get_args, get_origin

import msgspec

from branchline.entries import json_codec
from branchline.formats.json_values import iso_times
from branchline.formats.lines import LineReader, Lines, holders
from branchline.formats.log_index import LogIndex
from branchline.tree import ROOT

__all__ = [
    "ChainColumns",
    "ChainReader",
    "LinkedReader",
    "ReplayReader",
    "RowPlace",
    "TypedReader",
    "row_from",
]

RowT = TypeVar("RowT", bound=msgspec.Struct)
_MISFIT: Any = object()
_DECODERS: dict[type[Any], Callable[[memoryview], list[Any]]] = {}


class TypedReader(LineReader, Generic[RowT]):
    """Reads lines as rows of one type; a format derives from it and implements ``take_rows``."""

    row_type: ClassVar[type[Any]]
    begins_with_header = False

    def __init__(self, reading: LogIndex) -> None:
        super().__init__(reading)
        self._repeats: dict[str, int] = {}  # how often keys were taken, of those that were taken twice

    def decode_rows(self, data: memoryview) -> Sequence[RowT]:
        found = _DECODERS.get(self.row_type)
        if found is None:
            with json_codec.BUILDING:
                found = _DECODERS[self.row_type] = msgspec.json.Decoder(self.row_type).decode_lines
        return found(data)

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        self.take_one(row_from(fields, self.row_type), line, offset)

    def free_key(self, key: str) -> str:
        """Return a key that is in use with a number appended."""
        positions, number = self.reading.tree.positions, self._repeats.get(key, 1)
        while (name := f"{key}#{(number := number + 1)}") in positions:
            pass
        self._repeats[key] = number
        return name


class ChainColumns:
    """The entries of some rows, as columns, because there is at least one for each row."""

    __slots__ = ("counts", "keys", "quiet", "roles", "times", "types")

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.types: list[str] = []
        self.times: list[str | float | None] = []
        """Times in milliseconds are converted to text when they are first needed."""
        self.roles: list[str | None] = []
        self.quiet: list[int] = []
        """Which of them are textless answers."""
        self.counts: list[int] = []
        """How many each row has."""

    def add(
        self,
        key: str,
        type: str,  # noqa: A002
        time: str | float | None = "",
        role: str | None = None,
    ) -> None:
        """Add an entry of the next row, whose count must follow."""
        self.keys.append(key)
        self.types.append(type)
        self.times.append(time)
        self.roles.append(role)


class ChainReader(TypedReader[RowT]):
    """Reads rows that follow each other: each becomes any number of entries, usually one.

    A format derives from it and implements :meth:`add_entries` and :meth:`are_regular`.
    """

    def add_entries(self, rows: Sequence[RowT], number: int, found: ChainColumns) -> None:
        """Add the entries of rows, of which the first is on the line with this number.

        A key in use gets a number appended.
        """
        raise NotImplementedError

    def are_regular(self, rows: Sequence[RowT]) -> bool:
        """Return whether rows are of the usual kinds, so that their objects need no further check."""
        raise NotImplementedError

    def take_rows(self, rows: Sequence[RowT], lines: Lines) -> bool:
        if not lines.alone and not self.are_regular(rows):
            return False
        found = ChainColumns()
        self.add_entries(rows, lines.number, found)
        keys = found.keys
        if keys:
            tree = self.reading.tree
            first = len(tree.keys)
            if not tree.register_keys(keys):
                for key in keys:
                    tree.register_keys([self.free_key(key) if key in tree.positions else key])
            quiet = map(first.__add__, found.quiet)
            tree.extend_columns(None, found.types, iso_times(found.times), found.roles, quiet)
            self.locate(first, lines, holders(found.counts))
        return True


class ReplayReader(TypedReader[RowT]):
    """Reads rows without parent links by replaying them: each becomes any number of entries, usually 0 or 1.

    A format derives from it and implements :meth:`replay` and :meth:`are_regular`.
    """

    def __init__(self, reading: LogIndex) -> None:
        super().__init__(reading)
        self.tip = ROOT
        """The parent of the next entry."""
        self.tree = reading.tree
        self._times: list[str | float | None] = []  # of the entries of the rows that are taken now
        self._odd_parents: dict[int, int] = {}  # of those that do not follow the entry before them
        self._relinked: dict[int, int] = {}  # the new parents of older entries

    def replay(self, row: RowT, lines: Lines, index: int) -> None:
        """Interpret the row of one of these lines; call :meth:`add` for each of its entries."""
        raise NotImplementedError

    def are_regular(self, rows: Sequence[RowT]) -> bool:
        """Return whether rows are of the usual kinds, so that their objects need no further check."""
        raise NotImplementedError

    def take_rows(self, rows: Sequence[RowT], lines: Lines) -> bool:
        if not lines.alone and not self.are_regular(rows):
            return False
        tree, replay = self.reading.tree, self.replay
        keys = tree.keys
        first = len(keys)
        sizes = [first]
        note_size = sizes.append
        self._times, self._odd_parents, self._relinked = [], {}, {}
        for index, row in enumerate(rows):
            replay(row, lines, index)
            note_size(len(keys))
        if not tree.register_pending_keys():
            for position in range(first, len(keys)):
                if tree.positions.setdefault(keys[position], position) != position:
                    keys[position] = self.free_key(keys[position])
                    tree.positions[keys[position]] = position
        tree.link(first, self._odd_parents)
        tree.relink_all(self._relinked)
        tree.extend_times(iso_times(self._times))
        self.locate(first, lines, holders(list(map(sub, sizes[1:], sizes))))
        return True

    def add(
        self,
        key: str,
        type: str,  # noqa: A002
        time: str | float | None = "",
        role: str | None = None,
    ) -> int:
        """Add an entry as a child of the tip and make it the tip. A key in use gets a number appended.

        A time in milliseconds is converted to text when it is first needed.
        """
        tree = self.tree  # filled here, and linked for all rows at once: half the cost of Tree.add
        keys = tree.keys
        position = len(keys)
        keys.append(key)
        tree.types.append(type)
        tree.roles.append(role)
        self._times.append(time)
        if self.tip != position - 1:
            self._odd_parents[position] = self.tip
        self.tip = position
        return position

    def parent_of(self, position: int) -> int:
        """The parent of an entry, of the rows that are taken now as well."""
        found = self._odd_parents.get(position)
        return self.reading.tree.parent_position(position) if found is None else found

    def move_to(self, position: int, key: str, time: str | float | None = "") -> None:
        """Go back to an entry, and record that in an entry of its own."""
        self.tip = position
        self.add(key, "leaf", time)
        self.tip = position

    def relink(self, position: int, parent: int) -> None:
        """Change the parent of an entry, of the rows that are taken now as well."""
        taken_before = len(self.tree.types) - len(self._times)
        (self._odd_parents if position >= taken_before else self._relinked)[position] = parent

    def find_leaf(self) -> int:
        return self.tip


RowPlace = tuple[str, str | msgspec.UnsetType | None, str, str, str | None, bool]
"""The place of a row in the tree, and its kind of entry. A plain tuple, because there is one for each row.

The id, "" if the row has none; the parent, None for a root, UNSET if the row names none and so follows the
previous entry; the type, the time and the role of the entry; whether it is a textless answer.
"""


class LinkedReader(TypedReader[RowT]):
    """Reads rows that name their own id and their parent's, one entry each.

    A format derives from it and implements :meth:`place`, and :meth:`note` for state beyond the tree.
    """

    def place(self, row: RowT) -> RowPlace:
        """Return the place of a row; must not change anything."""
        raise NotImplementedError

    def note(self, row: RowT, position: int) -> None:
        """Called when the row has been added to the tree at this position."""

    def take_rows(self, rows: Sequence[RowT], lines: Lines) -> bool:
        tree = self.reading.tree
        ids, parents, types, times, roles, quiet = map(list, zip(*map(self.place, rows), strict=True))
        if not lines.alone and ("" in ids or msgspec.UNSET in parents):
            return False
        if lines.alone and parents[0] is msgspec.UNSET:
            parents[0] = tree.keys[-1] if len(tree) else None
        first = len(tree)
        silent = list(compress(count(first), quiet))
        if not self.link(lines, ids, parents, types=types, times=times, roles=roles, quiet=silent):
            return False
        for position, row in enumerate(rows, first):
            self.note(row, position)
        return True

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        row = row_from(fields, self.row_type)
        if not self.place(row)[0]:
            self.note_not_an_entry("an object without an id", line, offset)
            self.gap = True  # the next row names a parent that does not exist
            return
        self.take_one(row, line, offset)


def row_from(fields: dict[str, Any], shape: type[RowT]) -> RowT:
    """Return the row for a JSON object, without values of the wrong type."""
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
    """Return as much of the value as fits the type, or the marker for nothing."""
    if shape is msgspec.Raw:
        return msgspec.Raw(json_codec.dumps(value))
    try:
        return json_codec.convert(value, shape)
    except ValueError:
        pass
    for option in get_args(shape) if get_origin(shape) in (Union, UnionType) else (shape,):
        if isinstance(option, type) and issubclass(option, msgspec.Struct):
            if isinstance(value, list) and option.__struct_config__.array_like:
                value = dict(zip(option.__struct_encode_fields__, value, strict=False))
            if isinstance(value, dict):
                return row_from(value, option)
        if isinstance(value, list) and get_origin(option) in (list, tuple):
            item = get_args(option)[0]
            items = [found for one in value if (found := _fitted(one, item)) is not _MISFIT]
            return tuple(items) if get_origin(option) is tuple else items
    return _MISFIT
