"""The three standard streams, made safe to use: open, and never failing on a character."""

from __future__ import annotations

import os
import sys
from typing import TextIO

__all__ = ["PagerClosed", "open_streams", "stop_writing", "write_bytes"]


class PagerClosed(Exception):
    """The reader has left the pager: nothing more is wanted."""


def open_streams() -> None:
    """Put something harmless where a stream is closed; let no character end the program."""
    # A descriptor that stays closed would be given to the next file opened, and our words written into it.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def write_bytes(data: bytes) -> None:
    """Write bytes to stdout, every one of them.

    Not through the text layer: where Python runs unbuffered, that one loses what a single call to the
    system does not take.
    """
    binary = sys.stdout.buffer
    view = memoryview(data)
    while view:
        taken = binary.write(view)
        view = view[taken:]


def stop_writing(stream: TextIO) -> None:
    """Send what is still waiting in a stream nowhere, because its reader has gone."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return  # not a real stream
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
