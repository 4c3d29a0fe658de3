"""Where a secret stands in a session: in which entry, whose, and when it was written."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

import msgspec

from branchline.actions.redactor import FoundSecret
from branchline.clock import local_time
from branchline.redaction.known import without_escapes
from branchline.session import Session

__all__ = ["SecretFinding", "entry_finder", "facts_of", "located", "place_of"]

_NO_LETTERS = re.compile(r"[\W_]+", re.ASCII)


class SecretFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A secret or a local name, with all its occurrences."""

    kind: str
    value: str
    """The text in the session file."""
    count: int
    before: str
    """The text before its first occurrence."""
    after: str
    entry: str | None
    """The entry of its first occurrence, if it is in one."""
    role: str | None = None
    """The role of that entry."""
    time: str | None = None
    """When that entry was written."""
    left: bool = False
    """It was found in the finished file, after all other findings were replaced."""


def place_of(finding: SecretFinding) -> str:
    """Return where a finding stands, for a message."""
    if finding.entry is None:
        return "the text around the entries"
    role = f", {finding.role}" if finding.role else ""
    time = f", {local_time(finding.time)}" if finding.time else ""
    return f"entry {finding.entry}{role}{time}"


def located(session: Session, left: Iterable[FoundSecret]) -> tuple[SecretFinding, ...]:
    """Return secrets that are left in an export, with the entries that they come from."""
    wanted: dict[str, FoundSecret] = {}
    for one in left:
        known = wanted.setdefault(_letters(one.value), one)
        if len(one.value) < len(known.value):  # without the escapes of another spelling
            wanted[_letters(one.value)] = one
    places: dict[str, int] = {}
    for position, text in _texts(session):
        if len(places) == len(wanted):
            break
        letters = _letters(text)
        for value in wanted:
            if value not in places and value in letters:
                places[value] = position
    return tuple(_finding(session, one, places.get(value)) for value, one in wanted.items())


def _texts(session: Session) -> Iterator[tuple[int, str]]:
    transcript = session.transcript
    for position in range(len(transcript.tree)):
        yield position, transcript.raw(position).decode("utf-8", "replace")


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", without_escapes(text))


def _finding(session: Session, one: FoundSecret, position: int | None) -> SecretFinding:
    entry = None if position is None else session.index.keys[position]
    role, time = facts_of(session, entry)
    return SecretFinding(
        kind=one.kind,
        value=one.value,
        count=1,
        before=one.before,
        after=one.after,
        entry=entry,
        role=role,
        time=time,
        left=True,
    )


def entry_finder(session: Session) -> Callable[[int], str | None]:
    """Return a function that names the entry whose line holds an offset of the session's file."""
    transcript = session.transcript
    spans = sorted((*transcript.reading.span(position), position) for position in range(len(transcript.tree)))
    starts = [span[0] for span in spans]

    def entry_at(offset: int) -> str | None:
        number = bisect_right(starts, offset) - 1
        if number < 0 or offset >= spans[number][0] + spans[number][1]:
            return None
        return transcript.tree.keys[spans[number][2]]

    return entry_at


def facts_of(session: Session, entry: str | None) -> tuple[str | None, str | None]:
    """Return the role and the time of an entry."""
    if entry is None or entry not in session.transcript.tree:
        return None, None
    tree = session.transcript.tree
    position = tree.positions[entry]
    return tree.roles[position] or tree.types[position] or None, tree.times[position] or None
