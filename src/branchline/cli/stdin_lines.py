"""Lines of standard input while other things go on: a thread reads them, whoever wants one awaits it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

__all__ = ["INTERRUPTED", "InputLines", "Interrupted"]

_PIECE = 1 << 16


class Interrupted:
    """What comes instead of a line when the person interrupted."""


INTERRUPTED = Interrupted()


class InputLines:
    """The lines of standard input; None at their end, and ever after.

    The thread reads the descriptor itself: who ends the program while it waits in Python's own buffer leaves
    a lock behind that nobody can take any more.
    """

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | Interrupted | None] = asyncio.Queue()
        self._begun = False
        self._ended = False

    async def next(self) -> str | Interrupted | None:
        """The next line without its end."""
        if not self._begun:
            self._begun = True
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._read, args=(loop,), name="standard input", daemon=True).start()
        if self._ended and self._lines.empty():
            return None
        line = await self._lines.get()
        self._ended = self._ended or line is None
        return line

    def interrupt(self) -> None:
        """Let whoever waits for a line know that none will come."""
        self._lines.put_nowait(INTERRUPTED)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop has ended meanwhile
            for line in _lines():
                loop.call_soon_threadsafe(self._lines.put_nowait, line)
            loop.call_soon_threadsafe(self._lines.put_nowait, None)


def _lines() -> Iterator[str]:
    """The lines of standard input; what is not UTF-8 in them is marked."""
    begun = bytearray()
    for piece in _pieces():
        *lines, rest = piece.split(b"\n")
        for line in lines:
            yield (begun + line).decode("utf-8", "replace").removesuffix("\r")
            begun.clear()
        begun += rest
    if begun:
        yield begun.decode("utf-8", "replace")


def _pieces() -> Iterator[bytes]:
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):  # not a real stream
        yield from iter(lambda: sys.stdin.buffer.read(_PIECE), b"")
        return
    with suppress(OSError):  # the terminal has gone: that is the end
        yield from iter(lambda: os.read(descriptor, _PIECE), b"")
