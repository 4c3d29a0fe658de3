"""What the tests of the promises share: short conversations in any format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from branchline import Session
from branchline.entries import message_text
from session.kit import CWD, START, assistant, clock, user

FORMATS = ("branchline", "oh-my-pi", "operator", "induscode", "zot", "piglet")
"""Every format that is written here, by the name of its program."""


def talk(directory: Path, *texts: str, format: str = "branchline", seed: int = 0, **options: Any) -> Session:  # noqa: A002
    """A session of questions and answers in turn; each seed is a day later."""
    name = None if format == "branchline" else format
    cwd = options.pop("cwd", CWD)
    options = {"clock": clock(seed, START + seed * 86_400_000), **options}
    session = Session.create(cwd, directory=directory, format=name, **options)
    for number, text in enumerate(texts or ("question", "answer")):
        session.append_message(assistant(text) if number % 2 else user(text))
    return session


def texts(session: Session, leaf: str | None = None) -> list[str]:
    """The words of the messages that a model sees."""
    return [message_text(item.message) for item in session.context(leaf).messages]


def aged(path: str | os.PathLike[str] | None, days: float) -> None:
    """Let a file have changed this many days ago, counted from a fixed day."""
    assert path is not None
    moment = 1_700_000_000 - days * 86_400
    os.utime(path, (moment, moment))


def files(directory: Path) -> dict[str, bytes]:
    """Every file below a directory with its content, but for lock files, which are never removed."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }
