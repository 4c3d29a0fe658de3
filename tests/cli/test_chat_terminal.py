"""``branchline chat`` in a real terminal: keys, pickers, Markdown as it is written, and nothing that acts on it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.entries import BranchSummary, message_text
from cli.chat_terminal import PATIENCE, Terminal

pytest.importorskip("prompt_toolkit")


def words(world: Path) -> list[str]:
    row = SessionLibrary.for_cwd(world).latest()
    assert row is not None
    with Session.open(row.path) as session:
        return [message_text(item.message) for item in session.context().messages]


@pytest.mark.parity("OMP-12")
def test_a_conversation_with_keys_from_the_first_prompt_to_the_end(terminal, world):
    """Commands for tree and branch, Escape twice for the tree, Escape to stop, Ctrl-C to clear and to leave."""
    terminal.say("offline: say **first** answer")
    terminal.wait(r"^first answer")  # Markdown, not its marks
    terminal.ready()

    terminal.write("offline: slow 1")
    terminal.press("M-Enter")  # a second line of the same prompt
    terminal.say(f"offline: say one two {'more ' * 60}")
    terminal.wait(r"^one two")
    terminal.write("/cost")  # while it works
    terminal.wait(r"^❯ /cost$")
    terminal.press("Enter")
    terminal.wait(r"^❯ /cost  waits for the end of the answer")
    terminal.press("Escape")
    terminal.wait("aborted; partial output was saved")
    assert words(world)[-1].startswith("one two")
    terminal.wait(r"^❯ /cost$")
    terminal.ready()
    terminal.press("Enter")
    terminal.wait("the session, all")
    terminal.ready()

    terminal.press("Escape", "Escape")  # the tree, by default
    terminal.wait("Go where\\?")
    terminal.write("first")
    terminal.wait(r"^ Search first")
    terminal.press("Home")
    terminal.wait(r"^▌ .*user: offline: say \*\*first")
    terminal.press("Enter")
    terminal.wait("Summarize the abandoned branch")
    terminal.press("Down", "Enter")
    terminal.wait("abandoned branch was summarized")
    terminal.wait(r"^❯ offline: say \*\*first\*\* answer")  # given back for editing
    terminal.say(" again")
    terminal.wait(r"^first answer again")
    row = SessionLibrary.for_cwd(world).latest()
    with Session.open(row.path) as session:
        assert any(isinstance(entry, BranchSummary) for entry in session.entries(session.path()))

    terminal.say("offline: slow 0.3")
    terminal.wait(r"^You said")
    terminal.write("offline: say steered")  # while it works
    terminal.press("Enter")
    terminal.write("kept words")
    terminal.wait(r"^❯ offline: say steered\s+steered\s+❯ kept words")
    terminal.ready()
    terminal.press("C-c")
    terminal.wait(r"^❯ *$")

    terminal.write("/br")
    terminal.wait(r"/branch  +Name the branch that begins here")  # completion with its help
    terminal.say("anch")
    terminal.wait("Rephrase which prompt in a new session\\?")  # the tree, as for double Escape
    terminal.write("again")
    terminal.wait(r"^ Search again")
    terminal.press("Home")
    terminal.wait(r"^[❯▌] .*user: offline: say \*\*first\*\* answer again")
    terminal.press("Enter")
    terminal.wait("you are in the new session")
    terminal.wait(r"^❯ offline: say \*\*first\*\* answer again")
    assert len(SessionLibrary.for_cwd(world).list()) >= 1

    terminal.ready()
    terminal.press("C-c", "C-c")  # clears, then leaves
    terminal.wait(r"^code 0")


@pytest.mark.parity("OMP-17")
@pytest.mark.parity("OMP-10", "OMP-11", part="in the chat")
def test_the_tree_of_the_chat_is_the_selector_of_the_browser(terminal, world):
    """Filters, folds, labels and search have the same keys, and what Enter selects is where the chat goes."""
    terminal.say("offline: say one")
    terminal.wait("^one")
    terminal.say("offline: say two")
    terminal.wait("^two")
    terminal.say("/undo")
    terminal.wait(r"now at .*\n❯ offline: say two")
    terminal.ready()
    terminal.press("C-c")
    terminal.wait("press Ctrl-C again to quit")
    terminal.wait(r"^❯ *$")
    terminal.say("offline: say three")
    terminal.wait("^three")

    terminal.say("/tree")
    seen = terminal.wait(r"^▌ .*assistant: three  ← you are here")
    drawn = seen.partition("Go where?")[2]
    assert drawn.index("say three") < drawn.index("say two")  # the active branch comes first
    assert drawn.count("▌") == 1
    for key, name in (("M-a", r"\[all\]"), ("M-l", r"\[labeled\]"), ("M-t", r"\[no-tools\]")):
        terminal.press(key)
        terminal.wait(name)
    terminal.press("M-d")
    terminal.wait(r"\(\d+/\d+\)$")  # no filter is named any more
    terminal.press("M-u")  # only prompts
    seen = terminal.wait(r"\[user\]")
    assert "assistant:" not in seen.partition("Go where?")[2]
    terminal.press("M-u", "Up")
    terminal.wait(r"^▌ .*user: offline: say three")
    terminal.press("M-Left")  # fold the branch
    terminal.wait("⊞")
    terminal.press("M-Right")
    terminal.wait("⊟")
    terminal.press("L")
    terminal.wait("label: ▏")
    terminal.write("third way")
    terminal.press("Enter")
    terminal.wait(r"^▌ .*\[third way\] user: offline: say three")
    terminal.press("M-l")
    terminal.wait(r"\(1/1\) \[labeled\]")
    terminal.press("M-l")
    terminal.write("say two")
    terminal.wait(r"^ Search say two")
    terminal.press("Home")
    terminal.wait(r"^▌ .*user: offline: say two")
    terminal.press("Enter")
    terminal.wait("Summarize the abandoned branch")
    terminal.press("Enter")
    terminal.wait(r"now at .*\n(.*\n)?❯ offline: say two")

    row = SessionLibrary.for_cwd(world).latest()
    with Session.open(row.path) as session:
        assert list(session.labels.values()) == ["third way"]
    assert words(world) == ["offline: say one", "one"]


def talk_of_three(terminal: Terminal) -> None:
    for word in ("one", "two", "three"):
        terminal.say(f"offline: say {word}")
        terminal.wait(f"^{word}")


@pytest.mark.parity("OMP-10", "OMP-11", "OMP-17")
def test_the_tree_of_the_chat_acts_on_the_marked_row_under_a_search_and_a_filter(terminal, world):
    talk_of_three(terminal)
    terminal.say("/tree")
    terminal.wait(r"^▌ .*assistant: three  ← you are here")
    terminal.write("say two")
    terminal.wait(r"^▌ .*user: offline: say two")

    terminal.press("L")
    terminal.wait("label: ▏")
    terminal.write("mine")
    terminal.press("Enter")
    terminal.wait(r"^▌ .*\[mine\] user: offline: say two")
    terminal.press("Escape")  # the search ends, and the cursor stays
    terminal.wait("assistant: three  ← you are here")
    terminal.wait(r"^▌ .*\[mine\] user: offline: say two")
    terminal.press("Escape")
    terminal.ready()
    row = SessionLibrary.for_cwd(world).latest()
    with Session.open(row.path) as session:
        labelled = [message_text(session.entry(key).message) for key in session.labels]
        assert labelled == ["offline: say two"]

    terminal.say("/tree")
    terminal.wait(r"^▌ .*assistant: three  ← you are here")
    terminal.press("F8", "F8")  # only prompts: the entry that was under the cursor has no row
    terminal.wait(r"\[user\]")
    terminal.wait(r"^▌ .*user: offline: say three")
    terminal.press("Enter")
    terminal.wait("Summarize the abandoned branch")
    terminal.press("Enter")
    terminal.wait(r"now at .*\n(.*\n)?❯ offline: say three")
    assert words(world) == ["offline: say one", "one", "offline: say two", "two"]


@pytest.mark.parity("OMP-18")
def test_branch_forks_at_the_marked_row_of_a_search(terminal, world):
    talk_of_three(terminal)
    terminal.say("/branch")
    terminal.wait(r"^▌ .*assistant: three  ← you are here")
    terminal.write("say two")
    terminal.wait(r"^▌ .*user: offline: say two")

    terminal.press("Enter")

    terminal.wait(r"you are in the new session")
    terminal.wait(r"^❯ offline: say two")
    assert words(world) == ["offline: say one", "one"]


@pytest.mark.parametrize("pause", [0.0, 0.05, 0.3, 0.8])
def test_a_command_that_follows_escape_keeps_its_slash(terminal, pause):
    terminal.ready()

    terminal.press("Escape")
    time.sleep(pause)
    terminal.write("/help tree")

    terminal.wait(r"^❯ /help tree")
    terminal.press("Enter")
    terminal.wait(r"Go to any entry")


def test_escape_then_enter_is_a_new_line_and_escape_twice_at_any_pace_opens_the_tree(terminal):
    terminal.say("offline: say one")
    terminal.wait("^one")
    terminal.ready()
    terminal.write("first")
    for pause in (0.0, 0.3):
        terminal.press("Escape")
        time.sleep(pause)
        terminal.press("Enter")
    terminal.write("second")
    terminal.wait(r"^❯ first\n\s*\n\s+second")
    terminal.press("C-c")
    terminal.wait(r"^❯ *$")

    terminal.press("Escape")
    time.sleep(0.3)
    terminal.press("Escape")

    terminal.wait(r"Go where\?")
    terminal.press("Escape")
    terminal.ready()


@pytest.mark.parity("OMP-12", part="the setting")
def test_escape_twice_opens_the_turns_if_the_setting_says_so(start, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_DOUBLE_ESCAPE", "turns")
    terminal = start()
    terminal.say("offline: say one")
    terminal.wait("^one")
    terminal.ready()

    terminal.press("Escape", "Escape")

    terminal.wait("Go back to which prompt\\?")
    terminal.press("Escape")
    terminal.wait("nothing selected; position unchanged")
    terminal.say("/quit")
    terminal.wait(r"^code 0")


def test_nothing_that_a_model_says_acts_on_the_terminal(world, monkeypatch):
    """Only our own colours and movements reach it: no clipboard, no title, no link, no bell."""
    monkeypatch.setenv("TERM", "xterm-256color")
    evil = (
        "# Title\x1b]0;owned\x07\n\n\x1b]52;c;aGVsbG8=\x07 \x9b2J [link](http://evil.example/\x1b) \u202eabc "
        "\x1b]8;;http://evil.example\x1b\\here\n\n```\n\x1b[10Acode\x07\n```\n"
    )
    with Session.create(world) as session:
        session.append_message("hello")
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": evil}]})
        session.append_message("offline: say " + evil.replace("\n", " "))
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "ok"}]})
        session.set_title("bad \x1b]0;title\x07")
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", "branchline", "chat", "--continue", "--model", "offline:echo"],
        stdin=there,
        stdout=there,
        stderr=there,
        start_new_session=True,
    )
    os.close(there)
    printed, answered = b"", 0

    def quiet(mark: bytes) -> None:
        """Read until this was printed and nothing more comes."""
        nonlocal printed, answered
        begun, end = len(printed), time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < end, (mark, printed[-2000:])
            if select.select([here], [], [], 1.0)[0]:
                printed += os.read(here, 65536)
            elif mark in printed[begun:]:
                return
            while answered < printed.count(b"\x1b[6n"):
                os.write(here, b"\x1b[1;1R")  # where the cursor is, as a terminal says it
                answered += 1

    try:
        quiet(b"offline:echo")
        os.write(here, b"/retry\r")
        quiet(b"Title")
        os.write(here, b"/tree\r")
        quiet(b"Go where?")
        os.write(here, b"\x03")
        quiet(b"nothing selected")
        os.write(here, b"/undo\r")
        quiet(b"now at")
        os.write(here, b"\x03")
        quiet(b"\x1b")  # only what differs is written
        os.write(here, b"/quit\r")
        child.wait(PATIENCE)
    finally:
        child.kill()
        child.wait()
        os.close(here)

    text = printed.decode("utf-8", "replace")
    ours = re.sub(r"\x1b\[\??[0-9;]*[A-Za-z]", "", text)  # colours, movements and modes of the screen itself
    assert "\x1b]" not in text
    assert "\x07" not in text
    assert "\x9b" not in text
    assert "\u202e" not in text
    assert "\x1b" not in ours.replace("\x1b[?", "").replace("\x1b=", "").replace("\x1b>", "")
    assert "␛]52" in ours


def test_resume_shows_the_command_and_then_runs_it(world, monkeypatch):
    """In a terminal the program takes over, in the directory of the session, and its code is ours."""
    home = world.parent / "person"
    folder = home / ".pi" / "agent" / "sessions" / "--work--"
    folder.mkdir(parents=True)
    file = folder / "2026-01-05T09-00-00-000Z_abc12345.jsonl"
    file.write_text(
        f'{{"type":"session","version":3,"id":"abc12345","timestamp":"2026-01-05T09:00:00.000Z","cwd":"{world}"}}\n'
    )
    tool = world.parent / "tools" / "pi"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "pi ran with $@ in $(pwd)"\nexit 7\n')
    tool.chmod(0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    here, there = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "branchline", "resume", "abc12345"], stdin=there, stdout=there, stderr=there
    )
    os.close(there)
    printed = b""
    while True:
        try:
            piece = os.read(here, 65536)
        except OSError:
            break
        printed += piece
    os.close(here)

    assert child.wait(PATIENCE) == 7
    shown, ran = printed.decode().replace("\r\n", "\n").rstrip("\n").split("\n")
    assert shown == f"cd {world} && pi --session {file}"
    assert ran == f"pi ran with --session {file} in {world}"


ANSWER = """
import time
from branchline.cli.streaming_answer import AnswerView

view = AnswerView(colored=True, light=False)
code = chr(10).join(f"line_{number}" for number in range(60))
text = f"# Title\\n\\nSome *words*.\\n\\n```\\n{code}\\n```\\n\\n1. one\\n\\n2. two\\n\\nThe end, [here](http://x.example/).\\n"
for start in range(0, len(text), 9):
    view.write(text[start : start + 9])
    time.sleep(0.005)
view.flush()
print("afterwards")
"""


def test_an_answer_that_is_longer_than_the_screen_is_there_once(world, tmp_path):
    """While it is written its end is seen; when it is finished everything stands there, in order and once."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    script = tmp_path / "answer.py"
    script.write_text(ANSWER)
    terminal = Terminal(f"long-{os.getpid()}-{time.monotonic_ns()}", f"{sys.executable} {script}", world)
    try:
        terminal.wait("^afterwards")
        lines = [line.strip() for line in terminal.history().split("\n")]
    finally:
        terminal.close()

    assert [line for line in lines if line.startswith("line_")] == [f"line_{number}" for number in range(60)]
    assert [line for line in lines if line in ("Title", "Some words.")] == ["Title", "Some words."]
    assert "The end, here (http://x.example/)." in lines
