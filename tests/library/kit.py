"""What the tests of the library share: directories full of short sessions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from branchline import Session, SessionLibrary
from branchline.clock import FixedClock
from branchline.stores import FilesStore
from session.kit import assistant, user

CWD = "/home/u/proj"
START = 1_767_225_600_000
DAY = 86_400_000


def clock(number: int = 0) -> FixedClock:
    """A clock of its own for each session: days and ids never meet."""
    return FixedClock(START + number * DAY, seed=number * 1_000)


def talk(
    place: Any, number: int = 0, *words: str, cwd: str = CWD, title: str | None = None, **options: Any
) -> Session:
    """A session of questions with answers; it began ``number`` days after the others."""
    home = {"store": place} if hasattr(place, "scan") else {"directory": place}
    session = Session.create(cwd, clock=clock(number), **home, **options)
    for text in words or (f"question {number}",):
        session.append_message(user(text))
        session.append_message(assistant(f"answer to {text}"))
    if title is not None:
        session.set_title(title)
    return session


def empty(place: Any, number: int = 0, **options: Any) -> Session:
    """A session that is a file, and in which nobody said anything."""
    home = {"store": place} if hasattr(place, "scan") else {"directory": place}
    return Session.create(CWD, clock=clock(number), persist="always", **home, **options)


def fill(directory: Path, count: int) -> SessionLibrary:
    """A library of sessions, the last the newest in every respect."""
    for number in range(count):
        with talk(directory, number) as session:
            path = session.file
        assert path is not None
        age(path, number)
    return SessionLibrary(directory, clock=clock(count))


def age(path: str | os.PathLike[str], number: int) -> None:
    """Let a file have changed this many days after the first."""
    moment = START / 1000 + number * DAY / 1000
    os.utime(path, (moment, moment))


def state(directory: str | os.PathLike[str]) -> dict[str, tuple[int, bytes | None]]:
    """Time and content of everything below a directory."""
    return {
        path: (os.lstat(path).st_mtime_ns, Path(path).read_bytes() if os.path.isfile(path) else None)
        for folder, folders, files in os.walk(directory)
        for name in [*folders, *files]
        for path in [os.path.join(folder, name)]
    }


class Watched(FilesStore):
    """A store that remembers which parts of which files were read."""

    def __init__(self, directory: Any) -> None:
        super().__init__(directory)
        self.reads: list[tuple[str, int, int]] = []

    def snapshot(self, key: str) -> Any:
        return _WatchedSnapshot(super().snapshot(key), key, self.reads)

    def open(self, key: str, **options: Any) -> Any:
        self.reads.append((key, 0, -1))
        return super().open(key, **options)


class _WatchedSnapshot:
    def __init__(self, inner: Any, key: str, reads: list[tuple[str, int, int]]) -> None:
        self.inner, self.key, self.reads = inner, key, reads

    def __enter__(self) -> Any:
        read = self.inner.__enter__()

        def watched(offset: int, size: int) -> Any:
            self.reads.append((self.key, offset, size))
            return read(offset, size)

        return watched

    def __exit__(self, *exception: object) -> None:
        self.inner.__exit__(*exception)
