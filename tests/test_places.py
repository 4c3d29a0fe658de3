"""Where the programs keep sessions, and what is known of that without loading their formats."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping

import platformdirs
import pytest

from branchline import places
from branchline._user_directories import user_directory
from branchline.formats import BUILTIN_FORMATS, PI
from branchline.formats.detect import builtin_agents

HOME = "/home/somebody"
ASKED_ABOUT_THE_DIRECTORY = {"TMPDIR", "TMP", "TEMP", ""}


class Asked(Mapping[str, str]):
    """An environment that remembers which variables somebody asked for."""

    def __init__(self, **values: str) -> None:
        self.values_, self.names = values, set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return self.values_[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


@pytest.mark.parametrize("program", BUILTIN_FORMATS, ids=lambda program: program.name)
def test_what_is_known_of_a_program_is_what_its_format_says(program):
    format_ = program.load()
    folders = tuple(os.path.join(HOME, folder) for folder in program.folders)
    asked = Asked()

    roots = format_.home.roots(asked, HOME)
    for cwd in ("/home/somebody/code", "/opt/app"):
        format_.home.directories(cwd, asked, HOME)

    assert format_.name == program.name
    assert all(root.startswith(folders) for root in roots)
    assert asked.names - ASKED_ABOUT_THE_DIRECTORY <= set(program.variables)


def test_no_other_package_can_take_the_name_of_a_program():
    assert {*(program.name for program in BUILTIN_FORMATS), PI.name, places.NATIVE_AGENT} == builtin_agents()


def test_formats_of_programs_that_have_kept_nothing_are_not_loaded(tmp_path):
    (tmp_path / ".local" / "state" / "zot").mkdir(parents=True)
    code = f"""if True:
        import sys
        from branchline import SessionLibrary
        found = SessionLibrary.everywhere("/x", environment={{}}, home={str(tmp_path)!r})
        assert [place.agent for place in found.places] == ["branchline", "pi", "zot"]
        loaded = {{name.split(".")[2] for name in sys.modules if name.startswith("branchline.formats.")}}
        assert not loaded & {{"codex", "claude_code", "operator", "induscode", "piglet", "oh_my_pi"}}, loaded
    """

    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_our_own_place_follows_another_home(tmp_path):
    assert places.sessions_root({}, "/h").startswith("/h/")
    assert places.sessions_root({"XDG_DATA_HOME": "/d"}, "/h") == "/d/branchline/sessions"
    assert places.sessions_root({"BRANCHLINE_HOME": "/b"}, "/h") == "/b/sessions"
    assert places.session_directory("/a/b", {}, "/h") != places.session_directory("/a-b", {}, "/h")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"sessionDir": 5}', b'{"sessionDir": "a\\u0000b"}'])
def test_settings_that_tell_nothing_are_passed_over(tmp_path, content):
    (tmp_path / ".pi").mkdir()
    (tmp_path / ".pi" / "settings.json").write_bytes(content)

    found = places.known_places([str(tmp_path)], agents=["pi"], environment={}, home=str(tmp_path / "home"))

    assert len(found.places) == 1


def test_a_directory_in_the_settings_may_begin_at_home(tmp_path):
    (tmp_path / ".pi").mkdir()
    (tmp_path / ".pi" / "settings.json").write_bytes(b'{"sessionDir": "~/kept"}')

    found = places.known_places([str(tmp_path)], agents=["pi"], environment={}, home="/h")

    assert [place.root for place in found.places] == ["/h/.pi/agent/sessions", "/h/kept"]
    assert [place.is_shared for place in found.places] == [False, True]


@pytest.mark.parametrize("kind", ["data", "config", "cache"])
@pytest.mark.parametrize("value", [None, "", "relative/path", "/elsewhere"])
def test_user_directories_are_those_of_platformdirs(kind, value, monkeypatch):
    variable = f"XDG_{kind.upper()}_HOME"
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.delenv(variable, raising=False)
    if value is not None:
        monkeypatch.setenv(variable, value)

    found = user_directory(kind, os.environ)

    assert found == getattr(platformdirs, f"user_{kind}_dir")("branchline", appauthor=False)
