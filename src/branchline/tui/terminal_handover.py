"""A terminal that shows something before the app is loaded, and keeps what is typed meanwhile for it."""

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
    """The terminal while the app has it, and how it was before."""

    def __init__(self, attributes: list[Any] | None = None) -> None:
        self._attributes = attributes
        self.handed_over = False

    def hand_over(self) -> None:
        """Leave the screen to the app, which also cleans it up."""
        self.handed_over = True

    def give_back(self) -> None:
        """Let the terminal behave as it was found: for the shell, or for a program that it is lent to.

        The app cannot do that, because what it finds is what was set here.
        """
        if self._attributes is not None:
            import termios  # noqa: PLC0415  there is none on every system

            termios.tcsetattr(0, termios.TCSANOW, self._attributes)


@contextmanager
def first_screen(draw: Callable[[int, int], str | None]) -> Iterator[Terminal]:
    """Show what ``draw`` makes for this many columns and rows; None shows nothing.

    What is typed by the time that the app takes over is not echoed and waits in the terminal, which is given
    back as it was found in the end.
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
    """Write to the terminal where Textual writes, and as it does."""
    encoding = "utf-8" if sys.__stderr__ is None else sys.__stderr__.encoding
    data = text.encode(encoding, "replace")
    while data:
        data = data[os.write(2, data) :]


def _quiet(attributes: list[Any]) -> list[Any]:
    """Keys come as they are and show nothing, as the app will have them; Ctrl+C still ends the program."""
    import termios  # noqa: PLC0415

    inputs, outputs, control, local, *rest = attributes
    inputs &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
    local &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    return [inputs, outputs, control, local, *rest]
