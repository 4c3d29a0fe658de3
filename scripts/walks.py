"""Count the walk of the data: which functions and files of the package one operation passes.

Each operation runs twice, and the second run is counted with ``sys.setprofile``: the first one imports
modules and fills caches. A change of file is a call into another file than that of the call before it.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import branchline
from branchline import Session, SessionLibrary

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "corpus"
PI = CORPUS / "pi" / "golden" / "g001.jsonl"
CLAUDE_CODE = CORPUS / "claude-code" / "found" / "side.jsonl"
SESSIONS, LISTED = 20, 2_000
_RACE_SECONDS = 2.5
"""A file that was just written is read again: the index trusts it a little later."""
_SOURCE = os.path.dirname(os.path.abspath(branchline.__file__)) + os.sep


class Walk(NamedTuple):
    """What a run passed. Calls of the same function count once as a function."""

    functions: int
    files: int
    changes: int
    calls: int


def walk(operation: Callable[[], object]) -> Walk:
    """Run an operation twice and count the second run."""
    operation()
    codes: set[types.CodeType] = set()
    order: list[str] = []

    def profile(frame: types.FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_SOURCE) and not code.co_name.startswith("<"):
            codes.add(code)
            order.append(code.co_filename)

    sys.setprofile(profile)
    try:
        operation()
    finally:
        sys.setprofile(None)
    changes = sum(one != other for one, other in itertools.pairwise(order))
    return Walk(len(codes), len({code.co_filename for code in codes}), changes, len(order))


def walks(directory: Path) -> dict[str, Walk]:
    """Return the walks of all operations; their files are made in an empty directory."""
    compact, spaced, claude = (directory / name for name in ("a.jsonl", "b.jsonl", "c.jsonl"))
    compact.write_bytes(PI.read_bytes())
    spaced.write_bytes(PI.read_bytes().replace(b'":', b'": '))
    claude.write_bytes(CLAUDE_CODE.read_bytes())
    found = {
        "open a pi session": walk(lambda: Session.open(compact).close()),
        "the same, blanks after colons": walk(lambda: Session.open(spaced).close()),
        "open a Claude Code session": walk(lambda: Session.open(claude).close()),
    }
    with Session.open(compact) as session:
        found["append a message"] = walk(lambda: session.append_message("hello"))
        page = directory / "page.html"
        found["export a page"] = walk(lambda: session.export(str(page), force=True))
    for name, count in (("search one hit", SESSIONS), ("list, index warm", LISTED)):
        store = directory / str(count)
        store.mkdir()
        for number in range(count):
            with Session.create("/work", directory=store, persist="always") as made:
                made.append_message("needle" if not number else f"straw {number}")
        time.sleep(_RACE_SECONDS)
        library = SessionLibrary(store)
        library.update_index()
        searched = name.startswith("search")
        found[name] = walk(
            lambda library=library, searched=searched: (
                library.search("needle") if searched else library.list(deep=True)
            )
        )
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        os.environ["BRANCHLINE_HOME"] = os.environ["XDG_CACHE_HOME"] = made
        sys.stdout.write(f"{'operation':32} functions  files  changes    calls\n")
        for name, one in walks(Path(made)).items():
            per_row = f"  {one.changes / LISTED:.1f} changes per row" if name.startswith("list") else ""
            counts = f"{one.functions:9,} {one.files:6,} {one.changes:8,} {one.calls:8,}"
            sys.stdout.write(f"{name:32} {counts}{per_row}\n")


if __name__ == "__main__":
    main()
