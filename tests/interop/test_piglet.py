"""The real piglet opens and lists what we write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.clock import FixedClock
from branchline.errors import NotSupported
from branchline.formats import PIGLET
from interop.peers import GoPeer

CWD = "/home/u/project"
MIB = 1 << 20
LIMITS = PIGLET.limits
assert LIMITS is not None


def begun(directory: Path) -> Session:
    clock = FixedClock(1_794_700_000_000)  # whole seconds: every line has a time of the same length
    session = Session.create(CWD, directory=directory, format="piglet", persist="always", clock=clock)
    session.append_message("a question")
    return session


def look(piglet: GoPeer, session: Session) -> dict[str, Any]:
    assert session.file is not None
    return piglet.ask("look", path=session.file)


def longest(session: Session) -> int:
    assert session.file is not None
    return max(map(len, Path(session.file).read_bytes().splitlines(keepends=True)))


@pytest.mark.parametrize("limit", [MIB, 10 * MIB])
def test_the_limits_are_those_of_piglet(piglet: GoPeer, tmp_path: Path, limit: int):
    with begun(tmp_path) as session:
        session.append_message("x" * 1000)
        around = longest(session) - 1000

        session.append_message("x" * (limit - around))

        assert longest(session) == limit
        assert LIMITS.line_problem(limit) is None or limit > MIB
        listed = piglet.ask("list", directory=str(tmp_path))["listed"]
        assert bool(listed) == (limit == MIB)
        assert len(look(piglet, session)["messages"]) == 3


def test_what_piglet_could_not_open_is_refused_and_what_it_does_not_list_is_said(
    piglet: GoPeer, tmp_path: Path
):
    with begun(tmp_path) as session:
        with pytest.raises(NotSupported, match="more than 10 MiB"):
            session.append_message("x" * (10 * MIB))
        assert len(look(piglet, session)["messages"]) == 1

        session.append_message("x" * MIB)

        assert len(look(piglet, session)["messages"]) == 2
        assert not piglet.ask("list", directory=str(tmp_path))["listed"]
        assert "does not list" in (LIMITS.line_problem(longest(session)) or "")


def test_a_compaction_that_would_carry_too_much_is_refused_and_the_session_stays_readable(
    piglet: GoPeer, tmp_path: Path
):
    with begun(tmp_path) as session:
        first = session.append_message("x" * (6 * MIB))
        last = session.append_message("y" * (6 * MIB))

        with pytest.raises(NotSupported, match="more than 10 MiB"):
            session.append_compaction("in short", first)
        session.append_compaction("in short", last)

        assert len(look(piglet, session)["messages"]) == 2
