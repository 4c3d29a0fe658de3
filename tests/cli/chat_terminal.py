"""A chat in a real terminal, which tmux keeps."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 40.0
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

    def say(self, words: str) -> None:
        """Enter this at a prompt: once it is seen there, no earlier prompt can be taken for the next one."""
        self.write(words)
        wanted, end = "".join(words.split()), time.monotonic() + PATIENCE
        while wanted not in "".join(self.screen().rpartition("❯")[2].split()):
            assert time.monotonic() < end, f"{words!r} was not written:\n{self.screen()}"
            time.sleep(0.05)
        self.press("Enter")

    def wait(self, pattern: str) -> str:
        """Until the screen has this."""
        end = time.monotonic() + PATIENCE
        while True:
            seen = self.screen()
            if re.search(pattern, seen, re.MULTILINE):
                return seen
            assert time.monotonic() < end, f"waited for {pattern!r}:\n{seen}"
            time.sleep(0.1)

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


def chat_in(cwd: Path, *options: str) -> Terminal:
    """Begin a chat in a terminal of its own."""
    command = " ".join([sys.executable, "-m", "branchline", "chat", *options])
    return Terminal(f"chat-{os.getpid()}-{time.monotonic_ns()}", command, cwd)
