r"""Replace secrets by their kind: ``[redacted:github-token]``.

:func:`redact` takes any text, :func:`redact_bytes` the lines of a session. Bytes outside secrets do not
change, even in damaged lines. JSON stays valid, because the replacement needs no escapes and a secret lies
within one string. Escapes cannot hide secrets: strings are searched after decoding. Fields that link entries
(``id``, ``parentId``, …) and base64 data, such as images, are never changed.

Redaction is idempotent: redacting the result again changes nothing.

With the :class:`~branchline.redaction.known.KnownValues` of a session, :func:`redact_known` and
:func:`redact_known_bytes` replace what was found once wherever else it stands.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import msgspec

from branchline.redaction.detector import (
    Reason,
    Secret,
    explain,
    find_secrets,
    has_own_form,
    may_begin,
    search,
    secret_kind_by_name,
)
from branchline.redaction.disguises import disguises, encoded_secrets, holds_encoded_text, merged
from branchline.redaction.known import KnownValues

__all__ = [
    "Hit",
    "Reason",
    "Redacted",
    "RedactedBytes",
    "RedactionCount",
    "count_by_kind",
    "explain",
    "has_own_form",
    "redact",
    "redact_bytes",
    "redact_known",
    "redact_known_bytes",
    "secrets_in",
]

Hit = Secret
"""A replaced secret: its kind, and its start and end in the original."""


class RedactionCount(msgspec.Struct, frozen=True):
    """The number of replaced secrets of one kind."""

    kind: str
    count: int


class Redacted(NamedTuple):
    """A redacted text, and the hits in order."""

    text: str
    hits: list[Hit]


class RedactedBytes(NamedTuple):
    """Redacted lines, and the hits in order."""

    data: bytes
    hits: list[Hit]


def redact(text: str) -> Redacted:
    """Replace every secret in a text."""
    return Redacted(*_redacted(text, find_secrets, _near))


def redact_bytes(data: bytes) -> RedactedBytes:
    """Replace every secret in the lines of a session."""
    return _redacted_bytes(data, _BY_RULES)


def redact_known(text: str, known: KnownValues) -> Redacted:
    """Replace known values in a text."""
    hits = known.find(text)
    return Redacted(_replaced(text, hits), hits)


def redact_known_bytes(data: bytes, known: KnownValues) -> RedactedBytes:
    """Replace known values in the lines of a session."""
    if not known:
        return RedactedBytes(data, [])
    return _redacted_bytes(data, _Search(known.suspects, known.find, lambda _name, _value: None))


def secrets_in(content: bytes | str, known: KnownValues) -> list[Hit]:
    """Return the secrets and the known values in lines of a session, or in a text, in order."""
    if isinstance(content, str):
        return merged([*find_secrets(content), *known.find(content)])
    return merged([*redact_bytes(content).hits, *redact_known_bytes(content, known).hits])


def _redacted_bytes(data: bytes, how: _Search) -> RedactedBytes:
    hits: list[Hit] = []
    pieces: list[bytes] = []
    kept = 0

    for start, line, suspects in _suspects(data, how):
        changed, found = _redacted(
            line,
            partial(_in_line, suspects=suspects, how=how),
            lambda line, _: _in_line(line, how.suspects(line), how),
        )
        if found:
            hits += _moved(found, start)
            pieces += (data[kept:start], changed.encode("latin-1"))
            kept = start + len(line)
    if not pieces:
        return RedactedBytes(data, [])
    return RedactedBytes(b"".join([*pieces, data[kept:]]), hits)


def count_by_kind(hits: Iterable[Hit]) -> list[RedactionCount]:
    """Return the number of hits of each kind."""
    counts = Counter(hit.kind for hit in hits)
    return [RedactionCount(kind, count) for kind, count in sorted(counts.items())]


_ROUNDS = 8  # replacing a secret can reveal another; only a contrived text needs more than two rounds
_WINDOW = 40_000
"""How far from a replacement a new secret can appear; no private key is longer."""


def _redacted(
    text: str, find: Callable[[str], list[Secret]], find_again: Callable[[str, list[Hit]], list[Secret]]
) -> tuple[str, list[Hit]]:
    """Replace secrets repeatedly until none is found."""
    hits: list[Hit] = []
    clean = text
    secrets = find(text)
    for _ in range(_ROUNDS):
        if not secrets:
            break
        hits = _merged(hits, secrets)
        clean = _replaced(text, hits)
        secrets = find_again(clean, hits)
    return clean, hits


def _near(text: str, hits: list[Hit]) -> list[Secret]:
    """Find secrets around the replacements of these hits."""
    windows: list[tuple[int, int]] = []
    shift = 0
    for hit in hits:
        mark = _placed(hit, shift)
        shift = _shift(hit, shift)
        start, end = max(0, mark.start - _WINDOW), min(len(text), mark.end + _WINDOW)
        if windows and start <= windows[-1][1]:
            start, _ = windows.pop()
        windows.append((start, end))
    # A match at the edge of a window may be part of something longer, and is too far from a mark to be new.
    return [
        Secret(start + first, start + last, kind)
        for start, end in windows
        for first, last, kind in find_secrets(text[start:end])
        if (first > 0 or start == 0) and (start + last < end or end == len(text))
    ]


def _merged(hits: list[Hit], secrets: list[Secret]) -> list[Hit]:
    """Merge hits of a later pass into those of the original text."""
    merged: list[Hit] = []
    number = shift = 0
    for start, stop, kind in secrets:
        end = stop
        # Hits that end before this secret stay; those that it covers or touches become part of it.
        while number < len(hits) and _placed(hits[number], shift).end <= start:
            merged.append(hits[number])
            shift = _shift(hits[number], shift)
            number += 1
        first = start - shift
        while number < len(hits) and _placed(hits[number], shift).start < end:
            end = max(end, _placed(hits[number], shift).end)
            first = min(first, hits[number].start)
            shift = _shift(hits[number], shift)
            number += 1
        merged.append(Hit(first, end - shift, kind))
    return merged + hits[number:]


def _mark(kind: str) -> str:
    return f"[redacted:{kind}]"


def _shift(hit: Hit, before: int) -> int:
    """Return how far the text after a hit moved."""
    return before + len(_mark(hit.kind)) - (hit.end - hit.start)


def _placed(hit: Hit, shift: int) -> Hit:
    """Return the place of a hit's mark in the text in which it and all hits before it are replaced."""
    start = hit.start + shift
    return Hit(start, start + len(_mark(hit.kind)), hit.kind)


