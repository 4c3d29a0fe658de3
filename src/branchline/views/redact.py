r"""Credentials replaced by what they were: ``[redacted:github-token]``.

:func:`redact` takes any text, :func:`redact_bytes` the lines of a session. There every byte that belongs to
no credential stays as it is, damage included; lines stay lines and JSON stays JSON, because what is put in
needs no escape and what is taken out lies inside one string. Escapes of JSON hide nothing: strings are looked
at as a program would read them. The fields that make the tree (``id``, ``parentId``, …) and data in base64,
such as pictures, are never changed.

What comes out has nothing left to be found: redacting it again changes nothing.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from branchline.views.credentials import ANCHOR, Secret, assigned, find

__all__ = ["Found", "Redacted", "RedactedBytes", "redact", "redact_bytes"]


class Found(msgspec.Struct, frozen=True):
    """How many credentials of one kind were replaced."""

    kind: str
    count: int


class Redacted(NamedTuple):
    """A text without credentials, and what was taken out, by kind."""

    text: str
    found: list[Found]


class RedactedBytes(NamedTuple):
    """Lines without credentials, and what was taken out, by kind."""

    data: bytes
    found: list[Found]


_ROUNDS = 8  # taking one out can show another behind it; more than two rounds need a text made for it


def redact(text: str) -> Redacted:
    """The text with every credential in it replaced."""
    counts: Counter[str] = Counter()
    for _ in range(_ROUNDS):
        secrets = find(text)
        if not secrets:
            break
        text = _replaced(text, secrets, counts)
    return Redacted(text, _listed(counts))


def redact_bytes(data: bytes) -> RedactedBytes:
    """The lines of a session with every credential in them replaced."""
    counts: Counter[str] = Counter()
    pieces: list[bytes] = []
    kept = 0
    for start, line in _suspects(data):
        changed = _redacted_line(line, counts)
        if changed != line:
            pieces += (data[kept:start], changed.encode("latin-1"))
            kept = start + len(line)
    if not pieces:
        return RedactedBytes(data, [])
    return RedactedBytes(b"".join([*pieces, data[kept:]]), _listed(counts))


def _replaced(text: str, secrets: list[Secret], counts: Counter[str]) -> str:
    pieces: list[str] = []
    end = 0
    for secret in secrets:
        counts[secret.kind] += 1
        pieces += (text[end : secret.start], f"[redacted:{secret.kind}]")
        end = secret.end
    return "".join([*pieces, text[end:]])


def _listed(counts: Counter[str]) -> list[Found]:
    return [Found(kind, count) for kind, count in sorted(counts.items())]


# -- lines ------------------------------------------------------------------------------------------------

_CHUNK = 1 << 22
_SUSPECT = re.compile(rf"{ANCHOR.pattern}|\\u00(?!26|3[ceCE])[2-7]", re.ASCII)
"""Where a credential may begin in JSON: also an escape for a letter or a sign, which may be a part of one.
Only ``&``, ``<`` and ``>`` are no part of an anchor, and some programs escape these everywhere."""


def _suspects(data: bytes) -> Iterator[tuple[int, str]]:
    """The lines that may hold a credential, each with its offset; one character stands for one byte."""
    offset = 0
    while offset < len(data):
        end = data.find(b"\n", offset + _CHUNK) + 1 or len(data)
        text = data[offset:end].decode("latin-1")
        place = 0
        while suspect := _SUSPECT.search(text, place):
            first = text.rfind("\n", place, suspect.start()) + 1 or place
            place = text.find("\n", suspect.start()) + 1 or len(text)
            yield offset + first, text[first:place]
        offset = end


def _redacted_line(line: str, counts: Counter[str]) -> str:
    for _ in range(_ROUNDS):
        secrets = _in_line(line)
        if not secrets:
            break
        line = _replaced(line, secrets, counts)
    return line


_STRING = re.compile(r'"(?P<inside>[^"\\]*+(?:\\.[^"\\]*+)*+)(?:"(?P<key>[ \t]*+:)?|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(r"[][{}]")
_LINK = re.compile(r"(?!.*[Kk]ey)(?:\w*[a-z]I[Dd]s?|\w*_ids?|ids?|\w*[Uu]uid|parent\w*|leaf)", re.ASCII)
"""Names of fields that hold ids."""
_FREE = frozenset(
    {"arguments", "args", "details", "data", "metadata", "input", "params", "env", "headers", "options"}
)
"""What stands below these belongs to tools and extensions: an ``id`` there may be anything."""


def _in_line(line: str) -> list[Secret]:
    """The credentials in a line: inside its strings, and between them where the line is damaged.

    A string that is never closed, as in a torn line, goes to the end of the line.
    """
    suspects = [suspect.start() for suspect in _SUSPECT.finditer(line)]
    suspects.append(len(line))
    secrets: list[Secret] = []
    key = name = ""
    outer: list[str] = []
    end = number = free = 0
    for string in _STRING.finditer(line):
        while suspects[number] < end:
            number += 1
        start, stop = string.span("inside")
        if suspects[number] < start:
            secrets += _between(line, end, start)
            while suspects[number] < start:
                number += 1
        for bracket in _BRACKET.findall(line, end, start):
            name = name if bracket == "[" else ""
            if bracket in "{[":
                outer.append(key)
                free += key in _FREE
                key = key if bracket == "[" else ""
            elif outer:
                key = outer.pop()
                free -= key in _FREE
        end = string.end()
        suspect = suspects[number] < stop
        if string["key"] is not None:
            key = _decoded(string["inside"]).text
            name = key if suspect else ""
        elif free == 0 and _LINK.fullmatch(key):
            continue
        if suspect or name:
            secrets += _moved(_in_string(string["inside"], "" if string["key"] else name), start)
    if any(place >= end for place in suspects[-2:-1]):
        secrets += _between(line, end, len(line))
    return secrets


_NAME_AND_QUOTE = re.compile(r'"(\w{1,40})"[ \t]{0,8}:[ \t]{0,8}"\Z', re.ASCII)


def _between(line: str, start: int, end: int) -> Iterator[Secret]:
    """The credentials outside of strings, which is inside of them where damage took or left a lone quote."""
    name = _NAME_AND_QUOTE.search(line, max(0, start - 64), start)
    if name is not None and _LINK.fullmatch(name[1]):
        return iter(())
    return _moved(find(line[start:end]), start)


def _moved(secrets: list[Secret], offset: int) -> Iterator[Secret]:
    return (Secret(offset + start, offset + end, kind) for start, end, kind in secrets)


# -- strings ----------------------------------------------------------------------------------------------

_DATA = re.compile(r"(?:data:[\w/+.;=-]{0,100},)?[0-9A-Za-z+/]{256,}+={0,2}", re.ASCII)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class _Decoded(NamedTuple):
    """A JSON string as a program reads it, and the way back: where the text behind each escape begins."""

    text: str
    ends: array[int]
    raw_ends: array[int]

    def raw(self, place: int) -> int:
        """Where a place in the text is in the JSON."""
        before = bisect_right(self.ends, place) - 1
        return place if before < 0 else self.raw_ends[before] + place - self.ends[before]


def _decoded(raw: str) -> _Decoded:
    ends, raw_ends = array("q"), array("q")
    if "\\" not in raw:
        return _Decoded(raw, ends, raw_ends)
    pieces: list[str] = []
    size = end = 0
    for escape in _ESCAPE.finditer(raw):
        digits, sign = escape.groups()
        piece = raw[end : escape.start()]
        end = escape.end()
        size += len(piece) + 1
        pieces += (piece, _SHORT.get(sign, sign) if digits is None else chr(int(digits, 16)))
        ends.append(size)
        raw_ends.append(end)
    pieces.append(raw[end:])
    return _Decoded("".join(pieces), ends, raw_ends)


def _in_string(raw: str, name: str) -> list[Secret]:
    """The credentials inside a JSON string, which stands under this name if that may name a credential."""
    string = _decoded(raw)
    text = string.text
    kind = assigned(name, text) if name else None
    if kind is None and _DATA.fullmatch(text):
        return []
    secrets = find(text)
    if kind is not None and [secret[:2] for secret in secrets] != [(0, len(text))]:
        secrets = [Secret(0, len(text), kind)]
    return [Secret(string.raw(start), string.raw(end), kind) for start, end, kind in secrets]
