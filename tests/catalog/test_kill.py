"""Several processes fill one catalog and some of them are killed: what is left answers like a fresh one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from branchline import SessionLibrary
from branchline.catalog import Catalog
from library.kit import fill

_CHILD = """
import sys
import branchline.catalog.record, branchline.library.text_index as text_index
from branchline import SessionLibrary
branchline.catalog.record._RACE_NS = 0
text_index._FILES = 2
library = SessionLibrary(sys.argv[1])
while True:
    library.list(deep=True)
    library.update_index()
    library.search("question")
    if sys.argv[2] == "once":
        break
"""


def dump() -> list[tuple[Any, ...]]:
    with Catalog.open() as catalog:
        run = catalog.connection.execute
        assert run("PRAGMA integrity_check").fetchone() == ("ok",)
        run("INSERT INTO text (text) VALUES ('integrity-check')")
        found = run(
            "SELECT file.path, doc.entry, doc.position, doc.on_path FROM text JOIN doc ON doc.id = text.rowid"
            " JOIN file ON file.id = doc.file WHERE text MATCH 'question'"
        ).fetchall()
        counted = run(
            "SELECT mark, total(counted) FROM doc GROUP BY mark HAVING total(counted) <> 1"
        ).fetchall()
        assert counted == []
        return sorted(found)


def start(library: SessionLibrary, how: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _CHILD, library.name, how])


def campaign(tmp_path: Path, *, processes: int, kills: int) -> None:
    library = fill(tmp_path / "sessions", 24)
    draw = random.Random(7)
    running = [start(library, "forever") for _ in range(processes)]
    path = sorted((tmp_path / "sessions").glob("*.jsonl"))
    try:
        for number in range(kills):
            with library.open(path[number % len(path)].stem) as session:  # type: ignore[union-attr]
                session.append_message({"role": "user", "content": f"one more question {number}"})
            if number % 7 == 0:
                time.sleep(draw.random() * 0.4)
            victim = draw.randrange(processes)
            running[victim].send_signal(signal.SIGKILL)
            running[victim].wait()
            running[victim] = start(library, "forever")
    finally:
        for one in running:
            one.kill()
            one.wait()
    assert start(library, "once").wait() == 0
    grown = dump()

    library.update_index(rebuild=True)

    assert grown == dump()
    assert len({row[0] for row in grown}) == 24


def test_processes_that_are_killed_leave_a_whole_catalog(tmp_path: Path) -> None:
    campaign(tmp_path, processes=2, kills=6)


@pytest.mark.slow
def test_two_hundred_kills_among_eight_processes_leave_a_whole_catalog(tmp_path: Path) -> None:
    campaign(tmp_path, processes=8, kills=200)
