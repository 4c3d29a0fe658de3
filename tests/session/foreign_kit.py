"""Sessions of other agents for tests: every sample, always as a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from branchline import Session
from branchline.context import to_model
from branchline.entries import message_text
from branchline.errors import NotASession
from session.kit import clock
from support import CORPUS, SHARED

WRITABLE = ("oh-my-pi", "operator", "induscode", "zot", "piglet")
READ_ONLY = ("claude-code", "codex")


def samples(*programs: str) -> list[Path]:
    """The session files of these programs, damaged ones included; each once, wherever it lies."""
    found = {
        path.relative_to(root): path
        for root in (SHARED, CORPUS)
        for program in programs
        for path in (root / program).rglob("*")
        if path.suffix in (".jsonl", ".ndjson") and path.stat().st_size and path.name != "session_index.jsonl"
    }
    return sorted(found.values())


def named(path: Path) -> str:
    """A sample in a test's name."""
    return "-".join(path.parts[-3:])


def copied(path: Path, place: Path) -> Path:
    """A copy of a sample, in a folder of the same name; never the sample itself."""
    program = next(part for part in path.parts if part in (*WRITABLE, *READ_ONLY, "pi"))
    folder = place / program / path.parent.name
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(path, folder))


def opened(path: Path, place: Path, **options: object) -> Session:
    """A copy of a sample, open; the test is skipped where nothing in it is a session."""
    try:
        return Session.open(copied(path, place), clock=clock(), **options)  # type: ignore[arg-type]
    except NotASession as refusal:
        pytest.skip(f"not a session: {refusal}")


def told(session: Session, at: str | None = None) -> list[tuple[str, str]]:
    """Who says what to a model."""
    return [(message.role, message_text(message)) for message in to_model(session.context(at))]
