"""Asynchronous lines from standard input, read by a thread."""

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
    """Returned in place of a line after an interrupt."""


INTERRUPTED = Interrupted()


class InputLines:
    """The lines of standard input; None at the end.

    The thread reads the file descriptor directly: exiting while it waits in Python's buffered reader would
    leave the lock of the buffer held.
    """

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | Interrupted | None] = asyncio.Queue()
        self._begun = False
        self._ended = False

    async def next(self) -> str | Interrupted | None:
        """Return the next line without its line ending."""
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
        """Wake a waiting reader."""
        self._lines.put_nowait(INTERRUPTED)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop may be closed
            for line in _lines():
                loop.call_soon_threadsafe(self._lines.put_nowait, line)
            loop.call_soon_threadsafe(self._lines.put_nowait, None)


def _lines() -> Iterator[str]:
    """Yield the lines of standard input; invalid UTF-8 is replaced."""
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
    with suppress(OSError):  # the terminal was closed
        yield from iter(lambda: os.read(descriptor, _PIECE), b"")
