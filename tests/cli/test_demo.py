"""``--demo``: every command on sessions that come with the package; one's own are not touched."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def run(run, world):
    """As always, but each call finds environment and directory as a new process would: --demo changes both."""

    def call(*arguments, **options):
        before = dict(os.environ)
        try:
            return run(*arguments, **options)
        finally:
            os.environ.clear()
            os.environ.update(before)
            os.chdir(world)

    return call


def test_without_sessions_the_demo_is_shown_and_said_to_be_one(run, tmp_path, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_INDEX", "off")  # the one thing that looking may write

    result = run()

    assert result.stdout.startswith("No sessions yet.")
    assert "here is the demo library" in result.stdout
    assert "Summer time" in result.stdout
    assert "no sessions found on this machine" in result.stderr
    assert not (tmp_path / "home").exists(), "looking writes nothing"


def test_the_home_of_the_person_is_out_of_sight(run, tmp_path):
    shown = run("--demo", "stats", "--by", "directory").stdout

    assert shown.splitlines()[1].startswith("~/tidewatch ")


def test_sessions_of_one_agent_are_listed_also_where_all_lie_in_one_folder(run):
    zot, own = run("--demo", "ls", "--agent", "zot"), run("--demo", "ls", "--agent", "branchline")

    assert [line.split("  ")[-1] for line in zot.stdout.splitlines()] == ["A tide curve in the terminal"]
    assert "7 of other agents" in zot.stderr
    assert "tide curve" not in own.stdout
    assert len(own.stdout.splitlines()) == 4


def test_programs_are_told_the_truth(run):
    assert '"sessions": []' in run("--json").stdout


def test_commands_work_on_a_copy(run, tmp_path):
    assert "Summer time" in run("--demo", "ls").stdout
    assert "[before the regex]" in run("--demo", "tree", "Parse the tide tables").stdout
    assert "harbour's" in run("--demo", "diff", "Summer time").stdout
    assert "8 sessions" in run("--demo", "stats").stdout
    assert "1 damaged" in run("--demo", "check", code=1).stderr
    assert "└─" in run("--demo", "forest").stdout
    assert sorted(os.listdir(tmp_path / "home")) == ["demo"]


def test_what_is_written_stays_in_the_copy_until_it_is_reset(run):
    run("--demo", "name", "Summer time", "Winter time")
    assert "Winter time" in run("--demo", "ls").stdout

    result = run("demo", "--reset")

    assert "Summer time" in result.stdout
    assert "branchline --demo tree" in result.stdout


def test_the_demo_as_data(run):
    import json

    result = json.loads(run("demo", "--json").stdout)

    assert result["schema"] == "branchline.demo/1"
    assert len(result["sessions"]) == 8
