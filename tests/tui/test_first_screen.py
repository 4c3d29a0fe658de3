"""The start of the installed program in a terminal of its own: rows before the app, keys kept, all given back."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from branchline import Session
from branchline.formats import PI
from tui.kit import answer, user

pty = pytest.importorskip("pty")
PATIENCE = 40.0
_OWNED = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes the terminal that of the program, so that Ctrl+C in it is an interruption."""


class Started:
    """The program in a pseudo-terminal."""

    def __init__(
        self,
        home: Path,
        *,
        program: tuple[str, ...] = ("-m", "branchline"),
        path: str = os.environ["PATH"],
    ) -> None:
        self.terminal, other = pty.openpty()
        self.before = termios.tcgetattr(other)
        self.other = other
        environment = {
            "HOME": str(home),
            "PATH": path,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "COLUMNS": "80",
            "LINES": "24",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", _OWNED, sys.executable, *program],
            stdin=other,
            stdout=other,
            stderr=other,
            cwd=home / "project",
            env=environment,
            start_new_session=True,
        )
        self.seen = b""

    def wait(self, words: bytes) -> bytes:
        """Read until the words have come; what came."""
        end = time.monotonic() + PATIENCE
        while words not in self.seen:
            assert time.monotonic() < end, self.seen[-3000:]
            if select.select([self.terminal], [], [], 0.2)[0]:
                self.seen += os.read(self.terminal, 1 << 16)
        return self.seen

    def ended(self) -> int:
        """Read on until the program has ended; its exit code."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, self.seen[-3000:]
            if select.select([self.terminal], [], [], 0.05)[0]:
                self.seen += os.read(self.terminal, 1 << 16)
        while select.select([self.terminal], [], [], 0.05)[0]:
            self.seen += os.read(self.terminal, 1 << 16)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.terminal)
        os.close(self.other)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("BRANCHLINE_HOME")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for title in ("Checkout", "Refunds"):
        with Session.create(tmp_path / "project") as session:
            session.append_message(user(f"About {title}?"))
            session.append_message(answer("So and so."))
            session.set_title(title)
    return tmp_path


@pytest.fixture
def started(home: Path) -> Iterator[Started]:
    made = Started(home)
    yield made
    made.close()


def test_rows_come_before_the_app_and_keys_typed_meanwhile_are_its_first(started: Started) -> None:
    first = started.wait(b"Refunds")
    assert first.count(b"\x1b[?1049h") == 1  # the app has not begun: it would say so once more

    os.write(started.terminal, b"checkout")
    started.wait(b"in 1 session")

    os.write(started.terminal, b"\x11")
    assert started.ended() == 0
    assert started.seen.rindex(b"\x1b[?1049l") > started.seen.rindex(b"\x1b[?1049h")
    assert termios.tcgetattr(started.other)[3] == started.before[3]


def test_a_program_that_a_session_continues_in_has_the_terminal_as_it_was(home: Path) -> None:
    """It may read lines: what is typed is echoed, and Enter ends a line."""
    program = home / "bin" / "pi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nstty -a > {home}/modes\n")
    program.chmod(0o755)
    directory = PI.home.directory(str(home / "project"), {}, str(home))
    with Session.create(home / "project", directory=directory) as session:
        session.append_message(user("Hello from pi"))
        session.append_message(answer("Hello."))
    started = Started(home, path=f"{program.parent}:{os.environ['PATH']}")
    try:
        started.wait(b"Hello from pi")
        os.write(started.terminal, b"\r")
        end = time.monotonic() + PATIENCE
        while not (home / "modes").exists() or not (modes := (home / "modes").read_text().split()):
            assert time.monotonic() < end, started.seen[-3000:]
            if select.select([started.terminal], [], [], 0.05)[0]:
                started.seen += os.read(started.terminal, 1 << 16)
        assert {"echo", "icanon", "icrnl", "isig"} <= {mode.rstrip(";") for mode in modes}
    finally:
        started.close()


def test_ctrl_c_before_the_app_is_there_gives_the_terminal_back(home: Path, tmp_path: Path) -> None:
    """A program that never gets beyond the first picture."""
    program = tmp_path / "slow.py"
    program.write_text(
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'branchline.tui.app':\n"
        "            time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "sys.argv[0] = 'branchline'\n"
        "from branchline.cli import main\n"
        "main()\n"
    )
    started = Started(home, program=(str(program),))
    try:
        started.wait(b"keys")
        time.sleep(0.2)
        os.write(started.terminal, b"\x03")

        assert started.ended() == 130
        assert started.seen.rstrip().endswith(b"\x1b[?1049l")
        assert b"Traceback" not in started.seen
        assert termios.tcgetattr(started.other)[3] == started.before[3]
    finally:
        started.close()


def test_where_stderr_is_no_terminal_nothing_is_drawn_before_the_app(home: Path) -> None:
    terminal, other = pty.openpty()
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from branchline.tui.terminal_handover import first_screen as f\nwith f(lambda *_: 'x'): pass",
        ],
        stdin=other,
        stdout=other,
        stderr=subprocess.PIPE,
        cwd=home,
    )
    _out, said = process.communicate(timeout=PATIENCE)
    os.close(terminal)
    os.close(other)

    assert (process.returncode, said) == (0, b"")
