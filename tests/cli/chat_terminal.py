"""A chat in a real terminal, which tmux keeps."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 60.0
LIVE = r"context \S+ \S+ of|press Ctrl-C again to quit"
"""A prompt waits for input: what is below it is shown only there."""
READY = r"^❯\s*$"
"""The line to write in is empty: whatever was going on has ended."""


class Terminal:
    """A terminal of its own, which tmux keeps."""

    def __init__(self, name: str, command: str, cwd: Path) -> None:
        self._tmux = ["tmux", "-L", name, "-f", "/dev/null", "-u"]
        start = [
            "new-session",
            "-d",
            "-x",
            "90",
            "-y",
            "30",
            "-c",
            str(cwd),
            f"{command}; echo code $?; sleep 60",
        ]
        # readline sets COLUMNS behind Python's back; a terminal of its own size must not inherit it.
        subprocess.run([*self._tmux, *start], check=True, capture_output=True, env=dict(os.environ))

    def screen(self) -> str:
        call = [*self._tmux, "capture-pane", "-p"]
        return subprocess.run(call, check=True, capture_output=True, text=True, encoding="utf-8").stdout

    def history(self) -> str:
        """Everything that was printed, what has left the screen included."""
        call = [*self._tmux, "capture-pane", "-p", "-S", "-500"]
        return subprocess.run(call, check=True, capture_output=True, text=True, encoding="utf-8").stdout

    def press(self, *keys: str) -> None:
        subprocess.run([*self._tmux, "send-keys", *keys], check=True)

    def write(self, words: str) -> None:
        subprocess.run([*self._tmux, "send-keys", "-l", words], check=True)

    def resize(self, columns: int, rows: int) -> None:
        """Until the program can see the size: tmux tells it to the terminal a little later."""
        subprocess.run([*self._tmux, "resize-window", "-x", str(columns), "-y", str(rows)], check=True)
        call = [*self._tmux, "display-message", "-p", "#{pane_tty}"]
        device = subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()
        self._until(lambda: _size(device) == (columns, rows), f"{device} is not of that size")

    def ready(self) -> None:
        """Until a prompt waits for input: the line of the context is below a prompt, and only there."""
        self.wait(LIVE)

    def say(self, words: str) -> None:
        """Enter this at a prompt; when this returns, the prompt has taken it."""
        self.ready()
        self.write(words)
        self._until(lambda: self._holds(words), f"{words!r} was not written")
        self.press("Enter")
        self._until(
            lambda: not (self._holds(words) and re.search(LIVE, self.screen())), f"{words!r} was not entered"
        )

    def _holds(self, words: str) -> bool:
        """Whether the last prompt on the screen has these words, however they are broken."""
        return "".join(words.split()) in "".join(self.screen().rpartition("❯")[2].split())

    def _until(self, is_so: Callable[[], object], otherwise: str) -> None:
        end = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < end, f"{otherwise}:\n{self.screen()}"
            time.sleep(0.05)

    def wait(self, pattern: str) -> str:
        """Until the screen has this."""
        seen = [""]

        def is_there() -> object:
            seen[0] = self.screen()
            return re.search(pattern, seen[0], re.MULTILINE)

        self._until(is_there, f"waited for {pattern!r}")
        return seen[0]

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


def chat_in(cwd: Path, *options: str) -> Terminal:
    """Begin a chat in a terminal of its own."""
    command = " ".join([sys.executable, "-m", "branchline", "chat", *options])
    return Terminal(f"chat-{os.getpid()}-{time.monotonic_ns()}", command, cwd)


def _size(device: str) -> tuple[int, int]:
    descriptor = os.open(device, os.O_RDONLY | os.O_NOCTTY)
    try:
        size = os.get_terminal_size(descriptor)
        return size.columns, size.lines
    finally:
        os.close(descriptor)
