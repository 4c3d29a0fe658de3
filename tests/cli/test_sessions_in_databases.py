"""``DATABASE --session ID`` and ``DATABASE#ID`` name the same session in every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from formats.database_kit import opencode_database


@pytest.mark.parametrize("command", ["show", "tree", "context", "inspect", "export"])
def test_a_session_of_a_database_is_named_by_an_option(command, run, world):
    path = world / "any.db"
    session_id = opencode_database(path)

    named = run(command, path, "--session", session_id)
    unknown = run(command, path, "--session", "other", code=1)

    assert named.stdout == run(command, f"{path}#{session_id}").stdout != ""
    assert "no session named 'other' in" in unknown.stderr


def test_the_option_without_a_database_is_the_id_of_any_session(run):
    path = Path.home() / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    session_id = opencode_database(path)

    named = run("show", "--session", session_id)

    assert named.stdout == run("show", f"{path}#{session_id}").stdout


def test_an_index_is_updated_beside_a_database_that_cannot_be_read(run):
    path = Path.home() / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    opencode_database(path)
    path.write_bytes(path.read_bytes()[:3000])

    assert "1 file could not be read; `branchline ls --all -v` shows the reasons" in run("index").stderr
