"""Replace secrets and local names in exports, and apply the decisions of a reviewer."""

from __future__ import annotations

import functools
import getpass
import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from branchline import _sha256

if TYPE_CHECKING:
    from branchline.entries import Entry
    from branchline.formats import EntryLog
    from branchline.redaction import Hit, KnownValues

__all__ = [
    "LOCAL_NAMES",
    "Choices",
    "FoundSecret",
    "Redaction",
    "Redactor",
    "SessionSecrets",
    "private_patterns",
]

_MOST_SESSIONS = 256

LITERAL = "literal"
HOME, EMAIL, USER, HOST = "home directory", "e-mail", "user name", "host name"
LOCAL_NAMES = frozenset({HOME, EMAIL, USER, HOST})
"""What a portable export masks; every other kind is a secret."""


class Redaction(msgspec.Struct, frozen=True, kw_only=True):
    """How many secrets of one kind were replaced."""

    kind: str
    count: int


class FoundSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that is left in a finished file."""

    kind: str
    value: str
    before: str = ""
    """The text before it."""
    after: str = ""


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions of a reviewer about an export."""

    keep: frozenset[str] = frozenset()
    """Findings to keep, because they are not secrets."""
    literals: tuple[str, ...] = ()
    """Additional texts to replace wherever they occur."""
    left: tuple[FoundSecret, ...] = ()
    """Secrets that a search of the finished file found, to replace as well."""


class SessionSecrets:
    """The secrets in sessions; a session is searched again only after it changed."""

    def __init__(self) -> None:
        self._known: dict[bytes, KnownValues] = {}

    def of(self, transcript: EntryLog) -> KnownValues:
        """Return what is secret in a session, wherever it stands."""
        digest = _sha256.sha256()
        for block in transcript.blocks():
            digest.update(block)
        name = digest.digest()
        known = self._known.pop(name, None)
        if known is None:
            redactor = Redactor()
            redactor.learn(transcript.blocks())
            known = redactor.known
        self._known[name] = known
        while len(self._known) > _MOST_SESSIONS:
            del self._known[next(iter(self._known))]
        return known


