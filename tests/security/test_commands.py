"""Ids, paths and directories from a session file become part of a command only if they cannot change it."""

from __future__ import annotations

import json
import shlex
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from textual.pilot import Pilot

from branchline.actions.resume import ResumePlan, plan_resume
from branchline.cli.app import cli
from branchline.errors import BranchlineError, InvalidId
from branchline.formats.resume_commands import RESUME_COMMANDS
from branchline.programs import is_usable_directory
from branchline.tui.app import BranchlineApp
from security.traps import Trap
from tui.kit import app_on, drive, press, said, screen

UUID = "0199f3a2-7c1e-7d44-9b35-2f6a1c0de987"
IDS = {
    "option": "--dangerously-skip-permissions",
    "option with a value": '--config=notify=["sh","-c","touch marker"]',
    "short option": "-c",
    "dash": "-",
    "double dash": "--",
    "empty": "",
    "space": f"{UUID} --yolo",
    "leading space": f" {UUID}",
    "newline": f"{UUID}\n",
    "newline and command": f"{UUID}\ntouch marker",
    "carriage return": f"{UUID}\r",
    "tab": f"\t{UUID}",
    "escape": f"{UUID}\x1b[31m",
    "csi": f"{UUID}\x9b31m",
    "null": f"{UUID}\x00",
    "slash": f"../{UUID}",
    "absolute path": f"/tmp/{UUID}",
    "backslash": f"..\\{UUID}",
    "shell": f"{UUID};touch marker",
    "substitution": "$(touch marker)",
    "backticks": "`touch marker`",
    "bidi": f"\u202e{UUID}",
    "other digits": UUID.replace("0", "\u0660"),
    "full width": UUID.replace("a", "\uff41"),
    "dash and uuid": f"-{UUID}",
    "long": UUID * 4000,
    "surrogate": f"{UUID}\udc9b",
}
DIRECTORIES = {
    "relative": "project",
    "dot": ".",
    "home": "~",
    "dash": "-",
    "option": "--help",
    "newline": "{there}\ntouch marker",
    "escape": "{there}\x1b]0;x\x07",
    "null": "{there}\x00",
    "c1": "{there}\x9b",
    "bidi": "{there}\u202e",
    "line separator": "{there}\u2028",
    "surrogate": "{there}\udc9b",
    "url": "file://{there}",
    "drive": "C:\\work",
}


def decided(
    agent: str, *, path: str | None = "/s/a.jsonl", name: str = UUID, cwd: str = "/", **more: bool
) -> ResumePlan:
    return plan_resume(
        agent,
        path=path,
        id=name,
        cwd=cwd,
        installed=lambda name: f"/bin/{name}",
        is_directory=lambda _: True,
        **more,
    )


# -- ids --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", IDS.values(), ids=IDS.keys())
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_an_id_that_is_not_a_uuid_is_refused_by_agents_that_use_uuids(agent: str, bad: str) -> None:
    with pytest.raises(InvalidId, match="is not a UUID") as caught:
        decided(agent, name=bad)

    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("bad", IDS.values(), ids=IDS.keys())
@pytest.mark.parametrize("agent", sorted({*RESUME_COMMANDS, "branchline"}))
def test_no_id_becomes_an_option_of_any_agent(agent: str, bad: str) -> None:
    """Agents that take a path, or nothing, never see the id; without a path the id is refused."""
    with_path = {}
    for here in (False, True):
        try:
            with_path[here] = decided(agent, name=bad, here=here).command
        except InvalidId:
            continue

    assert all(bad not in command for command in with_path.values())
    if agent not in ("induscode", "operator", "piglet"):
        with pytest.raises(InvalidId):
            decided(agent, path=None, name=bad)


@given(st.text())
@example("-\n")
def test_a_command_has_only_words_that_are_no_options_behind_those_of_the_agent(text: str) -> None:
    for agent in (*RESUME_COMMANDS, "branchline"):
        for path in (None, text, "/" + text):
            try:
                going = decided(agent, path=path, name=text, cwd=text)
            except BranchlineError:
                continue

            known = RESUME_COMMANDS.get(agent)
            own = 3 if known is None else len(known.argv)
            assert not any(word.startswith("-") or not word for word in going.command[own:])
            assert not any(
                unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in going.shell_command
            )
            assert shlex.split(going.shell_command)[-len(going.command) :] == list(going.command)


@pytest.mark.parametrize(
    "bad", ["-x.jsonl", "a.jsonl", "./a.jsonl", "", "/s/a\n.jsonl", "/s/\x1b[m.jsonl", "/s/\x00", "/s/\udc9b"]
)
@pytest.mark.parametrize("agent", ["pi", "oh-my-pi", "zot", "branchline"])
def test_a_path_is_absolute_and_without_control_characters(agent: str, bad: str) -> None:
    with pytest.raises(BranchlineError, match="cannot continue") as caught:
        decided(agent, path=bad)

    assert str(caught.value).isprintable()


def test_a_path_with_spaces_quotes_and_letters_of_any_script_is_quoted() -> None:
    path = "/s/it's a 日本 $(touch x) é.jsonl"

    going = decided("pi", path=path, cwd="/home/u/my shop; ls")

    assert shlex.split(going.shell_command) == ["cd", "/home/u/my shop; ls", "&&", "pi", "--session", path]


