"""The sessions of every format that can be written, for proofs that another program continues them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from branchline import Session
from branchline.formats import EntryLog
from formats.conversion_kit import read, samples
from support import SHARED, load

__all__ = ["WRITTEN", "opened", "sources"]

WRITTEN = (
    *("oh-my-pi", "operator", "induscode", "zot", "piglet", "claude-code"),
    *("codex", "qwen", "copilot", "opencode"),
)
"""The programs whose sessions can be written, besides pi."""


def sources(program: str) -> list[str]:
    """The addresses of all sessions of a program: those of the corpus and those of the sample sets at hand."""
    found = [str(path) for path in samples(program)]
    place = SHARED / program / "more"
    if (place / "expected.json").exists():
        for one in load(place / "expected.json"):
            session = one.get("session")
            found.append(f"{place / one['file']}#{session}" if session else str(place / one["file"]))
    return found


@contextmanager
def opened(address: str) -> Iterator[EntryLog]:
    """A session as it is in its file, without its neighbours; one of a database as the library opens it."""
    if "#" in address:
        with Session.open(address) as session:
            yield session.transcript
    else:
        yield read(Path(address).read_bytes(), name=address)
