"""Formats whose lines are derived from rows: native entries below a header that names the agent.

An agent that does not store lines, such as one with a database, gets its rows converted to the native format.
Values that are only passed through (texts, tool input and output) are copied as JSON without decoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from branchline.entries import Header, codec, json_codec
from branchline.formats.common.native_decoder import NativeFormatReader
from branchline.formats.common.native_reader import NativeReader
from branchline.formats.common.native_upgrade import CURRENT_VERSION
from branchline.formats.json_values import LAST_INSTANT
from branchline.formats.log_index import LogIndex

__all__ = [
    "DerivedFormatReader",
    "DerivedReader",
    "EntryLines",
    "RowDecoder",
    "begins",
    "instant",
    "is_nothing",
    "is_object",
    "is_string",
    "one_line",
]

_encoder = msgspec.json.Encoder()
_encode, _encode_line = _encoder.encode, _encoder.encode_lines
_QUOTE, _BRACE = b'"{'
_TOGETHER = 512  # rows decoded in one call
_T = TypeVar("_T", bound=msgspec.Struct)


def begins(name: str) -> bytes:
    """Return the bytes with which the derived lines of an agent begin."""
    return b'{"type":"session","version":%d,"agent":%b,' % (CURRENT_VERSION, _encode(name))


class DerivedReader(NativeReader):
    """Reads derived lines of one agent."""

    def __init__(self, name: str, index: LogIndex | None = None) -> None:
        super().__init__(LogIndex(name) if index is None else index)
        self._name = name

    def finish(self, tail: bytes) -> None:
        super().finish(tail)
        if self.reading.read_only is None:
            self.reading.read_only = f"sessions of {self._name} are read-only; fork one to continue it"


class DerivedFormatReader(NativeFormatReader[LogIndex]):
    """Reads derived lines."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begins = begins(name)

    def sniff(self, head: bytes, path: str) -> bool:
        del path
        return head.startswith(self._begins)

    def log_reader(self, path: str = "") -> NativeReader:
        del path
        return DerivedReader(self._name)


class EntryLines:
    """Encodes the lines of one session; each entry follows the last one by default."""

    def __init__(self, name: str) -> None:
        self._begins = begins(name)
        self.last: str | None = None
        """The id of the last conversation entry."""
        self._behind: tuple[str | None, str] | None = None  # the same, and the last side record after it

    def header(self, header: Header) -> bytes:
        """Return the first line."""
        fields = codec.encode_header(header)
        return self._begins + fields[fields.index(b'"id":') :]

    def message(self, entry_id: str, time: str, message: dict[str, Any]) -> bytes:
        return self.entry("message", entry_id, time, {"message": message})

    def entry(
        self,
        kind: str,
        entry_id: str,
        time: str,
        fields: dict[str, Any],
        *,
        parent: str | msgspec.UnsetType | None = msgspec.UNSET,
        is_side_record: bool = False,
    ) -> bytes:
        """Return one line; a side record does not become the parent of the next."""
        above = self.last if isinstance(parent, msgspec.UnsetType) else parent
        if not is_side_record:
            self.last = entry_id
        elif parent is msgspec.UNSET:
            if self._behind is not None and self._behind[0] == self.last:
                above = self._behind[1]  # chained, so that a path contains all of them
            self._behind = (self.last, entry_id)
        told = {"type": kind, "id": entry_id, "parentId": above, "timestamp": time, **fields}
        try:
            return _encode_line([told])
        except (UnicodeEncodeError, OverflowError):  # a lone surrogate, or a huge number
            return json_codec.dumps(_decoded(told)) + b"\n"

    def title(self, entry_id: str, time: str, title: str) -> bytes:
        return self.entry("session_info", entry_id, time, {"name": title}, is_side_record=True)

    def leaf(self, entry_id: str, time: str, target: str | None) -> bytes:
        """Return a leaf entry, which is needed if the leaf is not the last entry."""
        return self.entry("leaf", entry_id, time, {"targetId": target}, parent=target, is_side_record=True)


