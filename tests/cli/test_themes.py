"""Roles have a look in two themes, and the settings choose."""

from __future__ import annotations

import re

import pytest

from branchline.cli.themes import THEMES, theme_for
from branchline.views.spans import ROLES

SIXTEEN = re.compile(r"(?:[1237](?:;3[1-6]|;3)?|3[1-6]|9[1-6])?")


@pytest.mark.parametrize("name", THEMES)
def test_every_role_has_a_look_made_of_the_sixteen_colours(name):
    theme = THEMES[name]

    assert set(theme) == set(ROLES)
    assert all(SIXTEEN.fullmatch(codes) for codes in theme.values())


def test_no_theme_uses_what_is_hard_to_read_on_its_ground():
    hard = {"dark": {"30", "34"}, "light": {"33", "36", "37", "97", "93", "92", "96"}}

    for name, theme in THEMES.items():
        used = {code for codes in theme.values() for code in codes.split(";")}
        assert not used & hard[name]


def test_the_terminal_is_asked_for_its_ground_when_nothing_was_chosen():
    assert theme_for("auto", {}) == "dark"
    assert theme_for("auto", {"COLORFGBG": "15;0"}) == "dark"
    assert theme_for("auto", {"COLORFGBG": "0;15"}) == "light"
    assert theme_for("auto", {"COLORFGBG": "0;default;15"}) == "light"
    assert theme_for("dark", {"COLORFGBG": "0;15"}) == "dark"


def test_the_theme_of_the_settings_colours_the_commands(run, talk, monkeypatch):
    dark = run("tree", talk, "--color", "always").stdout
    monkeypatch.setenv("BRANCHLINE_THEME", "light")
    light = run("tree", talk, "--color", "always").stdout

    assert dark != light
    assert re.sub("\x1b[^m]*m", "", dark) == re.sub("\x1b[^m]*m", "", light)
    assert f"\x1b[{THEMES['light']['user']}m" in light


def test_the_settings_decide_about_colours_and_an_option_overrules_them(run, talk, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_COLOR", "always")

    assert "\x1b[" in run("tree", talk).stdout
    assert "\x1b[" not in run("tree", talk, "--color", "never").stdout


def test_drawings_can_be_asked_for_in_ascii(run, talk, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_ASCII", "true")

    assert run("tree", talk).stdout.isascii()
    assert "> |- * user: And the tests?" in run("tree", talk).stdout


def test_the_filter_of_the_settings_is_the_one_of_tree(run, talk, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_FILTER", "user-only")

    assert "assistant:" not in run("tree", talk).stdout
    assert "assistant:" in run("tree", talk, "--filter", "default").stdout


def test_plain_in_the_settings_is_plain_for_every_command(run, talk, monkeypatch, capsys):
    from branchline.cli.output import Output

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert Output().columns is not None
    monkeypatch.setenv("BRANCHLINE_PLAIN", "yes")

    assert Output().columns is None
    assert not Output().colored
