"""The sessions of every format that can be written, for proofs that another program continues them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from branchline import Session
from branchline.formats import EntryLog
from formats.conversion_kit import read, samples, session_files
from support import SHARED, load

__all__ = ["WRITTEN", "opened", "sources"]

WRITTEN = (
    *("oh-my-pi", "operator", "induscode", "zot", "piglet", "claude-code"),
    *("codex", "qwen", "copilot", "opencode"),
)
"""The programs whose sessions can be written, besides pi."""


def sources(program: str) -> list[str]:
    """The addresses of all sessions of a program: those of the corpus and those of the sample sets at hand."""
    found = {path.read_bytes(): str(path) for path in session_files(SHARED / program)}
    found |= {path.read_bytes(): str(path) for path in samples(program)}
    return [
        *found.values(),
        *(address for name in ("first", "more") for address in _stored(SHARED / program / name)),
    ]


def _stored(place: Path) -> Iterator[str]:
    """The addresses of the sessions of a database."""
    for database in sorted(place.glob("*.db")):
        known = load(place / "expected.json")
        ids = known[database.name] if isinstance(known, dict) else [one["session"] for one in known]
        yield from (f"{database}#{session}" for session in ids)


@contextmanager
def opened(address: str) -> Iterator[EntryLog]:
    """A session as it is in its file, without its neighbours; one of a database as the library opens it."""
    if "#" in address:
        with Session.open(address) as session:
            yield session.transcript
    else:
        yield read(Path(address).read_bytes(), name=address)
