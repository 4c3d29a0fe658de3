"""The installed program in a real terminal: browse, search, open a tree, label, branch, fork, undo a delete, continue, quit."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.formats import PI
from tui.kit import answer, user

PATIENCE = 40.0


class Terminal:
    """A terminal of its own, which tmux keeps."""

    def __init__(self, name: str, command: str, cwd: Path) -> None:
        self._tmux = ["tmux", "-L", name, "-f", "/dev/null", "-u"]
        start = ["new-session", "-d", "-x", "100", "-y", "30", "-c", str(cwd), command]
        subprocess.run([*self._tmux, *start], check=True, capture_output=True)

    def screen(self) -> str:
        done = subprocess.run(
            [*self._tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True, encoding="utf-8"
        )
        return done.stdout

    def press(self, *keys: str) -> None:
        subprocess.run([*self._tmux, "send-keys", *keys], check=True)

    def write(self, words: str) -> None:
        subprocess.run([*self._tmux, "send-keys", "-l", words], check=True)

    def wait(self, words: str, *, gone: bool = False) -> str:
        """Until the words are on the screen, or not on it any more."""
        end = time.monotonic() + PATIENCE
        while True:
            seen = self.screen()
            if (words in seen) is not gone:
                return seen
            assert time.monotonic() < end, f"waited for {words!r}{' to go' if gone else ''}:\n{seen}"
            time.sleep(0.1)

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    program = Path(sys.executable).with_name("branchline")
    if not program.exists():
        pytest.skip("the program is not installed beside this interpreter")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    for name in ("TMUX", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    for title, words in (
        ("Checkout", ("Why is the test red?", "Fix it")),
        ("Refunds", ("How do refunds work?",)),
    ):
        with Session.create(project) as session:
            for text in words:
                session.append_message(user(text))
                session.append_message(answer(f"About: {text}"))
            session.set_title(title)
    directory = PI.home.directory(str(project), {}, str(tmp_path))
    with Session.create(project, directory=directory) as session:  # as pi would keep it
        session.append_message(user("Hello from pi"))
        session.append_message(answer("Hello."))
    program_of_pi = tmp_path / "bin" / "pi"
    program_of_pi.parent.mkdir()
    program_of_pi.write_text('#!/bin/sh\necho "$@" > "$HOME/ran"\npwd >> "$HOME/ran"\n')
    program_of_pi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program_of_pi.parent}:{os.environ['PATH']}")
    command = f"{shlex.quote(str(program))}; echo CODE=$?; sleep 60"
    made = Terminal(f"branchline-{os.getpid()}-{tmp_path.name}", command, project)
    yield made
    made.close()


def test_a_person_browses_searches_labels_branches_forks_undoes_a_delete_continues_in_pi_and_quits(
    terminal: Terminal, tmp_path: Path
) -> None:
    library = SessionLibrary.for_cwd(tmp_path / "project")

    terminal.wait("3 sessions seen · 3 shown")
    terminal.press("/")
    terminal.write("checkout")
    terminal.wait("2 filtered out")
    terminal.press("Enter")
    terminal.press("t")
    terminal.wait("← you are here")

    terminal.press("L")
    terminal.wait("Label of this entry")
    terminal.write("good end")
    terminal.press("Enter")
    terminal.wait("[good end] assistant: About: Fix it")

    terminal.press("Home")
    terminal.press("Down")
    terminal.press("Enter")
    terminal.wait("Go back to here")
    terminal.press("Enter")
    terminal.wait("assistant: About: Why is the test red?  ← you are here")

    terminal.press("Enter")
    terminal.wait("Fork at this entry")
    terminal.press("Down", "Down", "Down", "Down", "Enter")
    terminal.wait("forked into")

    terminal.press("Escape")
    terminal.wait("4 sessions seen · 1 shown")  # the search is still in force
    terminal.press("d")
    terminal.wait("moved to the trash")
    assert len(library.trash()) == 1
    terminal.press("u")
    terminal.wait("restored")
    assert library.trash() == []

    terminal.press("Escape")
    terminal.wait("4 sessions seen · 4 shown")  # the last search has also left three out
    terminal.press("/")
    terminal.write("hello from")
    terminal.wait("3 filtered out")
    terminal.press("Enter")
    terminal.press("Enter")
    ran = tmp_path / "ran"
    end = time.monotonic() + PATIENCE
    while not ran.exists() or ran.read_text().count("\n") < 2:
        assert time.monotonic() < end, terminal.screen()
        time.sleep(0.1)
    command, cwd = ran.read_text().splitlines()
    assert command.startswith("--session ")
    assert command.endswith(".jsonl")
    assert cwd == str(tmp_path / "project")
    terminal.wait("3 filtered out")  # the browser is there again

    terminal.press("q")
    terminal.wait("CODE=0")
    rows = {row.title or row.first_prompt: row for row in library.list(deep=True)}
    assert len(library.list()) == 3
    session = library.open(rows["Checkout"].id)
    assert session is not None
    with session:
        assert list(session.labels.values()) == ["good end"]
        assert len(session.path()) == 2
