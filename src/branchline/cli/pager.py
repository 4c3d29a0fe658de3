"""A pager for long results on a terminal, as in git."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence

from branchline.cli.streams import PagerClosed
from branchline.programs import command_words, safe_environment

__all__ = ["Pager", "pager_command"]

_NO_PAGER = frozenset({"", "never", "cat"})


def pager_command(setting: str) -> list[str] | None:
    """Return the pager command of the setting: ``auto`` is $PAGER, else less. None without a pager."""
    wanted = os.environ.get("PAGER", "less") if setting == "auto" else setting
    return None if (wanted.split() or [""])[0] in _NO_PAGER else command_words(wanted)


class Pager:
    """A running pager."""

    def __init__(self, command: Sequence[str]) -> None:
        environment = safe_environment()
        environment.setdefault("LESS", "FRX")  # exit if it fits, pass colours, keep the screen
        environment.setdefault("LESSCHARSET", "utf-8")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)  # noqa: S603  chosen by the user

    def write(self, data: bytes) -> None:
        """Write to the pager. Raises PagerClosed if it has exited."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
        except BrokenPipeError:
            raise PagerClosed from None

    def close(self) -> None:
        """Close the input of the pager and wait until it exits; Ctrl+C goes to the pager until then."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
