"""Looking at the sessions of other programs costs little more than looking at our own."""

from __future__ import annotations

import uuid

import pytest

from branchline import SessionLibrary, places
from branchline.formats import INDUSCODE, OPERATOR, PI
from formats.test_foreign_speed import best, talk, written
from formats.test_read_only_speed import as_claude_code, as_codex

CWD = "/p"
FILES = 300


def fill(home, agent, entries):
    """Many copies of one conversation where a program keeps them; gives their folder."""
    made = {
        "branchline": lambda: written(PI, entries),
        "operator": lambda: written(OPERATOR, entries),
        "induscode": lambda: written(INDUSCODE, entries),
        "claude-code": lambda: as_claude_code(entries),
        "codex": lambda: as_codex(entries),
    }[agent]()
    folder = {
        "branchline": places.session_directory(CWD, {}, str(home)),
        "operator": f"{home}/.operator/sessions",
        "induscode": INDUSCODE.home.directory(CWD, {}, str(home)),
        "claude-code": f"{home}/.claude/projects/-p",
        "codex": f"{home}/.codex/sessions/2026/09/02",
    }[agent]
    home.joinpath(folder).mkdir(parents=True)
    for number in range(FILES):
        key = uuid.UUID(int=number)
        name = {"codex": f"rollout-2026-09-02T10-00-00-{key}.jsonl", "induscode": f"s_{number:03d}_a.ndjson"}
        made_for = made.replace(b'"cwd": "/home/u/demo"', b'"cwd": "/p"').replace(
            b'"cwd":"/home/u/demo"', b'"cwd":"/p"'
        )
        home.joinpath(folder, name.get(agent, f"{key}.jsonl")).write_bytes(made_for)
    return folder


def look(home, agent, *, deep):
    found = SessionLibrary.everywhere(CWD, agents=[agent], environment={}, home=home).list(deep)
    assert len(found) == FILES, found
    return found


@pytest.mark.slow
def test_our_own_sessions_cost_little_more_among_all_programs_than_alone(tmp_path):
    folder = fill(tmp_path, "branchline", talk(20))

    alone = best(lambda: SessionLibrary(folder, cwd=CWD).list(deep=True), 5)
    among = best(lambda: SessionLibrary.everywhere(CWD, environment={}, home=tmp_path).list(deep=False), 5)

    assert among < 2 * alone


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["operator", "induscode", "claude-code", "codex"])
def test_sessions_of_other_programs_cost_little_more_than_ours(tmp_path, agent):
    """Of Codex a line is compared with a line: it has two and a half times as many for same text."""
    entries = talk(60)
    fill(tmp_path / "ours", "branchline", entries)
    fill(tmp_path / "theirs", agent, entries)
    more = as_codex(entries).count(b"\n") / len(entries) if agent == "codex" else 1

    ours = {
        deep: best(lambda deep=deep: look(tmp_path / "ours", "branchline", deep=deep), 3) for deep in (0, 1)
    }
    theirs = {deep: best(lambda deep=deep: look(tmp_path / "theirs", agent, deep=deep), 3) for deep in (0, 1)}

    assert theirs[False] < 4 * ours[False]
    assert theirs[True] < 2.5 * more * ours[True]
