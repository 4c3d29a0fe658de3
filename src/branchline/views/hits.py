"""The results of a full-text search: entries with snippets in which the matches are marked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import overload

import msgspec

from branchline.views.humanize import count
from branchline.views.session_row import SessionRow
from branchline.views.spans import Line, marked_line
from branchline.views.text import one_line, without_escapes

__all__ = ["Hit", "HitPlace", "Hits", "Snippet", "find_ranges", "make_snippet", "matches_all", "snippet_line"]

_BEFORE = 0.3  # share of a snippet before the first match
_MARKED = 64  # most matches per word in one text


class Snippet(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a text on one line; ``ranges`` are the start and end of its matches."""

    text: str
    ranges: tuple[tuple[int, int], ...] = ()


class HitPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A session that contains an entry that was found."""

    row: SessionRow
    entry: str
    on_path: bool


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that was found. ``places`` has all sessions that contain it, the shown one first."""

    row: SessionRow
    entry: str
    role: str
    snippet: Snippet
    on_path: bool
    """Whether the entry is on the active path of its session."""
    ms: int | None = None
    """When it was written, in Unix milliseconds."""
    tool: str = ""
    places: tuple[HitPlace, ...] = ()
    score: float = 0.0


class Hits(Sequence[Hit]):
    """The best hits, and how much was searched.

    ``total`` is the number of all hits; with ``at_least`` there may be more. ``notes`` are sentences about
    what was not searched, or searched without the index.
    """

    __slots__ = (
        "at_least",
        "counts",
        "hits",
        "is_complete",
        "notes",
        "parts_searched",
        "searched",
        "sessions",
        "took_ms",
        "total",
        "unindexed",
    )

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        total: int = 0,
        at_least: bool = False,
        sessions: int = 0,
        searched: int = 0,
        parts_searched: int | None = None,
        is_complete: bool = True,
        unindexed: int = 0,
        notes: Iterable[str] = (),
        took_ms: float = 0.0,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        self.hits = tuple(hits)
        self.total = total
        self.at_least = at_least
        self.sessions = sessions
        """The number of sessions in scope."""
        self.searched = searched
        """The number of sessions that were searched."""
        self.parts_searched = parts_searched
        """In how many sessions words were also looked for inside longer ones; None if that was not needed."""
        self.is_complete = is_complete
        """Whether the search was not cut short, by its time for example."""
        self.unindexed = unindexed
        """The number of sessions that are not indexed yet."""
        self.notes = tuple(notes)
        self.took_ms = took_ms
        self.counts: Mapping[str, int] = counts or {}
        """The number of hits of each chosen session, by ``row_name``; empty if none were chosen."""

    @property
    def coverage(self) -> str:
        """What was found in how many sessions: ``2 of 3 hits, 9 sessions searched``, ``no matches in …``."""
        everything = count(self.sessions, "session")
        if self.hits:
            more = " or more" if self.at_least else ""
            searched = count(self.searched, "session")
            if not self.is_complete:
                searched = f"{self.searched:,} of {everything}"
            return f"{len(self):,} of {self.total:,}{more} hits, {searched} searched"
        if self.is_complete:
            return f"no matches in {count(self.searched, 'session')}"
        return f"only {self.searched:,} of {everything} searched, no matches in these"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else is to be said of a search: where parts of words were looked for, and the notes."""
        parts = self.parts_searched
        if parts is None or parts >= self.searched:
            return self.notes
        searched = count(self.searched, "session")
        return (f"parts of words were looked for in {parts:,} of {searched}", *self.notes)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __repr__(self) -> str:
        return f"<Hits: {len(self)} of {self.total}{'+' if self.at_least else ''}>"


def find_ranges(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the ranges of words or phrases in a text, in order and without overlaps.

    As in the index, case and accents are ignored, and the tokens of a phrase may be separated by anything but
    letters and digits.
    """
    folded = _folded(text)
    found: list[tuple[int, int]] = []
    for word in words:
        pattern = _pattern_of(word)
        if pattern is None:
            continue
        for number, match in enumerate(pattern.finditer(folded)):
            if number >= _MARKED:
                break
            found.append(match.span())
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def matches_all(text: str, words: Sequence[str]) -> bool:
    """Return whether a text contains every word or phrase, as :func:`find_ranges` finds them."""
    folded = _folded(text)
    return all((pattern := _pattern_of(word)) is not None and pattern.search(folded) for word in words)


def make_snippet(text: str, ranges: Sequence[tuple[int, int]], size: int) -> Snippet:
    """Return a snippet of about ``size`` characters around the first match, on one line and filtered."""
    first, last = ranges[0] if ranges else (0, 0)
    start = max(0, first - int(size * _BEFORE))
    if start:  # start at the next word
        blank = text.find(" ", start, first)
        start = start if blank < 0 else blank + 1
    end = min(len(text), max(last, start + size))
    pieces: list[str] = ["…"] if start else []
    marks: list[tuple[int, int]] = []
    length = len(pieces)
    at = start
    for left, right in (*((a, min(b, end)) for a, b in ranges if start <= a < end), (end, end)):
        between = _flat(text[at:left])
        inside = _flat(text[left:right])
        pieces += (between, inside)
        length += len(between)
        if inside:
            marks.append((length, length + len(inside)))
        length += len(inside)
        at = right
    if end < len(text):
        pieces.append("…")
    return Snippet(text="".join(pieces), ranges=tuple(marks))


def snippet_line(snippet: Snippet) -> Line:
    return marked_line(snippet.text, snippet.ranges, "plain", "match")


def _flat(text: str) -> str:
    """Filter a piece of text, and collapse runs of white space."""
    text = without_escapes(text)
    if not text:
        return ""
    ends = (" " if text[:1].isspace() else "", " " if text[-1:].isspace() else "")
    words = one_line(" ".join(text.split()))
    return f"{ends[0]}{words}{ends[1]}" if words else " "


def _folded(text: str) -> str:
    """The text in lower case and without accents, with the same length."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    if lowered.isascii():
        return lowered
    return "".join(char if char < "\x80" else _base(char) for char in lowered)


def _base(char: str) -> str:
    """A letter without its accents; other characters unchanged."""
    parts = unicodedata.normalize("NFKD", char)
    return parts[0].lower() if len(parts) > 1 and all(map(unicodedata.combining, parts[1:])) else char


@lru_cache(maxsize=64)
def _pattern_of(word: str) -> re.Pattern[str] | None:
    tokens = re.findall(r"[^\W_]+", _folded(word))
    if not tokens:
        literal = word.strip()
        return re.compile(re.escape(literal)) if literal else None
    return re.compile(r"[\W_]*".join(map(re.escape, tokens)))