# -- directories ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", DIRECTORIES.values(), ids=DIRECTORIES.keys())
def test_a_directory_that_is_not_a_plain_absolute_path_is_left_out_and_named(
    bad: str, tmp_path: Path
) -> None:
    bad = bad.format(there=tmp_path)

    going = decided("pi", cwd=bad)

    assert going.cwd is None
    assert going.shell_command == "pi --session /s/a.jsonl"
    assert "the directory of this session" in (going.unusable or "")
    assert (going.unusable or "").isprintable()
    assert not is_usable_directory(bad)


# -- the command line -------------------------------------------------------------------------------------


def codex_session(home: Path, name: str, cwd: str) -> Path:
    folder = home / ".codex" / "sessions" / "2026" / "01" / "05"
    folder.mkdir(parents=True)
    rows = [
        ("session_meta", {"id": name, "timestamp": "2026-01-05T09:00:00.000Z", "cwd": cwd}),
        (
            "response_item",
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        ),
    ]
    file = folder / f"rollout-2026-01-05T09-00-00-{UUID}.jsonl"
    lines = [
        json.dumps({"timestamp": "2026-01-05T09:00:00.000Z", "type": kind, "payload": row})
        for kind, row in rows
    ]
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture
def codex(trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed codex that leaves a mark when it runs; the home in which its sessions are."""
    tools = Trap(tmp_path / "tools", tmp_path / "marks")
    tools.plant_program("codex")
    monkeypatch.setenv("PATH", f"{tools.directory}:/usr/bin:/bin")
    home = tmp_path / "person"
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.mark.parametrize(
    "bad", [IDS[name] for name in ("option", "option with a value", "newline", "escape", "slash")]
)
@pytest.mark.parametrize("options", [[], ["--show"], ["--json"]], ids=["run", "show", "json"])
def test_resume_refuses_an_id_that_would_be_an_option(
    options: list[str], bad: str, codex: Path, here: Path, trap: Trap
) -> None:
    file = codex_session(codex, bad, str(here))

    done = CliRunner().invoke(cli, ["resume", str(file), *options])

    assert done.exit_code == 2
    assert done.stdout == ""
    assert "is not a UUID" in done.stderr
    assert done.stderr.rstrip("\n").isprintable()
    assert trap.sprung == set()


@pytest.mark.parametrize("bad", DIRECTORIES.values(), ids=DIRECTORIES.keys())
def test_resume_shows_no_directory_that_it_would_not_use(
    bad: str, codex: Path, tmp_path: Path, trap: Trap
) -> None:
    file = codex_session(codex, UUID, bad.format(there=tmp_path))

    shown = CliRunner().invoke(cli, ["resume", str(file), "--show"])
    data = CliRunner().invoke(cli, ["resume", str(file), "--json"])
    refused = CliRunner().invoke(cli, ["resume", str(file)])

    assert shown.stdout == f"codex resume {UUID}\n"
    assert "the directory of this session" in shown.stderr
    assert json.loads(data.stdout)["cwd"] is None
    assert json.loads(data.stdout)["cwd_exists"] is False
    assert refused.exit_code == 1
    assert "--cwd DIR names another" in refused.stderr
    assert trap.sprung == set()


def test_a_session_with_a_good_id_resumes(codex: Path, here: Path) -> None:
    file = codex_session(codex, UUID, str(here))

    shown = CliRunner().invoke(cli, ["resume", str(file), "--show"])

    assert shown.stdout == f"cd {here} && codex resume {UUID}\n"


# -- the browser ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad", [IDS[name] for name in ("option", "option with a value", "newline", "escape")]
)
def test_the_browser_neither_runs_nor_copies_a_command_with_such_an_id(
    bad: str, codex: Path, tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = codex_session(codex, bad, str(tmp_path))
    ran: list[tuple[ResumePlan, str | None]] = []
    app = app_on(file.parent, scope="all")
    monkeypatch.setattr(app, "go_on", lambda going, *, cwd: ran.append((going, cwd)))

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        assert app.browser.row is not None
        assert app.browser.row.id == bad
        await press(pilot, "enter")
        assert "is not a UUID" in said(app)
        await press(pilot, "alt+c")
        assert app.clipboard == ""

    drive(app, told, (120, 30))
    assert ran == []
    assert trap.sprung == set()


def test_the_browser_asks_before_it_continues_elsewhere_than_in_a_relative_directory(
    codex: Path, here: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = codex_session(codex, UUID, "../hostile")
    asked: list[tuple[tuple[str, ...], str | None]] = []
    app = app_on(file.parent, scope="all")
    app.source.cwd = str(here)  # type: ignore[misc]
    monkeypatch.setattr(app, "go_on", lambda going, *, cwd: asked.append((going.command, cwd)))

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "enter")
        assert "is not an absolute path: '../hostile'" in " ".join(screen(app).split())
        assert asked == []
        await press(pilot, "enter")

    drive(app, told, (120, 30))
    assert asked == [(("codex", "resume", UUID), str(here))]
