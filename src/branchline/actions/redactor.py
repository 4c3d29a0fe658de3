"""Replace secrets and local names in exports, and apply the decisions of a reviewer."""

from __future__ import annotations

import getpass
import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from branchline.entries import Entry
    from branchline.formats import EntryLog
    from branchline.redaction import Hit

__all__ = ["LOCAL_NAMES", "Choices", "Redaction", "Redactor", "private_patterns"]

LITERAL = "literal"
HOME, EMAIL, USER, HOST = "home directory", "e-mail", "user name", "host name"
LOCAL_NAMES = frozenset({HOME, EMAIL, USER, HOST})
"""What a portable export masks; every other kind is a secret."""


class Redaction(msgspec.Struct, frozen=True, kw_only=True):
    """How many secrets of one kind were replaced."""

    kind: str
    count: int


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions of a reviewer about an export."""

    keep: frozenset[str] = frozenset()
    """Findings to keep, because they are not secrets."""
    literals: tuple[str, ...] = ()
    """Additional texts to replace wherever they occur."""


class Redactor:
    """Replaces secrets and counts them by kind; changes nothing if ``off``.

    ``portable`` also masks the home directory, the user name, the host name and e-mail addresses.
    """

    def __init__(self, *, off: bool = False, portable: bool = False, choices: Choices | None = None) -> None:
        self.off = off
        self.portable = portable
        self._counts: Counter[str] = Counter()
        self._choices = Choices() if choices is None else choices
        self._patterns = [*_literal_patterns(self._choices.literals)]
        self._patterns += private_patterns() if portable else []

    def text(self, text: str) -> str:
        """Redact the text of a document."""
        if not self.off:
            from branchline.redaction import redact  # noqa: PLC0415  compiling its patterns takes a while

            clean, hits = redact(text)
            if self._choices.keep and hits:
                encoded = text.encode("utf-8", "surrogatepass")
                return self.lines(encoded).decode("utf-8", "surrogatepass")
            self._counts.update(hit.kind for hit in hits)
            text = clean
        return self._named(text)

    def lines(self, data: bytes) -> bytes:
        """Redact complete lines of a session file."""
        if not self.off:
            from branchline.redaction import redact_bytes  # noqa: PLC0415

            clean, hits = redact_bytes(data)
            data = self._replaced(data, clean, hits)
        if self._patterns:
            data = self._named(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        return data

    def entries(self, transcript: EntryLog, positions: Sequence[int]) -> list[Entry]:
        """Return entries with secrets replaced in their lines, where they are complete."""
        entries = []
        for record, position in zip(transcript.entries(positions), positions, strict=True):
            line = transcript.raw(position)
            clean = self.lines(line)
            # An entry may have facts from other lines, so it is decoded again only if its line changed.
            entries.append(
                record
                if clean == line
                else transcript.format.reader.decode(clean, transcript.reading, position)
            )
        return entries

    def found(self) -> tuple[Redaction, ...] | None:
        if self.off and not self._patterns:
            return None
        return tuple(Redaction(kind=kind, count=number) for kind, number in sorted(self._counts.items()))

    def require_clean(self, parts: Iterable[bytes | str]) -> None:
        """Raise SecretsLeft if parts of a finished export (lines, or texts of a document) contain secrets."""
        if self.off:
            return
        from branchline.redaction import require_clean  # noqa: PLC0415

        keep = {value.encode("utf-8", "surrogatepass") for value in self._choices.keep}
        for part in parts:
            if isinstance(part, bytes):
                require_clean(part, lines=True, keep=keep)
            else:
                require_clean(part.encode("utf-8", "replace"), lines=False, keep=keep)

    def _replaced(self, data: bytes, clean: bytes, hits: list[Hit]) -> bytes:
        """Return the clean data; if a reviewer kept some hits, the data with only the others replaced."""
        keep = {value.encode("utf-8", "surrogatepass") for value in self._choices.keep}
        dropped = [hit for hit in hits if data[hit.start : hit.end] not in keep] if keep else hits
        self._counts.update(hit.kind for hit in dropped)
        if len(dropped) == len(hits):
            return clean
        parts: list[bytes] = []
        end = 0
        for start, stop, kind in dropped:
            parts += (data[end:start], f"[redacted:{kind}]".encode())
            end = stop
        return b"".join([*parts, data[end:]])

    def _named(self, text: str) -> str:
        for kind, pattern, replacement in self._patterns:
            text, number = pattern.subn(replacement, text)
            if number:
                self._counts[kind] += number
        return text


_Pattern = tuple[str, re.Pattern[str], str]


def _literal_patterns(literals: Iterable[str]) -> Iterable[_Pattern]:
    for literal in literals:
        forms = {literal, *(form[1:-1] for form in _json_forms(literal))}
        pattern = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True) if form)
        if pattern:
            yield LITERAL, re.compile(pattern), f"[redacted:{LITERAL}]"


def _json_forms(text: str) -> Iterable[str]:
    """Yield the ways to write a text in JSON, with and without escapes."""
    plain = msgspec.json.encode(text).decode()
    yield plain
    escaped = [
        letter if letter.isascii() else "".join(f"\\u{unit:04x}" for unit in _units(letter))
        for letter in plain
    ]
    yield "".join(escaped)
    yield plain.replace("/", "\\/")


def _units(letter: str) -> list[int]:
    data = letter.encode("utf-16-be")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


_COMMON_NAMES = frozenset(
    "root user admin dev test guest ubuntu debian localhost local home agent node".split()  # noqa: SIM905
)
_SHORTEST_NAME = 3
_EMAIL = r"(?<![\w.+-])(?!git@)[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63})+"


def private_patterns() -> list[_Pattern]:
    """Return patterns for home directories, the names of user and host, and e-mail addresses."""
    home = os.path.expanduser("~").rstrip("/")
    found: list[_Pattern] = []
    if len(home) > 1:
        found.append((HOME, re.compile(re.escape(home) + r"(?![\w.-])"), "~"))
    found.append((HOME, re.compile(r"(?<![\w.~])/(?:home|Users)/[\w.-]{1,64}(?=[/\"\\\s:,;')]|$)"), "~"))
    found.append((EMAIL, re.compile(_EMAIL), "[e-mail]"))
    names = {USER: _user(), HOST: platform.node().partition(".")[0]}
    for kind, name in names.items():
        if len(name) >= _SHORTEST_NAME and name.lower() not in _COMMON_NAMES:
            found.append((kind, re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])"), f"[{kind}]"))
    return found


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
