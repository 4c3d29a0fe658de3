"""``branchline chat`` and ``branchline resume`` without a terminal: lines in, answers out, remarks on stderr."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from branchline import Session, SessionLibrary
from branchline.entries import BashExecution, MessageEntry, message_text
from cli.conftest import program
from models.server import says, serving
from support import CORPUS


def only_session(world: Path) -> Session:
    (row,) = SessionLibrary.for_cwd(world).list()
    return Session.open(row.path)


def words(session: Session) -> list[str]:
    return [message_text(item.message) for item in session.context().messages]


def test_one_prompt_per_line_and_answers_as_text(run, world):
    done = run("chat", "--name", "Sky", stdin="offline: say blue\n\noffline: say grey\n")

    assert done.stdout == "blue\ngrey\n"
    assert "using the offline model" in done.stderr
    with only_session(world) as session:
        assert words(session) == ["offline: say blue", "blue", "offline: say grey", "grey"]
        assert session.title == "Sky"


def test_print_says_one_thing_and_prints_the_answer_alone(run, world):
    done = run("chat", "--print", "offline: say blue")

    assert done.stdout == "blue\n"
    with only_session(world) as session:
        assert words(session) == ["offline: say blue", "blue"]


def test_print_reads_its_prompt_from_standard_input(run):
    assert run("chat", "--no-session", "-p", "-", stdin="offline: say\tblue\n").stdout == "blue\n"
    assert "needs a prompt" in run("chat", "-p", "-", stdin="\n", code=2).stderr


def test_print_ends_with_one_when_the_model_fails(run, world):
    done = run("chat", "--print", "offline: fail refused", code=1)

    assert done.stdout == ""
    assert "told to refuse this request" in done.stderr
    with only_session(world) as session:
        assert words(session)[0] == "offline: fail refused"


def test_the_answer_as_data(data, world):
    seen = data("chat", "--print", "offline: say blue")

    assert (seen["answer"], seen["ending"], seen["error"]) == ("blue", "stop", None)
    assert seen["model"] == "offline:echo"
    assert seen["usage"]["total_tokens"] > 0
    with only_session(world) as session:
        assert (seen["session"], seen["file"], seen["leaf"]) == (session.id, session.file, session.leaf)


def test_a_failure_as_data(data):
    seen = data("chat", "--print", "offline: fail auth", code=1)

    assert (seen["ending"], seen["answer"]) == ("error", "")
    assert "refuse the key" in seen["error"]


def test_continue_goes_on_in_the_newest_and_fork_beside_it(run, world):
    run("chat", "-p", "offline: say one")
    run("chat", "--continue", "-p", "offline: say two")
    with only_session(world) as session:
        assert words(session)[1::2] == ["one", "two"]
        first = session.file

    run("chat", "--fork", "@last@~2", "-p", "offline: say three")

    assert len(SessionLibrary.for_cwd(world).list()) == 2
    newest = SessionLibrary.for_cwd(world).latest()
    with Session.open(newest.path) as fork:
        assert words(fork)[1::2] == ["one", "three"]
        assert fork.parent_session == first


def test_resume_reads_the_picked_number_from_its_input(run, world):
    run("chat", "-p", "offline: say one")

    done = run("chat", "--resume", stdin="1\noffline: say two\n")

    assert done.stdout.endswith("two\n")
    with only_session(world) as session:
        assert words(session)[1::2] == ["one", "two"]


def test_picking_nothing_starts_afresh(run, world):
    run("chat", "-p", "offline: say one")

    run("chat", "--resume", stdin="\noffline: say two\n")

    assert len(SessionLibrary.for_cwd(world).list()) == 2


def test_a_picker_looks_for_words_and_lists_again_what_is_left(run, world):
    lines = "offline: say apple one\noffline: say apple two\noffline: say pear\n/jump\nplum\napple\n2\nno\n"

    done = run("chat", stdin=lines)

    assert "nothing here has 'plum'" in done.stderr
    assert done.stdout.endswith(
        "1  No summary\n2  Summarize\n3  Summarize with instructions\noffline: say apple two\n"
    )
    with only_session(world) as session:
        assert words(session) == ["offline: say apple one", "apple one"]


def test_the_next_command_in_a_picker_picks_nothing_and_is_done(run, world):
    result = run("chat", stdin="one\n/tree\n/name Looked around\n")

    assert "• user: one" in result.stdout
    assert only_session(world).title == "Looked around"


def test_the_list_of_a_picker_cuts_long_lines(run, world):
    run("chat", stdin="offline: say one\n")
    with only_session(world) as session:
        session.append_custom_message("context", "long " * 200)

    listed = run("chat", "--continue", stdin="/tree\n\n").stdout.splitlines()

    assert [line for line in listed if "[context]: long long" in line and line.rstrip().endswith("…")]
    assert max(map(len, listed)) < 320


def test_the_end_of_the_input_in_a_picker_picks_nothing(run, world):
    run("chat", stdin="hello\n/tree")

    with only_session(world) as session:
        assert len(words(session)) == 2


def test_no_session_leaves_nothing_behind(run, tmp_path):
    assert run("chat", "--no-session", stdin="offline: say blue\n/session\n").stdout.startswith("blue\n")

    assert list(tmp_path.rglob("*.jsonl")) == []


def test_the_working_directory_can_be_another_one(run, tmp_path):
    other = tmp_path / "other"
    other.mkdir()

    run("chat", "--cwd", other, stdin="hello\n!pwd\n")

    with only_session(other) as session:
        assert session.cwd == str(other)
        done = session.entry(session.leaf)
        assert isinstance(done, MessageEntry)
        assert isinstance(done.message, BashExecution)
        assert done.message.output == f"{other}\n"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["--continue", "--resume"], "choose one of"),
        (["--continue", "--fork", "x"], "choose one of"),
        (["--json"], "give a prompt with --print"),
        (["--cwd", "nowhere"], "does not exist"),
    ],
)
def test_wrong_calls_are_refused(run, call, said):
    assert said in run("chat", *call, code=2).stderr


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["--resume", "nowhere"], "no session named 'nowhere'"),
        (["--fork", "nowhere"], "no session named 'nowhere'"),
        (["--model", "nonsense"], "is not a model name"),
        (["--model", "nobody:x"], "nobody"),
    ],
)
def test_what_is_not_there_is_said(run, call, said):
    assert said in run("chat", *call, code=1, stdin="hello\n").stderr


def test_the_model_of_the_settings_answers_and_the_session_remembers_it(run, world, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_MODEL", "offline/mine")
    first = run("chat", "-p", "hello")
    monkeypatch.delenv("BRANCHLINE_MODEL")

    run("chat", "--continue", "-p", "again")

    assert "no model configured" not in first.stderr
    with only_session(world) as session:
        assert session.context().model.id == "mine"


def test_nothing_that_a_model_says_acts_on_the_terminal_of_the_reader(run):
    evil = "offline: say a\x1b[2Jb\x07c\x9b31md\u202ee \x1b]52;c;aGk=\x07\n"

    done = run("chat", stdin=evil)

    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(done.stdout + done.stderr)
    assert "␛[2J" in done.stdout


def test_input_that_is_no_text_is_taken_as_far_as_it_goes(run, world):
    run("chat", stdin=b"offline: say \xff\xfe\n")

    with only_session(world) as session:
        assert words(session)[1] == "\ufffd\ufffd"


def mcp_config(world: Path, command: str, *arguments: str) -> str:
    config = world / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"loud": {"command": command, "args": arguments}}}))
    return str(config)


def with_servers(config: str, prompt: str) -> subprocess.CompletedProcess[str]:
    call = [*program(), "chat", "--mcp", config, "--allow-tool", "loud.shout", "--print", prompt]
    return subprocess.run(call, capture_output=True, text=True, check=False, timeout=60)


def test_the_tools_of_mcp_servers_are_there_for_the_model(world):
    server = Path(__file__).parents[1] / "models" / "mcp_server.py"
    config = mcp_config(world, sys.executable, str(server))

    done = with_servers(config, 'offline: call loud_shout {"text": "ahoy"}')

    assert "AHOY" in done.stdout, done.stderr


def test_an_mcp_server_that_does_not_start_is_said_before_anything_is_written(world):
    done = with_servers(mcp_config(world, "there-is-no-such-program"), "hello")

    assert done.returncode == 1
    assert "no program 'there-is-no-such-program' on PATH" in done.stderr
    assert not SessionLibrary.for_cwd(world).list().seen


def test_a_server_of_ones_own_answers_and_the_session_goes_on_with_it(run, world, monkeypatch):
    pytest.importorskip("pydantic_ai")
    with serving() as server:
        server.will(says("Hel", "lo"), says("again"))

        first = run("chat", "--model", "qwen:7b", "--base-url", server.url, "-p", "hi")
        monkeypatch.setenv("BRANCHLINE_BASE_URL", server.url)
        second = run("chat", "--continue", "-p", "more")

    assert (first.stdout, second.stdout) == ("Hello\n", "again\n")
    assert server.requests[1]["model"] == "qwen:7b"
    assert [message["content"] for message in server.requests[1]["messages"]] == ["hi", "Hello", "more"]


@pytest.mark.slow  # it is tried four times, with pauses
def test_a_server_that_is_not_there_is_said_and_the_chat_goes_on(run, world):
    pytest.importorskip("pydantic_ai")
    lines = "hi\n/model offline:echo\noffline: say fine\n"

    done = run(
        "chat", "--model", "x", "--base-url", "http://127.0.0.1:9/v1", "--name", "Lost", stdin=lines, code=1
    )

    assert done.stdout == "offline:echo\nfine\n"
    assert "/retry sends it again" in done.stderr


# -- as a process -----------------------------------------------------------------------------------------


def chatting(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*program(), "chat", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
    )


def said(process: subprocess.Popen[bytes], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line.encode() + b"\n")
    process.stdin.flush()


def heard(stream: IO[bytes] | None, words: bytes) -> None:
    """Wait until a process has written these words."""
    assert stream is not None
    seen, end = b"", time.monotonic() + 60
    while words not in seen:
        ready, _, _ = select.select([stream], [], [], max(0.0, end - time.monotonic()))
        piece = os.read(stream.fileno(), 65536) if ready else b""
        assert piece, f"{words!r} never came: {seen!r}"
        seen += piece


def ended(process: subprocess.Popen[bytes], code: int) -> tuple[str, str]:
    out, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert b"Traceback" not in errors
    return out.decode(), errors.decode()


def wait_for_file(world: Path) -> Path:
    """The file that a chat has written its first reply into."""
    until(lambda: len(SessionLibrary.for_cwd(world).list(deep=False)) > 0)
    return Path(SessionLibrary.for_cwd(world).list(deep=False)[0].path)


def until(condition: Callable[[], bool]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def test_an_interrupt_ends_the_answer_and_not_the_chat(world):
    chat = chatting()
    said(chat, "offline: say begun")
    file = wait_for_file(world)
    said(chat, "offline: slow 2")
    heard(chat.stdout, b"You")
    chat.send_signal(signal.SIGINT)
    until(lambda: b'"aborted"' in file.read_bytes())
    said(chat, "!echo a command; sleep 60")
    heard(chat.stdout, b"a command\n")
    chat.send_signal(signal.SIGINT)
    said(chat, "offline: say still here")

    out, errors = ended(chat, 0)

    assert out.endswith("still here\n")
    assert "aborted; partial output was saved" in errors
    assert "stopped" in errors
    with Session.open(file) as session:
        ends = [getattr(item.message, "stop_reason", None) for item in session.context().messages]
        assert [end for end in ends if end] == ["stop", "aborted", "stop"]
        assert words(session)[-1] == "still here"
        assert session.findings == []


def test_two_interrupts_at_the_prompt_leave(world):
    chat = chatting()
    said(chat, "/name ready")
    heard(chat.stdout, b"ready\n")
    chat.send_signal(signal.SIGINT)
    heard(chat.stderr, b"interrupted; press Ctrl-C again to quit")
    chat.send_signal(signal.SIGINT)

    chat.wait(60)  # before its input ends
    ended(chat, 130)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_ends_the_process_in_the_middle_of_an_answer_finds_what_came_in_the_file(world, number):
    text = f"one two three {'four ' * 60}"
    chat = chatting("--print", f"offline: slow 0.3\noffline: say {text}")
    until(lambda: len(SessionLibrary.for_cwd(world).drafts()) > 0)
    time.sleep(2)  # a few words have come; all of them take 20 seconds
    chat.send_signal(number)

    ended(chat, 128 + number)

    with only_session(world) as session:
        partial = session.entry(session.leaf).message
        assert partial.stop_reason == "aborted"
        assert text.startswith(words(session)[-1].strip())


def test_a_reader_who_goes_away_ends_the_chat_quietly(world):
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"(echo 'offline: say one'; sleep 1; echo 'offline: say two') | {program()[0]} chat | head -1; echo ${{PIPESTATUS[1]}}",
        ],
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.stdout.split() == [b"one", b"141"]
    assert b"Traceback" not in done.stderr


# -- resume -----------------------------------------------------------------------------------------------


@pytest.fixture
def pi_session(world, monkeypatch) -> Path:
    """A session in pi's folder, whose directory is this one."""
    home = world.parent / "person"
    folder = home / ".pi" / "agent" / "sessions" / "--work--"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    file = folder / "2026-01-05T09-00-00-000Z_abc12345.jsonl"
    head = {
        "type": "session",
        "version": 3,
        "id": "abc12345",
        "timestamp": "2026-01-05T09:00:00.000Z",
        "cwd": str(world),
    }
    first = {
        "type": "message",
        "id": "a1",
        "parentId": None,
        "timestamp": "2026-01-05T09:00:01.000Z",
        "message": {"role": "user", "content": "hello pi"},
    }
    file.write_text(json.dumps(head) + "\n" + json.dumps(first) + "\n")
    return file