class Redactor:
    """Replaces secrets and counts them by kind; changes nothing if ``off``.

    A value that was found once is replaced wherever else it stands, in everything that this object redacts
    afterwards; :meth:`learn` finds values before anything is redacted. ``portable`` also masks the home
    directory, the user name, the host name and e-mail addresses.
    """

    def __init__(
        self,
        *,
        off: bool = False,
        portable: bool = False,
        choices: Choices | None = None,
        known: KnownValues | None = None,
        sessions: SessionSecrets | None = None,
    ) -> None:
        self.off = off
        self.portable = portable
        self._counts: Counter[str] = Counter()
        self._choices = Choices() if choices is None else choices
        self._patterns = [*_literal_patterns(self._choices.literals)]
        self._patterns += private_patterns() if portable else []
        self._known = known
        self._sessions = sessions

    @functools.cached_property
    def known(self) -> KnownValues:
        """The values that were found."""
        from branchline.redaction import KnownValues  # noqa: PLC0415  compiling its patterns takes a while

        known = KnownValues() if self._known is None else self._known
        for secret in self._choices.left:
            if not self._is_kept(secret.value):
                known.add(secret.value, secret.kind)
        return known

    def for_session(self, transcript: EntryLog) -> Redactor:
        """Return a redactor that also knows what is secret anywhere in this session."""
        sessions = SessionSecrets() if self._sessions is None else self._sessions
        return Redactor(known=sessions.of(transcript), sessions=sessions)

    @property
    def known_values(self) -> int:
        """How many values are known."""
        return 0 if self.off else len(self.known)

    def learn(self, blocks: Iterable[bytes]) -> None:
        """Find the secrets in lines of the session that will be redacted, in blocks of whole lines."""
        if self.off:
            return
        from branchline.redaction import redact_bytes  # noqa: PLC0415

        for block in blocks:
            self._learn(block, redact_bytes(block).hits)

    def text(self, text: str) -> str:
        """Redact the text of a document."""
        if not self.off:
            from branchline.redaction import redact, redact_known  # noqa: PLC0415

            clean, hits = redact(text)
            text = self._text_without(text, clean, hits)
            clean, hits = redact_known(text, self.known)
            text = self._text_without(text, clean, hits)
        return self._named(text)

    def lines(self, data: bytes) -> bytes:
        """Redact complete lines of a session file."""
        if not self.off:
            from branchline.redaction import redact_bytes  # noqa: PLC0415

            clean, hits = redact_bytes(data)
            self._learn(data, hits)
            data = self.known_in_lines(self._lines_without(data, clean, hits))
        if self._patterns:
            data = self._named(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        return data

    def known_in_lines(self, data: bytes) -> bytes:
        """Replace the values that are known by now in lines."""
        if self.off:
            return data
        from branchline.redaction import redact_known_bytes  # noqa: PLC0415

        clean, hits = redact_known_bytes(data, self.known)
        return self._lines_without(data, clean, hits)

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

    def left_in(self, parts: Iterable[bytes | str]) -> list[FoundSecret]:
        """Return what is still secret in parts of a finished export: lines, or texts made of them.

        A value that only the words around it make secret is none if the lines show it too: there each value
        is judged by its own name, while a text has names and values of others beside it.
        """
        if self.off:
            return []
        from branchline.redaction import has_own_form, secrets_in  # noqa: PLC0415

        left: dict[tuple[str, str], FoundSecret] = {}
        by_context: dict[tuple[str, str], FoundSecret] = {}
        lines = b""
        for part in parts:
            for start, end, kind in secrets_in(part, self.known):
                value = _as_text(part[start:end])
                if not self._is_kept(value):
                    before, after = part[max(0, start - _CONTEXT) : start], part[end : end + _CONTEXT]
                    found = FoundSecret(
                        kind=kind, value=value, before=_as_text(before), after=_as_text(after)
                    )
                    sure = isinstance(part, bytes) or has_own_form(kind) or value in self.known
                    (left if sure else by_context).setdefault((kind, value), found)
            lines = part if isinstance(part, bytes) else lines
            if by_context and lines:
                by_context = {name: one for name, one in by_context.items() if not _shows(lines, one.value)}
        return [*left.values(), *by_context.values()]

    def _learn(self, data: bytes, hits: Iterable[Hit]) -> None:
        for start, end, kind in hits:
            value = _as_text(data[start:end])
            if not self._is_kept(value):
                self.known.learn(value, kind)

    def _dropped(self, data: bytes | str, hits: list[Hit]) -> list[Hit]:
        """Return the hits that are replaced, and count them: all but those that a reviewer kept."""
        if self._choices.keep:
            hits = [hit for hit in hits if not self._is_kept(_as_text(data[hit.start : hit.end]))]
        self._counts.update(hit.kind for hit in hits)
        return hits

    def _text_without(self, text: str, clean: str, hits: list[Hit]) -> str:
        dropped = self._dropped(text, hits)
        return clean if len(dropped) == len(hits) else _replaced(text, dropped)

    def _lines_without(self, data: bytes, clean: bytes, hits: list[Hit]) -> bytes:
        dropped = self._dropped(data, hits)
        if len(dropped) == len(hits):
            return clean
        return _replaced(data.decode("latin-1"), dropped).encode("latin-1")

    @functools.cached_property
    def _kept(self) -> frozenset[str]:
        return frozenset(map(_canonical, self._choices.keep))

    def _is_kept(self, value: str) -> bool:
        """Return whether a reviewer kept this value, in whatever spelling."""
        if not self._kept:
            return False
        plain = _canonical(value)
        return plain in self._kept or any(
            plain in kept or (kept in plain and 2 * len(kept) >= len(plain))
            for kept in self._kept
            if len(kept) >= _SHORTEST_PART and len(plain) >= _SHORTEST_PART
        )

    def _named(self, text: str) -> str:
        for kind, pattern, replacement in self._patterns:
            text, number = pattern.subn(replacement, text)
            if number:
                self._counts[kind] += number
        return text


_CONTEXT = 28
_SHORTEST_PART = 8


def _replaced(text: str, hits: Iterable[Hit]) -> str:
    parts: list[str] = []
    end = 0
    for start, stop, kind in hits:
        parts += (text[end:start], f"[redacted:{kind}]")
        end = stop
    return "".join([*parts, text[end:]])


def _as_text(data: str | bytes) -> str:
    return data if isinstance(data, str) else data.decode("utf-8", "replace")


def _shows(lines: bytes, value: str) -> bool:
    from branchline.redaction.known import spellings_in_json  # noqa: PLC0415

    return any(each.encode("utf-8", "surrogatepass") in lines for each in {value, *spellings_in_json(value)})


def _canonical(value: str) -> str:
    """Return a value without its escapes and blanks, which depend on where it stands."""
    from branchline.redaction.known import without_escapes  # noqa: PLC0415

    return re.sub(r"[\s\\]+", "", without_escapes(value))


_Pattern = tuple[str, re.Pattern[str], str]


def _literal_patterns(literals: Iterable[str]) -> Iterable[_Pattern]:
    from branchline.redaction.known import spellings_in_json  # noqa: PLC0415

    for literal in literals:
        forms = {literal, *spellings_in_json(literal)}
        pattern = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True) if form)
        if pattern:
            yield LITERAL, re.compile(pattern), f"[redacted:{LITERAL}]"


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
