"""``--demo``: every command on sessions that come with the package; one's own are not touched."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from contextlib import closing
from urllib.parse import urlsplit

import msgspec
import pytest

from branchline import places
from branchline.formats import BUILTIN_FORMATS, PI
from branchline.formats.protocol import FormatHome
from homes import build_home


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
    assert result.stderr == (
        "no sessions found on this machine; these are the sessions of the demo library\n"
    )
    assert not (tmp_path / "home").exists(), "looking writes nothing"
    listed = run("--demo", "ls").stdout.splitlines()
    assert result.stdout.splitlines()[-8:] == listed, "as old as in the copy, not as the unpacked package"


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
    result = json.loads(run("demo", "--json").stdout)

    assert result["schema"] == "branchline.demo/1"
    assert len(result["sessions"]) == 8


PROGRAMS = (PI, *(program.load() for program in BUILTIN_FORMATS))
VARIABLES = sorted(
    {
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"),
        *("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"),
        *(name for program in BUILTIN_FORMATS for name in program.variables),
    }
)


def listed(run, *more):
    """The titles in a list of the demo."""
    return sorted(line.split("  ")[-1] for line in run("--demo", "ls", "--all", *more).stdout.splitlines())


def test_no_variable_and_no_setting_shows_sessions_of_the_person(run, tmp_path, world, monkeypatch):
    expected = listed(run)
    person = tmp_path / "person"
    build_home(person, str(world))
    where = {
        "XDG_STATE_HOME": ".local/state",
        "XDG_DATA_HOME": ".local/share",
        "XDG_CONFIG_HOME": ".config",
        "CODEX_HOME": ".codex",
        "CLAUDE_CONFIG_DIR": ".claude",
        "PI_CODING_AGENT_DIR": ".pi/agent",
        "INDUSAGI_HOME": ".pindusagi",
        "ZOT_HOME": ".local/state/zot",
    }
    (tmp_path / "home" / "config.toml").write_text('index_exclude = ["/none"]\ntheme = "dark"\n')
    for name, folder in where.items():
        monkeypatch.setenv(name, str(person / folder))
    assert len(run("ls", "--all").stdout.splitlines()) >= 8  # those of the person are found

    assert listed(run) == expected
    assert len(expected) == 8
    assert "8 sessions" in run("--demo", "stats").stdout
    assert "0 matches" not in run("--demo", "search", "slipway").stdout
    for agent in ("codex", "claude-code", "zot", "induscode", "piglet"):
        assert set(listed(run, "--agent", agent)) <= set(expected)


@pytest.mark.parametrize("name", VARIABLES)
def test_every_place_of_the_demo_lies_in_its_home(tmp_path, name):
    """Those that are looked at, and those where something new would be written."""
    home = str(tmp_path / "demo")
    environment = {name: str(tmp_path / "elsewhere"), "HOME": str(tmp_path / "person")}

    places.confine(home, environment)

    assert environment == {"HOME": home, "BRANCHLINE_HOME": home}
    assert places.data_directory(environment) == home
    assert places.cache_directory(environment).startswith(home)
    for program in PROGRAMS:
        for root in program.home.roots(environment, home):
            assert root.startswith(home + "/"), program.name


def test_every_variable_that_a_format_reads_is_known(tmp_path):
    """A format is asked with each variable set alone, because one may hide another."""
    asked = set()

    class Environment(dict):
        def get(self, name, default=None):
            asked.add(name)
            return super().get(name, default)

        def __getitem__(self, name):
            asked.add(name)
            return super().__getitem__(name)

    for program in PROGRAMS:
        for name in ("", *VARIABLES):
            program.home.roots(Environment({name: str(tmp_path)}), str(tmp_path))

    assert asked <= set(VARIABLES)


def test_a_format_of_another_package_is_not_led_away_either(tmp_path, monkeypatch):
    class Home(FormatHome):
        def roots(self, environment, home):
            moved = environment.get("TEAPOT_HOME") or environment.get("TEAPOT_DATA")
            return [moved or f"{home}/.teapot"]

    class Teapot:
        name, home = "teapot", Home()

    found = places.installed_formats()
    monkeypatch.setattr(
        places, "installed_formats", lambda: msgspec.structs.replace(found, formats=[Teapot()])
    )
    environment = {"TEAPOT_HOME": "/a", "TEAPOT_DATA": "/b", "PATH": "/bin", "TERM": "xterm"}

    places.confine(str(tmp_path), environment)

    assert set(environment) == {"PATH", "TERM", "HOME", "BRANCHLINE_HOME"}


def test_the_browser_of_the_demo_has_the_home_of_the_person(tmp_path, world):
    """Only branchline works in another home; the person's web browser does not."""
    program = tmp_path / "browser"
    program.write_text(
        f'#!/bin/sh\necho "$HOME $XDG_CONFIG_HOME" > {tmp_path}/seen.new\nmv {tmp_path}/seen.new {tmp_path}/seen\n'
    )
    program.chmod(0o755)
    given = {**os.environ, "BROWSER": f"{program} %s", "XDG_CONFIG_HOME": str(tmp_path / "config")}
    command = [sys.executable, "-m", "branchline", "--demo", "web"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=given) as server:
        try:
            address = server.stdout.readline().strip()
            key = address.partition("#")[2]
            with closing(http.client.HTTPConnection(urlsplit(address).netloc)) as connection:
                connection.request("POST", "/enter", f"key={key}")
                answer = connection.getresponse()
                cookie = answer.headers["set-cookie"].partition(";")[0]
                answer.read()
                target = f"/{key.partition('.')[0]}/api/sessions"
                connection.request("GET", target, headers={"cookie": cookie})
                shown = json.loads(connection.getresponse().read())
            for _ in range(100):
                if (tmp_path / "seen").exists():
                    break
                time.sleep(0.1)
        finally:
            server.terminate()
    assert shown["total"] == 8
    assert (tmp_path / "seen").read_text().split() == [str(tmp_path / "person"), str(tmp_path / "config")]