@pytest.fixture
def pi(world, monkeypatch) -> None:
    """A program called pi that says how it was called, and where."""
    tools = world.parent / "tools"
    tools.mkdir()
    made = tools / "pi"
    made.write_text('#!/bin/sh\necho "$0 $@ in $(pwd)"\n')
    made.chmod(made.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")


def test_the_command_that_goes_on_is_shown(run, data, world, pi_session, pi):
    shown = run("resume", "abc12345", "--show").stdout
    seen = data("resume", "abc12345")

    assert shown == f"cd {world} && pi --session {pi_session}\n"
    assert seen["command"] == ["pi", "--session", str(pi_session)]
    assert (seen["agent"], seen["cwd"], seen["cwd_exists"]) == ("pi", str(world), True)


def test_without_a_terminal_the_program_is_named_and_not_run(run, pi_session, pi):
    done = run("resume", "abc12345")

    assert done.stdout.startswith("cd ")
    assert "pi needs a terminal" in done.stderr


def test_a_program_that_is_not_installed_is_said_and_the_session_goes_on_here_in_a_fork(
    run, world, pi_session, monkeypatch
):
    before = pi_session.read_bytes()
    monkeypatch.setenv("PATH", "/nonexistent")

    done = run("resume", "abc12345", stdin="offline: say here\n")

    assert "pi is not installed" in done.stderr
    assert done.stdout == "here\n"
    assert pi_session.read_bytes() == before
    with only_session(world) as session:
        assert session.parent_session == str(pi_session)
        assert words(session) == ["hello pi", "offline: say here", "here"]


def test_here_is_here_also_where_the_program_is_installed(run, world, pi_session, pi):
    run("resume", "abc12345", "--here", "--model", "offline:mine", stdin="offline: say here\n")

    with only_session(world) as session:
        assert words(session)[-1] == "here"
        assert session.context().model.id == "mine"


def test_our_own_session_goes_on_as_it_is(run, world):
    run("chat", "-p", "offline: say one")

    run("resume", "@last", stdin="offline: say two\n")

    with only_session(world) as session:
        assert words(session)[1::2] == ["one", "two"]


def test_a_directory_that_is_gone_is_said_and_another_one_can_be_given(run, world, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    run("chat", "--cwd", gone, "-p", "offline: say one")
    (row,) = SessionLibrary.for_cwd(gone).list()
    gone.rmdir()

    refused = run("resume", row.path, code=1, stdin="")
    assert f"the directory of this session no longer exists: {gone}; --cwd DIR" in refused.stderr

    run("resume", row.path, "--cwd", world, stdin="fork\noffline: say two\n")
    with only_session(world) as session:
        assert words(session)[1::2] == ["one", "two"]


def test_what_can_only_be_read_goes_on_in_a_fork(run, world):
    source = next((CORPUS / "codex").rglob("rollout*.jsonl"))

    done = run("resume", source, "--here", "--cwd", world, stdin="offline: say here\n")

    assert done.stdout == "here\n"
    with only_session(world) as session:
        assert words(session)[-1] == "here"
