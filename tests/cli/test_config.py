"""``branchline config``: what is in force, from where, and how it is changed."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from branchline.settings import names


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "etc" / "config.toml"
    monkeypatch.setenv("BRANCHLINE_CONFIG", str(path))
    return path


def test_the_settings_are_shown_with_where_they_come_from(run, file, monkeypatch):
    file.parent.mkdir()
    file.write_text('# mine\ntheme = "light"\n')
    monkeypatch.setenv("BRANCHLINE_MOUSE", "no")

    result = run("config")

    rows = {line.split()[0]: line.split()[1:4] for line in result.stdout.splitlines()}
    assert list(rows) == list(names())
    assert rows["theme"] == ['"light"', "line", "2"]
    assert rows["mouse"][:2] == ["false", "environment"]
    assert rows["color"][:2] == ['"auto"', "default"]
    assert str(file) in result.stderr


def test_what_is_wrong_in_the_file_is_told_and_costs_nothing_else(run, data, file):
    file.parent.mkdir()
    file.write_text('them = "light"\ncolor = "never"\n')

    assert "line 1: unknown setting 'them'; did you mean theme?" in run("config").stderr
    assert data("config")["findings"][0]["line"] == 1
    assert run("ls").exit_code == 0


def test_set_makes_a_private_file_and_get_reads_it(run, file):
    assert "does not exist yet" in run("config").stderr

    assert run("config", "set", "theme", "light").stdout == 'theme = "light"\n'

    assert run("config", "get", "theme").stdout == "light\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == 'theme = "light"\n'


def test_set_keeps_comments_and_unset_brings_the_default_back(run, file):
    file.parent.mkdir()
    file.write_text("# night\ntheme = 'dark' # why\nmystery = 1\n")

    run("config", "set", "theme", "light")
    assert file.read_text() == '# night\ntheme = "light" # why\nmystery = 1\n'

    assert run("config", "unset", "theme").stdout == 'theme = "auto"\n'
    assert file.read_text() == "# night\nmystery = 1\n"


def test_several_values_make_a_list(run, file):
    run("config", "set", "pins", "abc", "def")

    assert run("config", "get", "pins").stdout == '["abc", "def"]\n'


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["set", "theme", "pink"], "theme must be auto, dark or light"),
        (["set", "them", "dark"], "did you mean 'theme'?"),
        (["get", "nonsense"], "`branchline config` lists all"),
        (["set", "theme"], "Missing argument"),
        (["nonsense"], "No such command"),
    ],
)
def test_a_wrong_call_changes_nothing_and_says_what_can_be(run, file, arguments, words):
    assert words in run("config", *arguments, code=2).stderr
    assert not file.exists()


def test_a_file_that_is_no_toml_is_left_as_it_is(run, file):
    file.parent.mkdir()
    file.write_text("theme = \n")

    result = run("config", "set", "color", "never", code=1)

    assert "cannot change" in result.stderr
    assert "line 1" in result.stderr
    assert file.read_text() == "theme = \n"


def test_a_setting_that_the_environment_overrules_is_written_and_told(run, file, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_THEME", "dark")

    assert "BRANCHLINE_THEME is set" in run("config", "set", "theme", "light").stderr


def test_path_says_where_the_file_is(run, file):
    assert run("config", "path").stdout == f"{file}\n"
    assert json.loads(run("config", "path", "--json").stdout)["exists"] is False


def test_edit_opens_an_editor_on_a_file_that_explains_every_setting(run, file, tmp_path, monkeypatch):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho \'theme = "light"\' >> "$1"\necho "mystery = 1" >> "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))

    result = run("config", "edit")

    assert result.stdout == f"{file}\n"
    assert "unknown setting 'mystery'" in result.stderr
    assert run("config", "get", "theme").stdout == "light\n"
    assert all(f"# {name} = " in file.read_text() for name in names())


@pytest.mark.parametrize("variables", [{}, {"EDITOR": "nano -w"}, {"VISUAL": "vi"}])
def test_edit_finds_no_editor_in_the_present_directory(run, file, tmp_path, monkeypatch, variables):
    for name in ("sensible-editor", "vim", "nano", "vi"):
        (tmp_path / name).write_text('#!/bin/sh\necho \'theme = "light"\' >> "$1"\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".:")
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.setenv(name, variables.get(name, ""))

    result = run("config", "edit", code=1)

    assert "set EDITOR" in result.stderr
    assert 'theme = "light"' not in file.read_text().splitlines()


def test_edit_reports_an_editor_that_fails(run, file, monkeypatch):
    monkeypatch.setenv("VISUAL", "false")

    assert "ended with exit code 1" in run("config", "edit", code=1).stderr
