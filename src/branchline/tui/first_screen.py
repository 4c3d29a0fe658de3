"""A terminal that shows something before the app is loaded, and keeps what is typed meanwhile for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["first_screen"]

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"


@contextmanager
def first_screen(draw: Callable[[int, int], str | None]) -> Iterator[Callable[[], None]]:
    """Show what ``draw`` makes for this many columns and rows; None shows nothing.

    Gives the function to call when the app takes the screen over, which also leaves it. What is typed by then
    is not echoed and waits in the terminal. The terminal is given back as it was found.
    """
    handed_over = False

    def hand_over() -> None:
        nonlocal handed_over
        handed_over = True

    text = _drawn(draw)
    if text is None:
        yield hand_over
        return
    import termios  # noqa: PLC0415  there is none on every system

    try:
        before = termios.tcgetattr(0)
    except termios.error:
        yield hand_over
        return
    try:
        termios.tcsetattr(0, termios.TCSANOW, _quiet(before))
        _write(_ENTER + text)
        yield hand_over
    finally:
        if not handed_over:
            _write(_LEAVE)
        termios.tcsetattr(0, termios.TCSANOW, before)


def _drawn(draw: Callable[[int, int], str | None]) -> str | None:
    import shutil  # noqa: PLC0415

    if sys.platform == "win32" or sys.__stderr__ is None or not sys.__stderr__.isatty():
        return None
    size = shutil.get_terminal_size()
    return draw(size.columns, size.lines)


def _write(text: str) -> None:
    """Write to the terminal where Textual writes."""
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(2, data) :]


def _quiet(attributes: list[Any]) -> list[Any]:
    """Keys come as they are and show nothing, as the app will have them; Ctrl+C still ends the program."""
    import termios  # noqa: PLC0415

    inputs, outputs, control, local, *rest = attributes
    inputs &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
    local &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    return [inputs, outputs, control, local, *rest]
