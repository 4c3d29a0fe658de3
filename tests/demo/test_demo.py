"""The demo library: real enough to look at, the same bytes each time, and never written to in the package."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import stat
import sys
from datetime import datetime
from pathlib import Path

import pytest

from branchline import demo, places
from branchline.library import SessionLibrary, build_forest
from branchline.redaction import redact_bytes
from branchline.session import Session
from branchline.tree import severity
from support import ROOT

SESSIONS = Path(demo.sessions_directory())
FILES = sorted(SESSIONS.glob("*.jsonl"))


@pytest.fixture(scope="module")
def rows():
    return {row.title: row for row in SessionLibrary(SESSIONS).list(deep=True)}


def test_the_script_writes_the_same_bytes_again(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    spec = importlib.util.spec_from_file_location("make_demo", ROOT / "scripts" / "make_demo.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    written = script.library()

    committed = {path.name: path.read_bytes() for path in SESSIONS.iterdir()}
    assert written == committed, "run `make demo` and commit what it writes"
    sys.modules.pop("demo_writing", None)


def test_it_is_small_and_tells_no_secret():
    assert sum(path.stat().st_size for path in SESSIONS.iterdir()) < 150_000
    for path in FILES:
        assert redact_bytes(path.read_bytes()).hits == []


def test_it_has_several_programs_over_several_days(rows):
    assert len(rows) == 8
    assert {row.format for row in rows.values()} == {"pi", "zot", "piglet", "claude-code", "oh-my-pi"}
    assert len({row.last_activity_ms // 86_400_000 for row in rows.values()}) == 5
    assert all(row.cwd == "/home/ada/tidewatch" and row.problem is None for row in rows.values())


def test_forks_hang_from_their_parents_also_across_programs(rows):
    forest = {item.row.title: item for item in build_forest(rows.values())}

    assert forest["Summer time"].parent == rows["Parse the tide tables"].key
    assert forest["Sparklines for the boat house"].parent == rows["A tide curve in the terminal"].key
    assert rows["A tide curve in the terminal"].format == "zot"
    assert all(item.note is None for item in forest.values())


def test_it_has_branches_labels_compactions_thinking_pictures_and_failures():
    labels, types, pictures, failures, thoughts, tips = set(), set(), 0, 0, 0, []
    for path in FILES:
        with Session.open(path) as session:
            labels |= set(session.labels.values())
            types |= set(session.index.types)
            data = path.read_bytes()
            pictures += data.count(b"image/png")
            thoughts += data.count(b'"thinking":')
            failures += data.count(b'"isError":true')
            tips.append(len(session.index.tip_positions()))

    assert {"before the regex", "harbour's zone", "decided"} <= labels
    assert {"compaction", "branch_summary", "model_change", "label", "session_info"} <= types
    assert pictures
    assert thoughts
    assert failures
    assert max(tips) > 1


def test_one_file_is_damaged_and_all_others_are_sound():
    damaged = []
    for path in FILES:
        with Session.open(path) as session:
            if any(severity(finding.kind) == "damage" for finding in session.findings):
                damaged.append(session.title)

    assert damaged == ["Release 0.1"]


# -- the copy ---------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "demo"


def digest() -> str:
    names = sorted(SESSIONS.iterdir())
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in names)).hexdigest()


def test_a_copy_is_private_complete_dated_and_at_home_in_a_directory_that_exists(home):
    made = demo.prepare(home)

    target = Path(places.session_directory(made.project, {"BRANCHLINE_HOME": made.home}))
    copies = sorted(target.iterdir())
    there, here = b"/home/ada/tidewatch", made.project.encode()
    assert [path.read_bytes() for path in copies] == [
        path.read_bytes().replace(there, here) for path in FILES
    ]
    for path in copies:
        with Session.open(path) as session:
            assert session.cwd == made.project
    assert {stat.S_IMODE(path.stat().st_mode) for path in copies} == {0o600}
    assert stat.S_IMODE(target.stat().st_mode) == 0o700
    newest = max(copies, key=lambda path: path.stat().st_mtime)
    assert b"Release 0.1" in newest.read_bytes()


@pytest.mark.parametrize("now", ["2026-03-06T12:00:00Z", "2026-11-15T07:00:00Z", "2024-02-29T23:59:59Z"])
def test_a_copy_made_now_ends_within_the_last_day_and_is_the_same_in_everything_but_its_times(tmp_path, now):
    moment = datetime.fromisoformat(now).timestamp()

    made = demo.prepare(tmp_path / "now", now=moment)
    then = demo.prepare(tmp_path / "then")

    listed = []
    for copy in (made, then):
        target = places.session_directory(copy.project, {"BRANCHLINE_HOME": copy.home})
        rows = SessionLibrary(target).list(deep=True).rows
        listed.append(
            {
                row.id: (row.title, row.messages, row.total_messages, row.findings, row.first_prompt)
                for row in rows
            }
        )
        forest = build_forest(rows)
        assert sum(item.depth for item in forest) == 2  # forks find their parents' new file names
        if copy is made:
            newest = max(row.modified_ms for row in rows)
            assert 0 <= moment * 1000 - newest < 86_400_000 + 600_000
            assert all(abs(row.modified_ms - row.last_activity_ms) < 3_600_000 for row in rows)
            assert {row.size for row in rows} == {path.stat().st_size for path in Path(target).iterdir()}
    assert listed[0] == listed[1]


def test_what_is_tried_stays_and_never_touches_the_package(home):
    before = digest()
    made = demo.prepare(home)
    target = places.session_directory(made.project, {"BRANCHLINE_HOME": made.home})
    library = SessionLibrary(target)
    library.set_title(library.find("Summer time").key, "Winter time")

    demo.prepare(home)

    assert library.find("Winter time")
    assert digest() == before
    demo.delete_copy(home)
    assert not home.exists()
    demo.prepare(home)
    assert library.find("Summer time")


def test_half_a_copy_is_made_again(home):
    made = demo.prepare(home)
    target = places.session_directory(made.project, {"BRANCHLINE_HOME": made.home})
    os.rename(target, f"{target}.new")

    demo.prepare(home)

    assert len(os.listdir(target)) == len(FILES)
    assert not os.path.exists(f"{target}.new")


def test_the_times_name_every_file():
    times = json.loads((SESSIONS / "times.json").read_text())

    assert sorted(times) == [path.name for path in FILES]
