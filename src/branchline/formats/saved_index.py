"""The index of a log as bytes, so that a large file need not be read again to open it.

:func:`dump` writes the columns of the tree one after the other, each in the form that loads fastest, and
everything else as one MessagePack record. :func:`load` fills the index of a new reader from it. Columns are
converted to Python objects when the tree needs them. The bytes do not identify the file that they were made
from: the caller must check that they still match it.

Payloads are not saved, nor is a log with irregular links (duplicate ids, orphans, cycles).
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TypeVar

import msgspec

from branchline._version import __version__
from branchline.entries import Header, json_codec
from branchline.formats.lines import LineReader
from branchline.formats.log_index import LabelState, LineChunk, LogIndex
from branchline.formats.protocol import LogReader
from branchline.tree import Finding

__all__ = ["dump", "load"]

_VERSION = f"{__version__}/7/{sys.byteorder}"
"""Increase the number when a reader or this form changes: data saved by another version is ignored."""
_WORDS = 8  # number columns are aligned to this
_FEW = 16  # keys that are looked up before all keys are loaded
_T = TypeVar("_T")


class _Saved(msgspec.Struct, kw_only=True, array_like=True):
    """Everything but the columns."""

    version: str
    format: str
    state: bytes
    size: int
    sizes: tuple[int, ...]
    types: list[str]
    roles: list[str | None]
    last_readable: int
    placeholders: list[int]
    continuations: list[int]
    withheld: list[int]
    other_objects: list[int]
    header: Header | None
    header_size: int
    header_end: int
    file_version: int
    current_version: int
    labels: dict[str, LabelState]
    title: str | None
    leaf: int
    leaf_ambiguous: bool
    consumed: int
    lines: int
    prefix_recorded: bool
    mutable_prefix: int
    read_only: str | None
    last_message_time: int | float | None
    knows_cost: bool
    notes: list[Finding]
    end_notes: list[Finding]


_encode = msgspec.msgpack.Encoder().encode


@json_codec.build_once
def _decoder() -> msgspec.msgpack.Decoder[_Saved]:
    return msgspec.msgpack.Decoder(_Saved)


def dump(reader: LogReader[LogIndex]) -> bytes | None:
    """Return the state of a finished reader; None if it cannot be saved."""
    index = reader.reading
    if not isinstance(reader, LineReader) or reader.gap or index.unterminated or not index.linker.is_plain:
        return None
    tree = index.tree
    odd, blocks = tree.odd_parents(), index.blocks
    ends, shared = array("q"), array("q")
    for block in blocks:
        ends += block.ends
        if block.starts is not None and block.lines is not None:
            shared += block.starts + block.lines
    try:
        state = reader.saved_state()
        if state is None:
            return None
        (types, type_column), (roles, role_column) = _numbered(tree.types), _numbered(tree.roles)
        columns = (
            array("q", odd.keys()).tobytes(),
            array("q", odd.values()).tobytes(),
            array("q", sorted(tree.textless)).tobytes(),
            array("q", [number for block in blocks for number in _shape(block)]).tobytes(),
            ends.tobytes(),
            shared.tobytes(),
            type_column,
            role_column,
            _joined(tree.keys),
            _joined(tree.times),
        )
        record = _encode(
            _Saved(
                version=_VERSION,
                format=index.format,
                state=state,
                size=len(tree),
                sizes=tuple(map(len, columns)),
                types=types,
                roles=roles,
                last_readable=index.linker.last_readable,
                placeholders=sorted(tree.placeholders),
                continuations=sorted(tree.continuations),
                withheld=sorted(index.withheld),
                other_objects=index.other_objects,
                header=index.header,
                header_size=len(index.header_line),
                header_end=index.header_end,
                file_version=index.version,
                current_version=index.current_version,
                labels=index.labels,
                title=index.title,
                leaf=index.leaf,
                leaf_ambiguous=index.leaf_ambiguous,
                consumed=index.consumed,
                lines=index.lines,
                prefix_recorded=index.prefix_recorded,
                mutable_prefix=index.mutable_prefix,
                read_only=index.read_only,
                last_message_time=index.last_message_time,
                knows_cost=index.knows_cost,
                notes=index.notes,
                end_notes=index.end_notes,
            )
        )
    except (ValueError, OverflowError):
        # A line break in a name, a lone surrogate, a huge number, or more than 256 types.
        return None
    return b"".join((len(record).to_bytes(_WORDS, "little"), record, bytes(-len(record) % _WORDS), *columns))


def load(reader: LogReader[LogIndex], data: memoryview) -> bool:
    """Fill the index of a new reader; False, with nothing done, if another version saved these bytes.

    The index must be able to read its log: texts are not saved, but where they are.
    """
    if not isinstance(reader, LineReader):
        return False
    end = _WORDS + int.from_bytes(data[:_WORDS], "little")
    saved = _decoder().decode(data[_WORDS:end])
    index = reader.reading
    if saved.version != _VERSION or saved.format != index.format:
        return False
    cuts = list(accumulate(saved.sizes, initial=end + -end % _WORDS))
    odd, odd_parents, textless, blocks, ends, shared, *columns = (
        data[one:other] for one, other in pairwise(cuts)
    )
    tree = index.tree
    tree.restore(
        _Columns(saved, textless, *columns), dict(zip(_numbers(odd), _numbers(odd_parents), strict=True))
    )
    tree.placeholders.update(saved.placeholders)
    tree.continuations.update(saved.continuations)
    index.linker.restore(saved.last_readable)
    index.blocks = list(_chunks(_numbers(blocks), _numbers(ends), _numbers(shared)))
    index.withheld = set(saved.withheld)
    index.other_objects = saved.other_objects
    index.header, index.header_end = saved.header, saved.header_end
    if saved.header_size:
        index.header_line = index.read(saved.header_end - saved.header_size, saved.header_size)
    index.version, index.current_version = saved.file_version, saved.current_version
    index.labels, index.title = saved.labels, saved.title
    index.leaf, index.leaf_ambiguous = saved.leaf, saved.leaf_ambiguous
    index.consumed, index.lines = saved.consumed, saved.lines
    index.prefix_recorded, index.mutable_prefix = saved.prefix_recorded, saved.mutable_prefix
    index.read_only, index.last_message_time = saved.read_only, saved.last_message_time
    index.knows_cost = saved.knows_cost
    index.notes, index.end_notes = saved.notes, saved.end_notes
    reader.restore_state(saved.state)
    return True


class _Columns:
    """The columns of a saved tree."""

    def __init__(
        self,
        saved: _Saved,
        textless: memoryview,
        types: memoryview,
        roles: memoryview,
        keys: memoryview,
        times: memoryview,
    ) -> None:
        self._size = saved.size
        self._type_names, self._role_names = saved.types, saved.roles
        self._textless, self._types, self._roles = textless, types, roles
        self._keys, self._times = keys, times
        self._lookups = 0

    def __len__(self) -> int:
        return self._size

    def keys(self) -> list[str]:
        return _split(self._keys, self._size)

    def times(self) -> list[str]:
        return _split(self._times, self._size)

    def types(self) -> list[str]:
        return _named(self._types, self._type_names)

    def roles(self) -> list[str | None]:
        return _named(self._roles, self._role_names)

    def textless(self) -> set[int]:
        return set(_numbers(self._textless))

    def find(self, key: str) -> int | None:
        """Return the position of a key by searching the bytes, which is faster for the first few lookups."""
        self._lookups += 1
        if self._lookups > _FEW or "\n" in key:
            return None
        keys, wanted = bytes(self._keys), key.encode("utf-8", "surrogatepass")
        at = keys.rfind(b"\n" + wanted + b"\n")
        if at < 0:
            return 0 if keys.startswith(wanted + b"\n") else None
        return keys.count(b"\n", 0, at + 1)


def _numbered(values: Sequence[_T]) -> tuple[list[_T], bytes]:
    """Return the distinct values of a column, and one byte for each entry. Raises ValueError if too many."""
    names = list(dict.fromkeys(values))
    numbers = {name: place for place, name in enumerate(names)}
    return names, bytes(map(numbers.__getitem__, values))


def _named(column: memoryview, names: Sequence[_T]) -> list[_T]:
    """Return the values of a column. If nearly all are equal, only the others are decoded."""
    numbers = bytes(column)
    counts = [numbers.count(number) for number in range(len(names))]
    common = max(range(len(names)), key=counts.__getitem__, default=0)
    if 4 * sum(counts) > 5 * max(counts, default=0):
        return [names[number] for number in numbers]
    values = [names[common]] * len(numbers) if names else []
    for number, name in enumerate(names):
        at = -1
        while number != common and (at := numbers.find(number, at + 1)) >= 0:
            values[at] = name
    return values


def _shape(block: LineChunk) -> tuple[int, int, int, int, int]:
    """Return the numbers of a chunk, its number of entries, and whether lines hold several of them."""
    return block.first, block.offset, block.line, len(block.ends), int(block.starts is not None)


def _chunks(shapes: array[int], ends: array[int], shared: array[int]) -> Iterator[LineChunk]:
    numbers = iter(shapes)
    done = used = 0
    for first, offset, line, count, has_starts in zip(*[numbers] * 5, strict=True):
        own_ends = ends[done : done + count]
        done += count
        if has_starts:
            starts, lines = shared[used : used + count], shared[used + count : used + 2 * count]
            used += 2 * count
            yield LineChunk(first, offset, line, own_ends, starts, lines)
        else:
            yield LineChunk(first, offset, line, own_ends)


def _numbers(column: memoryview) -> array[int]:
    return array("q", bytes(column))


def _joined(names: Iterable[str]) -> bytes:
    """Return names, each followed by a line break. Raises ValueError if one cannot be encoded this way."""
    names = list(names)
    if not names:
        return b""
    text = "\n".join(names) + "\n"
    if text.count("\n") != len(names):
        raise ValueError("a name with a line break")
    return text.encode()


def _split(column: memoryview, size: int) -> list[str]:
    names = str(column, "utf-8").split("\n")
    del names[size:]
    return names
