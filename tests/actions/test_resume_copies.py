"""An agent that deletes resumed sessions is started only after the session was copied."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from branchline import Session
from branchline.actions import resume
from branchline.cli.app import cli
from support import CORPUS


@pytest.fixture
def gemini(tmp_path, monkeypatch) -> Path:
    """A home with a session of Gemini CLI, and a stand-in program that deletes it."""
    home = tmp_path / "person"
    shutil.copytree(CORPUS / "gemini" / "tmp", home / ".gemini" / "tmp")
    (session,) = (home / ".gemini" / "tmp").rglob("session-*.jsonl")
    program = tmp_path / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nrm '{session}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "ours"))
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return session


def test_a_copy_of_the_whole_session_is_kept_before_the_program_deletes_it(gemini, tmp_path):
    with Session.open(gemini) as session:
        plan = resume.plan_session(session, cwd=tmp_path)
        said = [message.role for message in session.context().messages]

    code = resume.continue_session(plan, str(tmp_path))

    assert (code, gemini.exists()) == (0, False)
    (copy,) = (tmp_path / "ours").rglob("*.jsonl")
    with Session.open(copy) as kept:
        assert [message.role for message in kept.context().messages] == said
        assert kept.title == "Counting and verses"


def test_the_command_is_shown_with_a_warning(gemini):
    result = CliRunner().invoke(cli, ["resume", str(gemini), "--show"])

    assert "gemini --resume 9e313111-3333-4a6b-9c3d-000000000003" in result.stdout
    assert "warning: Gemini CLI deletes a session that was resumed" in result.stderr
    assert "`branchline archive 9e313111-3333-4a6b-9c3d-000000000003` keeps a copy" in result.stderr
    assert gemini.exists()


def test_every_command_to_type_copies_the_session_first(gemini):
    rows = json.loads(CliRunner().invoke(cli, ["ls", "--all", "--json"]).stdout)["sessions"]
    without_terminal = CliRunner().invoke(cli, ["resume", str(gemini), "--cwd", str(gemini.parent)])

    wanted = f"branchline resume {gemini}"
    assert {row["path"]: row["resume_command"] for row in rows}[
        str(gemini)
    ] == f"cd /home/dev/acme && {wanted}"
    assert not any("gemini --resume" in str(row["resume_command"]) for row in rows)
    assert without_terminal.stdout.strip() == f"cd {gemini.parent} && {wanted}"
    assert "warning: Gemini CLI deletes" in without_terminal.stderr
    assert gemini.exists()


def test_the_id_of_a_copilot_session_is_part_of_the_option():
    command = resume.RESUME_COMMANDS["copilot"].command(path=None, id="0c0b1107-2222-4a6b-9c3d-000000000002")

    assert command == ("copilot", "--resume=0c0b1107-2222-4a6b-9c3d-000000000002")
