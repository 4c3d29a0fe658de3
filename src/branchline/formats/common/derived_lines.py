"""Lines that are derived from rows: a header that names the agent, and native entries below it.

Values that are only passed through (texts, tool input and output) are copied as JSON without decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from branchline.entries import Header, codec, json_codec
from branchline.formats.common.native_upgrade import CURRENT_VERSION
from branchline.formats.json_values import LAST_INSTANT

__all__ = ["EntryLines", "begins", "instant", "joined_lines", "one_line", "value_in"]

_TOGETHER = 256  # rows that are joined by one call
_Row = tuple[Any, ...]
_encoder = msgspec.json.Encoder()
_encode, _encode_line = _encoder.encode, _encoder.encode_lines


def begins(name: str) -> bytes:
    """Return the bytes with which the derived lines of an agent begin."""
    return b'{"type":"session","version":%d,"agent":%b,' % (CURRENT_VERSION, _encode(name))


def joined_lines(
    rows: Iterator[_Row], join: Callable[[Sequence[_Row]], bytes]
) -> Generator[bytes, None, int | None]:
    """Yield rows as lines, many joined by one call, up to the first that ``join`` refuses as unusual.

    Returns the number of rows before those with the unusual one; None if all were joined.
    """
    done = 0
    while chunk := list(islice(rows, _TOGETHER)):
        try:
            lines = join(chunk)
        except (TypeError, ValueError):
            return done
        yield lines
        done += len(chunk)
    return None


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


def value_in(data: bytes) -> Any:
    """Return a JSON value; None if it is damaged."""
    try:
        return json_codec.loads(data)
    except ValueError:
        return None
