"""Every interface lists the session that was used last first, and dates it by that, also after a copy."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.chat.services import Services
from branchline.clock import FixedClock, iso
from branchline.library.browser_source import LibrarySource
from branchline.library.pins import Pins
from branchline.mcp.history import History
from branchline.settings import Settings
from branchline.views.browser.source import Batch
from branchline.views.browser.state import BrowserState
from branchline.views.session_row import ELSEWHERE, SkippedFile
from branchline.views.spans import line_text
from cli.conftest import Run
from session.kit import assistant, user
from web.kit import Viewer

DAY = 86_400_000
TITLES = ["yesterday", "three days ago", "a month ago", "last year"]
AGES = ["1d", "3d", "1mo", "1y"]


@pytest.fixture(params=["read", "indexed"])
def project(world: Path, request: pytest.FixtureRequest) -> Path:
    """A project whose sessions were copied a moment ago, the oldest last."""
    now = round(time.time() * 1000)
    for number, (title, days) in enumerate(zip(TITLES, (1, 3, 31, 400), strict=True)):
        with Session.create(world, clock=FixedClock(now - days * DAY - 60_000, seed=number * 99)) as session:
            session.append_messages([user("hello"), assistant("hi")])
            session.set_title(title)
        assert session.file is not None
        os.utime(session.file, (now / 1000 - 40 + number, now / 1000 - 40 + number))
    if request.param == "indexed":
        SessionLibrary.everywhere().update_index()
    return world


def test_the_list_and_the_forest(run: Run, data, project: Path) -> None:
    lines = run("ls").stdout.splitlines()

    assert [line.split()[1] for line in lines] == AGES
    assert [line.split(None, 3)[3] for line in lines] == TITLES
    assert [row["title"] for row in data("ls", "--all")["sessions"]] == TITLES
    assert [row["title"] for row in data("browse", "--search", "")["sessions"]] == TITLES
    assert [line.split()[1] for line in run("forest").stdout.splitlines()] == AGES
    assert [row["id"] for row in data("ls", "--shallow")["sessions"]] == [
        row["id"] for row in reversed(data("ls")["sessions"])
    ]


def test_the_last_session_by_name_and_in_a_chat(run: Run, data, project: Path) -> None:
    newest = data("ls")["sessions"][0]

    assert data("inspect", "@last")["id"] == newest["id"]
    run("chat", "--continue", "--model", "offline:echo", stdin="go on\n")
    assert data("ls")["sessions"][0]["id"] == newest["id"]
    assert data("ls")["sessions"][0]["messages"] == 4
    assert data("ls")["sessions"][0]["last_activity_ms"] > time.time() * 1000 - 60_000


def test_the_browser(project: Path) -> None:
    pins = Pins(str(project / "pins.json"))
    state = BrowserState(LibrarySource.everywhere(), "here", pins, now=time.time)
    for batch in state.loaded.batches:
        state.loaded.take(batch)
    state.arrange()

    lines = [line_text(state.line(number, 100)) for number in range(len(state))]

    assert [item.row.title for item in state.items] == TITLES
    assert [line.split()[-1] for line in lines] == AGES
    state.period = "7 days"
    state.arrange()
    assert [item.row.title for item in state.items] == TITLES[:2]


def test_the_sessions_of_a_chat(project: Path) -> None:
    rows = Services(str(project), Settings()).sessions()

    assert [row.title for row in rows] == TITLES


def test_the_answers_for_other_agents(project: Path) -> None:
    answer = History(SessionLibrary.everywhere).sessions(limit=3, skip=1)

    assert [session.title for session in answer.sessions] == TITLES[1:]
    day = iso(round(time.time() * 1000) - 3 * DAY - 60_000)[:10]
    assert answer.sessions[0].changed[:10] == day


def test_the_viewer_and_its_mark_of_live_sessions(project: Path) -> None:
    viewer = Viewer(SessionLibrary.everywhere())

    rows = viewer.get("/api/sessions?").json["rows"]

    assert [row["title"] for row in rows] == TITLES
    assert not any(row["live"] for row in rows)
    with SessionLibrary.for_cwd(project).open(SessionLibrary.everywhere().latest().key) as session:
        session.append_messages([user("and now?"), assistant("now")])
    rows = Viewer(SessionLibrary.everywhere()).get("/api/sessions?").json["rows"]
    assert [row["live"] for row in rows] == [True, False, False, False]


# -- what a search that finds nothing says --------------------------------------------------------------------


def test_every_interface_says_what_a_search_without_matches_covered(data, run: Run, project: Path) -> None:
    nothing = "no matches in 4 sessions"
    pins = Pins(str(project / "pins.json"))
    state = BrowserState(LibrarySource.everywhere(), "here", pins, words="zzzqq", now=time.time)
    for batch in state.loaded.batches:
        state.loaded.take(batch)
    state.take_hits(state.source.search("here", state.query, limit=9))
    state.arrange()

    assert run("search", "zzzqq").stderr.splitlines()[0] == nothing
    assert data("search", "zzzqq")["notes"] == [nothing]
    assert [line_text(line).strip() for line in state.empty_lines()][:2] == [
        "No session matches zzzqq.",
        nothing,
    ]
    assert History(SessionLibrary.everywhere).search("zzzqq", limit=5).remarks == [nothing]
    assert viewer_notes("zzzqq") == [nothing]
    assert run("chat", "--model", "offline:echo", stdin="/find zzzqq\n").output.count(nothing) == 1


def viewer_notes(words: str) -> list[str]:
    answer = Viewer(SessionLibrary.everywhere()).get(f"/api/sessions?q={words}")
    return list(json.loads(answer.body)["notes"])


# -- what the browser counts ----------------------------------------------------------------------------------


def test_sessions_of_other_directories_are_not_counted_as_left_out(project: Path) -> None:
    pins = Pins(str(project / "pins.json"))
    state = BrowserState(LibrarySource.everywhere(), "here", pins, now=time.time)
    hidden = [SkippedFile(f"/elsewhere/{number}", ELSEWHERE) for number in range(154)]
    for batch in state.loaded.batches:
        state.loaded.take(batch)
    state.loaded.take(Batch((), hidden, 4, 4))
    state.arrange()

    assert line_text(state.counts_line(120)) == "4 sessions"
    state.loaded.take(Batch((), [SkippedFile("/here/x", "a stub: nothing was said in it")], 4, 4))
    assert line_text(state.counts_line(120)) == "4 sessions, 1 left out"
