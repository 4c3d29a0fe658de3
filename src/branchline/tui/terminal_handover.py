"""Shows the first frame before the app is loaded, and keeps typed keys for the app."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Terminal", "first_screen"]

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"


class Terminal:
    """The terminal during the app, with its original settings."""

    def __init__(self, attributes: list[Any] | None = None) -> None:
        self._attributes = attributes
        self.handed_over = False

    def hand_over(self) -> None:
        """Hand the screen to the app, which also restores it."""
        self.handed_over = True

    def give_back(self) -> None:
        """Restore the original terminal settings, for the shell or another program.

        The app cannot do it, because it finds the settings made here.
        """
        if self._attributes is not None:
            import termios  # noqa: PLC0415  there is none on every system

            termios.tcsetattr(0, termios.TCSANOW, self._attributes)


@contextmanager
def first_screen(draw: Callable[[int, int], str | None]) -> Iterator[Terminal]:
    """Show the frame that ``draw`` returns for columns and rows; None shows nothing.

    Keys typed before the app takes over are not echoed and stay in the input buffer. The terminal settings
    are restored at the end.
    """
    text = _drawn(draw)
    if text is None:
        yield Terminal()
        return
    import termios  # noqa: PLC0415

    try:
        before = termios.tcgetattr(0)
    except termios.error:
        yield Terminal()
        return
    terminal = Terminal(before)
    try:
        termios.tcsetattr(0, termios.TCSANOW, _quiet(before))
        _write(_ENTER + text)
        yield terminal
    finally:
        if not terminal.handed_over:
            _write(_LEAVE)
        terminal.give_back()


def _drawn(draw: Callable[[int, int], str | None]) -> str | None:
    import shutil  # noqa: PLC0415

    if sys.platform == "win32" or sys.__stderr__ is None or not sys.__stderr__.isatty():
        return None
    size = shutil.get_terminal_size()
    return draw(size.columns, size.lines)


def _write(text: str) -> None:
    """Write to the stream that Textual writes to."""
    encoding = "utf-8" if sys.__stderr__ is None else sys.__stderr__.encoding
    data = text.encode(encoding, "replace")
    while data:
        data = data[os.write(2, data) :]


def _quiet(attributes: list[Any]) -> list[Any]:
    """Turn off echo and line mode, as the app will; Ctrl+C still ends the program."""
    import termios  # noqa: PLC0415

    inputs, outputs, control, local, *rest = attributes
    inputs &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
    local &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    return [inputs, outputs, control, local, *rest]
