"""Standard streams that are always open and never fail on a character."""

from __future__ import annotations

import os
import sys
from typing import TextIO

__all__ = ["PagerClosed", "open_streams", "stop_writing", "write_bytes"]


class PagerClosed(Exception):
    """The pager was closed."""


def open_streams() -> None:
    """Open closed streams on the null device, and replace characters that cannot be encoded."""
    # The next opened file would get a closed descriptor, and the output would be written into it.
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
    """Write all bytes to stdout.

    Not through the text layer: if Python runs unbuffered, it loses what a single system call does not write.
    """
    binary = sys.stdout.buffer
    view = memoryview(data)
    while view:
        taken = binary.write(view)
        view = view[taken:]


def stop_writing(stream: TextIO) -> None:
    """Redirect a stream to the null device, because its reader closed it."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return  # not a real stream
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
