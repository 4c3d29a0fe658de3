"""The installed program in a real terminal: search, hit, branch, name, fork, undo, export, compare, continue."""

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
from branchline.entries import message_text
from branchline.formats import PI
from tui.kit import answer, user

PATIENCE = 60.0


class Terminal:
    """A terminal of its own, which tmux keeps."""

    def __init__(self, name: str, command: str, cwd: Path) -> None:
        self._tmux = ["tmux", "-L", name, "-f", "/dev/null", "-u"]
        start = ["new-session", "-d", "-x", "100", "-y", "30", "-c", str(cwd), command]
        # The environment as Python knows it: readline sets COLUMNS and LINES behind its back.
        subprocess.run([*self._tmux, *start], check=True, capture_output=True, env=dict(os.environ))

    def screen(self) -> str:
        done = subprocess.run(
            [*self._tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True, encoding="utf-8"
        )
        return done.stdout

    def press(self, *keys: str) -> None:
        subprocess.run([*self._tmux, "send-keys", *keys], check=True)

    def write(self, words: str) -> None:
        subprocess.run([*self._tmux, "send-keys", "-l", words], check=True)

    def resize(self, columns: int, rows: int) -> None:
        size = ["resize-window", "-x", str(columns), "-y", str(rows)]
        subprocess.run([*self._tmux, *size], check=True, capture_output=True)

    def click(self, words: str) -> None:
        """Click on words, as a terminal tells it to a program."""
        lines = self.screen().split("\n")
        row = next(row for row, line in enumerate(lines) if words in line)
        column = lines[row].index(words) + 1
        for end in "Mm":
            self.write(f"\x1b[<0;{column + 1};{row + 1}{end}")

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
    program_of_pi.write_text(
        "#!/bin/sh\n"
        """sed '1s/"id":"[^"]*"/"id":"second"/' "$2" > "${2%.jsonl}-2.jsonl"\n"""  # as pi would begin another
        'echo "$@" > "$HOME/ran"\npwd >> "$HOME/ran"\n'
    )
    program_of_pi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program_of_pi.parent}:{os.environ['PATH']}")
    command = f"{shlex.quote(sys.executable)} -m branchline; echo CODE=$?; sleep 60"
    made = Terminal(f"branchline-{os.getpid()}-{tmp_path.name}", command, project)
    yield made
    made.close()


def test_a_person_finds_reads_labels_branches_forks_undoes_a_delete_exports_compares_and_continues_in_chat_and_pi(
    terminal: Terminal, tmp_path: Path
) -> None:
    library = SessionLibrary.for_cwd(tmp_path / "project")

    terminal.wait("3 sessions")
    terminal.write("fix it")
    terminal.wait("place 1 of 2 in 1 session")
    terminal.press("F3")
    terminal.wait("place 2 of 2")
    terminal.press("Enter")
    terminal.wait("branchline / project / Checkout")
    terminal.wait("Search fix it")  # the words were carried over
    terminal.press("C-t")
    terminal.wait("← you are here")

    terminal.press("L")
    terminal.wait("Label of this entry")
    terminal.write("good end")
    terminal.press("Enter")
    terminal.wait("labelled; Ctrl+Z undoes it")
    terminal.press("C-z")
    terminal.wait("undid label")
    terminal.wait("[good end]", gone=True)
    terminal.press("M-z")
    terminal.wait("redid label")
    terminal.wait("[good end]")

    terminal.press("Home")
    terminal.press("Down")
    terminal.press("Enter")
    terminal.wait("Go back to here")
    terminal.press("Enter")
    terminal.wait("assistant: About: Why is the test red?  ← you are here")

    terminal.press("F2")
    terminal.wait("Name of the branch")
    terminal.write("calm")
    terminal.press("Enter")
    terminal.wait("the branch 'calm' begins here")
    terminal.press("F5")
    terminal.wait("0 entries, ends at")
    terminal.press("Escape")
    terminal.wait("0 entries, ends at", gone=True)

    terminal.press("Enter")
    terminal.wait("Fork at this entry")
    terminal.write("fork at")
    terminal.press("Enter")
    terminal.wait("forked into")

    terminal.press("Escape")
    terminal.wait("Search fix it")
    terminal.press("Escape")
    terminal.wait("Search fix it", gone=True)  # an Escape right behind another one would be another key
    terminal.press("Escape")
    terminal.wait("of 2 in 1 session")  # the search of the list is still in force
    terminal.press("Escape")
    terminal.wait("4 sessions")
    terminal.write("refunds")
    terminal.wait("in 1 session")
    terminal.press("Delete")
    terminal.wait("Move 1 session to the trash?")
    terminal.press("Enter")
    terminal.wait("in the trash.  Ctrl+Z undo")
    assert len(library.trash()) == 1
    terminal.press("C-z")
    terminal.wait("1 session restored")
    assert library.trash() == []

    terminal.press("C-o")
    terminal.wait("Continue in branchline")
    terminal.write("export")
    terminal.press("Enter")
    terminal.wait("Export to which file?")
    terminal.press("C-u")
    terminal.write("talk.md")
    terminal.press("Enter")
    terminal.wait("written:")
    assert "How do refunds work?" in (tmp_path / "project" / "talk.md").read_text()

    terminal.press("Escape")
    terminal.wait("4 sessions")
    terminal.press("IC", "Down", "IC")  # not a session and its fork, which are the same path
    terminal.wait("2 marked")
    terminal.press("F6")
    terminal.wait("branchline / Compare two sessions")
    terminal.wait("Turn 1")
    compared = terminal.screen()
    assert "Why is the test red?" in compared
    assert "nothing shared" in compared
    terminal.press("F6")
    terminal.wait("Turn 1")
    terminal.resize(72, 20)
    terminal.resize(120, 36)
    terminal.press("Escape")
    terminal.wait("2 marked")
    terminal.press("Escape")
    terminal.wait("2 marked", gone=True)
    terminal.wait("Git branch")  # there is room for it now

    terminal.click("Statistics")
    terminal.wait("Cost per day")
    terminal.press("Escape")
    terminal.wait("Git branch")

    terminal.write("fix it agent:branchline")
    terminal.wait("in 1 session")
    terminal.press("C-o")
    terminal.wait("Continue in branchline")
    terminal.write("continue in")
    terminal.press("Enter")
    terminal.wait("offline:echo · context")  # the chat, at the end of the branch
    terminal.write("offline: say calm again")
    terminal.press("Enter")
    terminal.wait("\ncalm again")
    terminal.wait("offline:echo · context")
    terminal.write("/quit")
    terminal.press("Enter")
    terminal.wait("in 1 session")  # the browser is there again
    terminal.press("Escape")
    terminal.wait("Search fix it", gone=True)

    terminal.write("agent:pi")
    terminal.wait("1 of 4 sessions")
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
    terminal.wait("2 of 5 sessions")  # the browser is there again, with what pi wrote

    terminal.press("C-q")
    terminal.wait("CODE=0")
    rows = {row.title or row.first_prompt: row for row in library.list(deep=True)}
    assert len(library.list()) == 3
    session = library.open(rows["Checkout"].id)
    assert session is not None
    with session:
        assert list(session.labels.values()) == ["good end"]
        said = [message_text(item.message) for item in session.context().messages]
        assert said == [
            "Why is the test red?",
            "About: Why is the test red?",
            "offline: say calm again",
            "calm again",
        ]
        assert [branch.name for branch in session.named_branches()] == ["calm"]