def _decoded(value: Any) -> Any:
    """Decode the raw JSON inside a value."""
    match value:
        case dict():
            return {name: _decoded(one) for name, one in value.items()}
        case list():
            return list(map(_decoded, value))
        case msgspec.Raw():
            return json_codec.loads(bytes(value))
        case _:
            return value


# -- values of a database, which may be anything ----------------------------------------------------------


def instant(*times: object) -> int:
    """Return the latest of these Unix milliseconds, ignoring invalid times; 0 if none is valid."""
    valid = [ms for ms in times if isinstance(ms, int | float) and 0 <= ms <= LAST_INSTANT]
    return int(max(valid, default=0))


def one_line(data: object) -> bytes:
    """Return JSON text from a database on one line; newlines can only be between its values."""
    if not isinstance(data, bytes):
        return b"" if data is None else str(data).encode("utf-8", "surrogatepass")
    return data.replace(b"\n", b" ") if b"\n" in data else data


def is_string(value: msgspec.Raw) -> bool:
    """Return whether raw JSON is a string."""
    view = memoryview(value)
    return view.nbytes > 0 and view[0] == _QUOTE


def is_object(value: msgspec.Raw) -> bool:
    """Return whether raw JSON is an object."""
    view = memoryview(value)
    return view.nbytes > 0 and view[0] == _BRACE


def is_nothing(value: msgspec.Raw) -> bool:
    """Return whether raw JSON is null or an empty string."""
    view = memoryview(value)
    return view.nbytes <= len(b"null") and bytes(view) in (b"null", b'""', b"")


class RowDecoder:
    """Decodes JSON objects into structs whose fields all have defaults, whatever the objects contain.

    A field of an unexpected type gets its default; only a value that is not a JSON object becomes None.
    """

    def __init__(self, kind: type[_T]) -> None:
        self._kind = kind
        decoder = msgspec.json.Decoder(kind)
        self._decode, self._decode_lines = decoder.decode, decoder.decode_lines

    def rows(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Yield rows whose last value is an object, each with that object decoded; decodes in batches."""
        waiting = iter(rows)
        while chunk := list(islice(waiting, _TOGETHER)):
            yield from zip(chunk, self._decoded([row[-1] for row in chunk]), strict=True)

    def _decoded(self, values: list[Any]) -> list[Any]:
        try:
            joined = b"\n".join(values)
            if joined.count(b"\n") != len(values) - 1:  # an object contains newlines too
                joined = b"\n".join(map(one_line, values))
            found = self._decode_lines(joined)
        except (msgspec.MsgspecError, ValueError, RecursionError, TypeError):
            found = []
        return found if len(found) == len(values) else [self(one_line(value)) for value in values]

    def __call__(self, data: bytes) -> Any:
        try:
            return self._decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
        fields = json_codec.loads_object(json_codec.bounded(data))
        return None if fields is None else _struct_from(self._kind, fields)


def _struct_from(kind: type[_T], fields: dict[str, Any]) -> _T:
    values = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name in fields:
            value = _value_from(field.type, fields[field.encode_name])
            if value is not msgspec.UNSET:
                values[field.name] = value
    return kind(**values)


def _value_from(kind: Any, value: Any) -> Any:
    """Return a value as this type; UNSET if it does not fit."""
    if kind is msgspec.Raw:
        return msgspec.Raw(json_codec.dumps(value))
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            return msgspec.UNSET
        inner = get_args(kind)[0]
        return tuple(_struct_from(inner, item) for item in value if isinstance(item, dict))
    if isinstance(value, dict):
        for option in get_args(kind) or (kind,):
            if isinstance(option, type) and issubclass(option, msgspec.Struct):
                return _struct_from(option, value)
    try:
        return msgspec.convert(value, kind)
    except (msgspec.MsgspecError, ValueError):
        return msgspec.UNSET
