"""The origin of a native line, stored in the line, so that its original bytes can be restored.

A line of another agent contains more than the record that was read from it. If writing the record again would
not produce the same bytes, the native line keeps them in its last field, which every reader ignores. A hash
of the line before that field detects changes to the entry; then the old bytes are not used. The header keeps
the bytes before the first entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from branchline.entries import Header, json_codec
from branchline.formats.extra_fields import FIELD

__all__ = ["HeaderOrigin", "Origin", "head_origin", "origin_of", "with_head_origin", "with_origin"]

_MARK = b',"' + FIELD.encode() + b'":{"from":'
_DIGEST = 6


class Origin(NamedTuple):
    """The origin of a native line."""

    line: bytes | None = None
    """The bytes of the original line; the first of ``parts`` entries has them."""
    after: bytes = b"\n"
    """The bytes after them, up to the next entry."""
    parts: int = 1
    """The number of entries in that line."""
    part: bool = False
    """Whether it is not the first of those."""
    bound: bool = False
    """Whether the line is valid only between its original neighbours: its parent cannot be read."""
    made: bool = False
    """Whether the conversion created the entry."""


class HeaderOrigin(NamedTuple):
    """The origin of a native header."""

    format: str
    current: bool
    """Whether the lines have the current version of their format."""
    head: bytes | None
    """The bytes before the first entry; None if only a path was converted."""


# -- lines ------------------------------------------------------------------------------------------------


def with_origin(line: bytes, origin: Origin) -> bytes:
    """Return a native line, with its newline, with its origin."""
    body = line.removesuffix(b"\n").removesuffix(b"}")
    fields: dict[str, Any] = {}
    if origin.made:
        fields["made"] = True
    if origin.part:
        fields["part"] = True
    if origin.line is not None:
        fields["line"] = _text(origin.line)
        if origin.after != b"\n":
            fields["after"] = _text(origin.after)
        if origin.parts > 1:
            fields["parts"] = origin.parts
        if origin.bound:
            fields["bound"] = True
    fields["hash"] = _digest(body)
    return body + _MARK + json_codec.dumps(fields) + b"}}\n"


def origin_of(line: bytes) -> Origin | None:
    """Return the origin of a native line; None without one, or if the line was changed."""
    body, mark, rest = line.rstrip().rpartition(_MARK)
    if not mark or not rest.endswith(b"}}"):
        return None
    try:
        fields = json_codec.loads(rest[:-2])
    except ValueError:
        return None
    if not isinstance(fields, dict) or fields.get("hash") != _digest(body):
        return None
    after = _bytes(fields.get("after"))
    parts = fields.get("parts")
    return Origin(
        line=_bytes(fields.get("line")),
        after=b"\n" if after is None else after,
        parts=parts if isinstance(parts, int) and parts > 0 else 1,
        part=fields.get("part") is True,
        bound=fields.get("bound") is True,
        made=fields.get("made") is True,
    )


def _digest(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=_DIGEST).hexdigest()


# -- headers ----------------------------------------------------------------------------------------------


def with_head_origin(header: Header, origin: HeaderOrigin) -> Header:
    """Return a native header with its origin."""
    fields: dict[str, Any] = {"format": origin.format}
    if not origin.current:
        fields["older"] = True
    if origin.head is not None:
        fields["head"] = _text(origin.head)
    metadata = {**(header.metadata or {}), FIELD: {"from": fields}}
    return msgspec.structs.replace(header, metadata=metadata)


def head_origin(header: Header | None) -> HeaderOrigin | None:
    """Return the origin of a native header, or None."""
    metadata: Mapping[str, Any] = (header.metadata if header is not None else None) or {}
    extra = metadata.get(FIELD)
    fields = extra.get("from") if isinstance(extra, dict) else None
    if not isinstance(fields, dict) or not isinstance(fields.get("format"), str):
        return None
    return HeaderOrigin(fields["format"], fields.get("older") is not True, _bytes(fields.get("head")))


# -- bytes in JSON ----------------------------------------------------------------------------------------


def _text(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # One character for each byte, not base64, so that scanners can find secrets in a session.
        return {"bytes": data.decode("latin-1")}


def _bytes(value: Any) -> bytes | None:
    match value:
        case str():
            return value.encode("utf-8", "surrogatepass")
        case {"bytes": str(text)}:
            try:
                return text.encode("latin-1")
            except UnicodeEncodeError:
                return None
        case _:
            return None
