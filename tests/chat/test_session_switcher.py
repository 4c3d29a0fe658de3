"""The picker of sessions in a running chat: two scopes, new titles, the trash and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from branchline import Session, SessionLibrary
from branchline.cli.app import cli


def made(cwd: Path, title: str) -> str:
    with Session.create(cwd) as session:
        session.append_message(f"about {title}")
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "yes"}]})
        session.set_title(title)
        assert session.file is not None
        return session.file


def titles(cwd: Path) -> set[str | None]:
    return {row.title for row in SessionLibrary.for_cwd(cwd).list(deep=True)}


@pytest.fixture
def chat(project, tmp_path, monkeypatch):
    """Say lines to a chat that reads them from standard input; what it says."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))

    def call(*lines: str) -> str:
        done = CliRunner().invoke(cli, ["chat"], input="".join(f"{line}\n" for line in lines))
        assert done.exit_code == 0, done.output
        return done.output

    return call


@pytest.mark.parity("IND-21")
def test_the_resume_picker_toggles_its_scope_renames_and_deletes_with_undo(chat, project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    made(elsewhere, "There")
    file = made(project, "Here")

    shown = chat("/resume", "rename 1", "Renamed", "delete 1", "undo", "scope", "There", "offline: say there")

    assert titles(project) == {"Renamed"}
    assert f"moved {file} to the trash" in shown
    assert f"restored {file}" in shown
    (row,) = SessionLibrary.for_cwd(elsewhere).list(deep=True)
    assert row.total_messages == 4


def test_the_list_toggles_between_this_directory_and_all(chat, project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    made(project, "Here")
    made(elsewhere, "There")

    shown = chat("/sessions", "scope", "There", "offline: say in there")

    before, _, after = shown.partition("(all directories)")
    assert "(this directory)" in before
    assert "There" not in before
    assert "There" in after
    assert "in there" in after
    assert titles(elsewhere) == {"There"}
    (row,) = SessionLibrary.for_cwd(elsewhere).list(deep=True)
    assert row.total_messages == 4


@pytest.mark.parity("IND-21")
def test_a_session_is_renamed_and_the_list_shows_it(chat, project):
    made(project, "Old name")

    shown = chat("/sessions", "rename 1", "New name", "")

    assert titles(project) == {"New name"}
    assert "New name" in shown


@pytest.mark.parity("IND-21")
def test_a_session_is_deleted_and_brought_back(chat, project):
    file = made(project, "Doomed")
    made(project, "Kept")
    number = 1 + [row.title for row in SessionLibrary.for_cwd(project).list(deep=True)].index("Doomed")

    shown = chat("/sessions", f"delete {number}", "")
    assert titles(project) == {"Kept"}
    assert f"moved {file} to the trash" in shown

    SessionLibrary.for_cwd(project).restore()
    shown = chat("/sessions", f"delete {number}", "undo", "")
    assert titles(project) == {"Kept", "Doomed"}
    assert f"restored {file}" in shown


def test_the_session_one_is_in_is_not_deleted(chat, project):
    shown = chat("offline: say mine", "/name Mine", "/sessions", "delete 1", "")

    assert "you are in this session; switch to another one before you delete it" in shown
    assert titles(project) == {"Mine"}