def _replaced(text: str, hits: list[Hit]) -> str:
    pieces: list[str] = []
    end = 0
    for hit in hits:
        pieces += (text[end : hit.start], _mark(hit.kind))
        end = hit.end
    return "".join([*pieces, text[end:]])


# -- lines ------------------------------------------------------------------------------------------------

_CHUNK = 1 << 22
_ESCAPED = re.compile(r"\\u00(?!26|3[ceCE])[2-7]", re.ASCII)
"""An escaped character, which may be part of a secret. ``&``, ``<`` and ``>`` never identify a secret, and some
programs escape them everywhere."""


class _Search(NamedTuple):
    """How lines are searched: what may be a secret, which texts are, and which values are by their name."""

    suspects: Callable[[str], list[Secret]]
    find: Callable[[str], list[Secret]]
    kind_by_name: Callable[[str, str], str | None]


def _suspects(data: bytes, how: _Search) -> Iterator[tuple[int, str, list[Secret]]]:
    """Yield the lines that may contain a secret, each with its offset and suspects; one character is one byte."""
    offset = 0
    while offset < len(data):
        end = data.find(b"\n", offset + _CHUNK) + 1 or len(data)
        text = data[offset:end].decode("latin-1")
        place = 0
        suspects = how.suspects(text)
        starts = [first for first, _, _ in suspects]
        reach = [0, *accumulate((last for _, last, _ in suspects), max)]
        for first, last, _ in suspects:
            if last <= place:
                continue
            start = text.rfind("\n", place, max(first, place)) + 1 or place
            while start < last:
                place = text.find("\n", start) + 1 or len(text)
                line = text[start:place]
                before, behind = bisect_left(starts, start), bisect_left(starts, place)
                # Nothing that begins in another line is read into one of JSON, unless it is damaged.
                alone = line.startswith("{") and reach[before] <= start and reach[behind] <= place
                own = [*_moved(suspects[before:behind], -start)] if alone else how.suspects(line)
                yield offset + start, line, own
                start = place
        offset = end


