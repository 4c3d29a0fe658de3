"""`branchline resume --in`: a conversation goes on in another agent, and what came of it is one tree."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

import branchline
from branchline.session import Session
from support import CORPUS

PROGRAMS = ("claude", "codex", "pi", "omp", "zot", "piglet", "induscode", "operator", "qwen", "copilot")
CONVERTED = ("claude", "codex", "pi", "omp", "zot", "piglet", "induscode", "operator", "qwen", "copilot")
NEWS = "2030-01-01T00:00:00.000Z"


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs named as agents are; each writes down where and with what it was started."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in PROGRAMS:
        program = tools / name
        program.write_text(f'#!/bin/sh\necho "{name} $* in $(pwd)" >> "{tmp_path}/started"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return tools


def extended(path: str, *records: dict[str, object]) -> None:
    """What an agent adds when it goes on."""
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def test_a_conversation_that_went_through_three_agents_is_one_tree(data, run, world, talk, agents):
    codex = data("resume", talk, "--in", "codex")["handed_over"]
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "By hand."}]}
    extended(codex["path"], {"timestamp": NEWS, "type": "response_item", "payload": item})
    claude = data("resume", codex["path"], "--in", "claude")["handed_over"]
    with Session.open(claude["path"]) as session:
        leaf = session.leaf
    message = {"role": "user", "content": "Thanks."}
    extended(
        claude["path"],
        {"type": "user", "uuid": "u", "parentUuid": leaf, "timestamp": NEWS, "message": message},
    )
    pi = data("resume", claude["path"], "--in", "pi")["handed_over"]

    rows = data("forest", "--all")["sessions"]

    assert [(item["row"]["agent"], item["depth"]) for item in rows] == [
        ("branchline", 0),
        ("codex", 1),
        ("claude-code", 2),
        ("pi", 3),
    ]
    shown = run("show", pi["path"]).stdout
    for text in ("How do I start?", "And the tests?", "By hand.", "Thanks."):
        assert text in shown


@pytest.mark.parametrize(
    "agent", ["claude", "codex", "pi", "omp", "zot", "piglet", "operator", "qwen", "copilot"]
)
def test_statistics_count_what_was_handed_over_once(data, world, talk, agents, agent):
    before = data("stats", "--all")["total"]

    made = data("resume", talk, "--in", agent)["handed_over"]["path"]

    assert data("stats", "--all")["total"] == before
    with Session.open(made) as session:
        given = session.transcript.reading.inherited_entries
        assert all(role is None for role in session.index.roles[given:])


def test_statistics_count_a_conversation_that_came_back_once(data, world, talk, agents):
    before = data("stats", "--all")["total"]
    there = data("resume", talk, "--in", "codex")["handed_over"]["path"]

    data("resume", there, "--in", "pi")

    assert data("stats", "--all")["total"] == before


@pytest.mark.parametrize(
    ("agent", "command"),
    [
        ("claude", "claude --resume {id}"),
        ("codex", "codex resume {id}"),
        ("pi", "pi --session {path}"),
        ("omp", "omp --resume {path}"),
        ("zot", "zot --session {path}"),
        ("piglet", "piglet"),
        ("induscode", "induscode --resume"),
        ("operator", "operator"),
        ("qwen", "qwen --resume {id}"),
        ("copilot", "copilot --resume={id}"),
    ],
)
@pytest.mark.parametrize("source", ["ours", "gemini"])
def test_the_exact_command_is_printed_with_the_directory(
    data, run, world, talk, agents, agent, command, source
):
    session = talk if source == "ours" else str(next((CORPUS / "gemini").rglob("session-*.jsonl")))

    # The session of Gemini CLI has a summary, with which some programs hold nothing from before it.
    options = ("--in", agent, "--lossy", "--cwd", str(world))
    made = data("resume", session, *options)["handed_over"]
    result = run("resume", session, *options, "--show")

    expected = command.format(id=made["session"], path=made["path"])
    assert result.stdout == f"cd {world} && {expected}\n"
    assert "kept as they are" in result.stderr


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("agent", CONVERTED)
def test_showing_writes_nothing_and_names_the_command_that_does(
    data, run, tmp_path, world, talk, agents, agent
):
    before = everything(tmp_path)

    first = run("resume", talk, "--in", agent, "--show")
    told = data("resume", talk, "--in", agent, "--show")

    assert everything(tmp_path) == before
    assert first.stdout.startswith("branchline resume ")
    assert shlex.split(first.stdout) == told["command"]
    assert "nothing was written" in first.stderr
    assert "kept as they are" in first.stderr
    assert told["would_write"]["fidelity"]["entries"] > 0
    assert "handed_over" not in told
    made = data(*told["command"][1:])["handed_over"]
    assert Path(made["path"]).exists()


@pytest.mark.parametrize("agent", CONVERTED)
def test_an_unchanged_copy_is_used_again(data, run, tmp_path, world, talk, agents, agent):
    first = data("resume", talk, "--in", agent)
    before = everything(tmp_path)

    second = data("resume", talk, "--in", agent)
    shown = run("resume", talk, "--in", agent, "--show")

    assert everything(tmp_path) == before
    assert second["command"] == first["command"]
    assert (first["handed_over"]["again"], second["handed_over"]["again"]) == (False, True)
    assert first["handed_over"]["path"] == second["handed_over"]["path"]
    assert shlex.split(shown.stdout)[3:] == first["command"]
    assert "nothing has changed since" in shown.stderr


@pytest.mark.parametrize("agent", CONVERTED)
def test_a_copy_of_what_has_changed_since_is_a_new_one(data, run, tmp_path, world, talk, agents, agent):
    first = data("resume", talk, "--in", agent)["handed_over"]["path"]
    old = Path(first).read_bytes()
    run("append", talk, "One more question.")

    second = data("resume", talk, "--in", agent)["handed_over"]
    with open(second["path"], "ab") as file:
        file.write(b'{"type":"more"}\n')
    third = data("resume", talk, "--in", agent)["handed_over"]

    assert len({first, second["path"], third["path"]}) == 3
    assert Path(first).read_bytes() == old
    with Session.open(third["path"]) as session:
        assert "One more question." in str(session.context().messages[-1])


def test_without_a_terminal_nothing_is_converted_before_the_refusal(run, tmp_path, talk, agents):
    before = everything(tmp_path)

    result = run("resume", talk, "--in", "codex", code=1)

    assert "codex needs a terminal, so nothing was written" in result.stderr
    assert f"_{talk}.jsonl --in codex` in one" in result.stderr
    assert everything(tmp_path) == before


def test_messages_of_the_path_are_dropped_only_with_lossy(run, data, tmp_path, world, agents):
    with Session.create(world, directory=world / "kept", persist="at_once") as session:
        session.append_message("an old prompt")
        session.append_compaction("in short", session.append_message("a kept prompt"), 100)
        session.append_message("a new prompt")
    before = everything(tmp_path)

    for options in ([], ["--show"], ["--json"]):
        refused = run("resume", session.file, "--in", "zot", *options, code=1)
        assert "zot would lack 1 message of the path" in refused.stderr + refused.stdout
    assert everything(tmp_path) == before
    made = data("resume", session.file, "--in", "zot", "--lossy")["handed_over"]
    assert "a new prompt" in Path(made["path"]).read_text()
    assert "--lossy goes with --in" in run("resume", session.file, "--lossy", code=2).stderr


def test_the_agent_starts_in_the_directory_of_the_session(tmp_path, world, talk, agents):
    """On a terminal, with a shell's PATH; nothing of the session's directory is executed."""
    (world / "branchline").mkdir()
    (world / "branchline" / "__main__.py").write_text("raise SystemExit(99)\n")
    primary, secondary = pty.openpty()

    done = subprocess.run(
        [sys.executable, "-P", "-m", "branchline", "resume", talk, "--in", "claude"],
        stdin=secondary,
        stdout=secondary,
        stderr=secondary,
        cwd=world,
        env={**os.environ, "PYTHONPATH": str(Path(branchline.__file__).parents[1])},
        timeout=60,
        check=False,
    )
    os.close(secondary)
    os.close(primary)

    assert done.returncode == 0
    (started,) = (tmp_path / "started").read_text().splitlines()
    (made,) = (tmp_path / "person").rglob("*.jsonl")
    assert started == f"claude --resume {made.stem} in {world}"


@pytest.mark.parametrize(("key", "starts"), [("\n", True), ("n\n", False)])
def test_an_installed_conversion_runs_on_enter_only(tmp_path, world, talk, agents, key, starts):
    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "branchline", "convert", talk, "--to", "codex", "--install"],
        stdin=secondary,
        stdout=secondary,
        stderr=secondary,
        cwd=world,
        env={**os.environ, "PYTHONPATH": str(Path(branchline.__file__).parents[1])},
    )
    os.close(secondary)
    seen = b""
    deadline = time.monotonic() + 30
    while b"Press Enter" not in seen and time.monotonic() < deadline:
        seen += os.read(primary, 4096)

    os.write(primary, key.encode())

    assert process.wait(timeout=30) == 0
    os.close(primary)
    assert b"codex resume" in seen
    assert (tmp_path / "started").exists() is starts


def test_a_title_is_shown_in_the_list_of_codex(data, tmp_path, talk, agents):
    made = data("resume", talk, "--in", "codex")["handed_over"]

    (line,) = (tmp_path / "person" / ".codex" / "session_index.jsonl").read_text().splitlines()
    assert json.loads(line)["thread_name"] == "Auth refactor"
    assert json.loads(line)["id"] == made["session"]


def test_a_session_of_the_agent_itself_is_not_converted(data, tmp_path, talk, agents):
    made = data("resume", talk, "--in", "codex")["handed_over"]
    files = sorted((tmp_path / "person").rglob("*"))

    again = data("resume", made["path"], "--in", "codex")

    assert again["command"] == ["codex", "resume", made["session"]]
    assert "handed_over" not in again
    assert sorted((tmp_path / "person").rglob("*")) == files


@pytest.mark.parametrize("agent", ["claude-code", "codex", "copilot", "qwen"])
def test_a_session_that_the_agent_would_not_find_is_installed(
    data, run, tmp_path, world, talk, agents, agent
):
    made = data("convert", talk, "--to", agent, "-o", f"{tmp_path / 'backup'}/")["files"][0]

    plain = data("resume", made["path"])
    there = data("resume", made["path"], "--in", agent)

    assert plain["command"] == ["branchline", "chat", "--fork", made["path"]]
    assert f"{agent} does not look for sessions there" in plain["note"]
    new = there["handed_over"]
    assert new["path"].startswith(str(tmp_path / "person"))
    assert new["session"] in " ".join(there["command"])
    with Session.open(new["path"]) as session, Session.open(made["path"]) as source:
        assert session.header.parent_session in (source.file, source.id)
        assert [message.role for message in session.context().messages] == [
            message.role for message in source.context().messages
        ]


def test_a_session_of_another_agent_comes_back_into_our_own_chat(data, talk, agents):
    made = data("resume", talk, "--in", "codex")["handed_over"]

    back = data("resume", made["path"], "--in", "branchline")

    assert back["command"] == ["branchline", "chat", "--resume", back["handed_over"]["path"]]
    with Session.open(back["handed_over"]["path"]) as session:
        assert session.read_only is None
        assert session.header.parent_session == made["path"]


# -- what is refused, and leaves nothing ------------------------------------------------------------------


def test_an_agent_that_is_not_installed_is_refused_before_anything_is_written(
    run, tmp_path, talk, monkeypatch
):
    monkeypatch.setenv("PATH", "/nonexistent")

    result = run("resume", talk, "--in", "claude", code=1)

    assert "cannot continue in claude-code: claude is not installed" in result.stderr
    assert not (tmp_path / "person").exists()


def test_the_refusal_names_the_command_that_writes_the_session_anyway(run, tmp_path, talk, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    (tmp_path / "other place").mkdir()

    result = run("resume", talk, "--in", "claude", "--cwd", tmp_path / "other place", code=1)
    (command,) = re.findall("`branchline (.*?)`", result.stderr)
    run(*shlex.split(command))

    assert command.endswith(f"_{talk}.jsonl --to claude-code --install --cwd '{tmp_path / 'other place'}'")
    assert len(list((tmp_path / "person").rglob("*.jsonl"))) == 1


def test_the_refusal_names_a_command_without_install_for_an_agent_that_imports_files(
    run, talk, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", "/nonexistent")

    result = run("resume", talk, "--in", "opencode", code=1)

    assert f"_{talk}.jsonl --to opencode` writes a file for `opencode import`" in result.stderr


def test_an_agent_that_cannot_be_written_or_is_unknown_is_refused(run, talk, agents):
    assert "gemini are read-only" in run("resume", talk, "--in", "gemini", code=1).stderr
    assert "unknown agent 'nobody'" in run("resume", talk, "--in", "nobody", code=2).stderr
    assert "omit --here" in run("resume", talk, "--in", "pi", "--here", code=2).stderr


def test_a_missing_directory_is_refused_unless_another_is_named(run, data, tmp_path, world, agents):
    with Session.create(tmp_path / "gone", directory=world, persist="at_once") as session:
        session.append_message("hello")

    result = run("resume", session.file, "--in", "codex", code=1)
    named = data("resume", session.file, "--in", "codex", "--cwd", world)

    assert "--cwd DIR names another" in result.stderr
    assert named["cwd"] == str(world)
    with Session.open(named["handed_over"]["path"]) as made:
        assert made.cwd == str(world)


def test_an_empty_session_is_refused(run, tmp_path, agents):
    run("new", "--id", "empty")

    assert "it has no messages" in run("resume", "empty", "--in", "claude", code=1).stderr
    assert "it has no messages" in run("convert", "empty", "--to", "claude", "--install", code=1).stderr
    assert not (tmp_path / "person" / ".claude").exists()


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_session_that_the_agent_has_is_never_written_again(run, data, tmp_path, talk, agents, agent):
    """Whether it runs there or not: a new session is the only thing that is written."""
    made = data("resume", talk, "--in", agent)["handed_over"]
    before = Path(made["path"]).read_bytes()

    appended = run("append", made["path"], "more", code=1)
    again = run("convert", made["path"], "--to", agent, "--install", "--same-id", code=1)

    assert "read-only" in appended.stderr
    assert f"{made['path']} already exists" in again.stderr
    assert Path(made["path"]).read_bytes() == before


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_an_id_that_is_no_uuid_is_refused(run, tmp_path, talk, agent):
    result = run("convert", talk, "--to", agent, "--install", "--same-id", code=1)

    assert "not a UUID" in result.stderr
    assert not list((tmp_path / "person").rglob("*.jsonl"))