def _suspects_in(text: str) -> list[Secret]:
    """Return the secrets in JSON, found without decoding strings, and escapes that may hide one (no kind)."""
    secrets, unsure = search(text)
    suspects = [*secrets, *(Secret(place, place + 1, "") for place in unsure)]
    suspects += (Secret(*escaped.span(), "") for escaped in _ESCAPED.finditer(text))
    suspects += (Secret(place, place + 1, "") for place in disguises(text, may_begin))
    suspects.sort()
    return suspects


_BY_RULES = _Search(_suspects_in, find_secrets, secret_kind_by_name)


_STRING = re.compile(r'"(?P<inside>[^"\\]*+(?:\\.[^"\\]*+)*+)(?:"(?P<key>[ \t]*+:)?|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(r"[][{}]")
_LINK = re.compile(r"(?!.*[Kk]ey)(?:\w*[a-z]I[Dd]s?|\w*_ids?|ids?|\w*[Uu]uid|parent\w*|leaf)", re.ASCII)
"""Names of fields with ids."""
_FREE = frozenset(
    {"arguments", "args", "details", "data", "metadata", "input", "params", "env", "headers", "options"}
)
"""Fields of tools and extensions, below which an ``id`` may be anything."""


def _in_line(line: str, suspects: list[Secret], how: _Search) -> list[Secret]:
    """Return the secrets in a line: inside its strings, and between them if the line is damaged.

    An unterminated string, as in a torn line, extends to the end of the line.
    """
    suspects = [*suspects, Secret(len(line), len(line), "")]
    secrets: list[Secret] = []
    key = name = ""
    outer: list[str] = []
    end = number = free = 0
    for string in _STRING.finditer(line):
        while suspects[number].start < end:
            number += 1
        start, stop = string.span("inside")
        if suspects[number].start < start:
            secrets += _between(line, end, start, how)
            while suspects[number].start < start:
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
        suspect = suspects[number].start < stop
        if string["key"] is not None:
            key = _decoded(string["inside"]).text
            name = key if suspect else ""
            if suspect:
                secrets += _moved(_in_string(string["inside"], "", how) or [], start)
        elif (suspect or name) and not (free == 0 and _LINK.fullmatch(key)):
            found = _in_string(string["inside"], name or key, how)
            if found is not None:
                inside = [*_moved(found, start)]
                secrets += inside
                while suspects[number].start < stop:
                    if not inside and suspects[number][:2] == (start, stop) and suspects[number].kind:
                        secrets.append(suspects[number])  # recognized by the text around the string
                    number += 1
    if suspects[-2:-1] and suspects[-2].start >= end:
        secrets += _between(line, end, len(line), how)
    secrets.sort()
    return secrets


_NAME_AND_QUOTE = re.compile(r'"(\w{1,40})"[ \t]{0,8}:[ \t]{0,8}"\Z', re.ASCII)


def _between(line: str, start: int, end: int, how: _Search) -> Iterator[Secret]:
    """Return the secrets outside strings; after a lost or stray quote, this is the inside of strings."""
    name = _NAME_AND_QUOTE.search(line, max(0, start - 64), start)
    if name is not None and _LINK.fullmatch(name[1]):
        return iter(())
    return _moved(how.find(line[start:end]), start)


def _moved(secrets: list[Secret], offset: int) -> Iterator[Secret]:
    return (Secret(offset + start, offset + end, kind) for start, end, kind in secrets)


# -- strings ----------------------------------------------------------------------------------------------

_DATA = re.compile(r"(?:data:[\w/+.;=-]{0,100},)?[0-9A-Za-z+/]{256,}+={0,2}", re.ASCII)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class _Decoded(NamedTuple):
    """A decoded JSON string, and where the text after each escape begins in it and in the JSON."""

    text: str
    ends: array[int]
    raw_ends: array[int]

    def raw(self, place: int) -> int:
        """Return the offset in the JSON of an offset in the text."""
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


def _in_string(raw: str, name: str, how: _Search) -> list[Secret] | None:
    """Return the secrets in a JSON string that is the value of this name; None for base64 data."""
    string = _decoded(raw)
    text = string.text
    kind = how.kind_by_name(name, text) if name else None
    if kind is None and _DATA.fullmatch(text):
        if not holds_encoded_text(text):
            return None
        secrets = [*encoded_secrets(text, how.find)]
    else:
        secrets = how.find(text)
    if kind is not None and [secret[:2] for secret in secrets] != [(0, len(text))]:
        secrets = [Secret(0, len(text), kind)]
    return [Secret(string.raw(start), string.raw(end), kind) for start, end, kind in secrets]
