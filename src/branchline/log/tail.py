"""The tail of a file that does not end in a newline: complete, or torn by a crash?

Bytes after the last newline that parse are a complete line without its newline. Anything else is torn: a copy
is saved next to the file before the line is closed. This module only reads and copies; the newline that
closes the line is written together with the next append.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

import msgspec

from branchline.log.directories import sidecar_directory, sidecar_name, sync_directory
from branchline.log.protocol import TornTail
from branchline.log.system import System, random_name, write_all

__all__ = ["is_complete_json", "keep_fragment", "read_tail"]

_FIRST_BLOCK = 1 << 16
_LARGEST_BLOCK = 1 << 24


def read_tail(read: Callable[[int, int], bytes], size: int) -> bytes:
    """Return the bytes after the last newline in the first `size` bytes, reading backwards."""
    pieces: list[bytes] = []
    block = _FIRST_BLOCK
    while size > 0:
        # Most tails are short, but a pasted image of 100 MB must not be read in 64 KiB steps.
        start = max(0, size - block)
        data = read(start, size - start)
        newline = data.rfind(b"\n")
        if newline >= 0:
            pieces.append(data[newline + 1 :])
            break
        pieces.append(data)
        size = start
        block = min(block * 2, _LARGEST_BLOCK)
    return b"".join(reversed(pieces))


def is_complete_json(line: bytes) -> bool:
    """Return whether these bytes are one complete JSON object."""
    line = line.strip()
    if not (line.startswith(b"{") and line.endswith(b"}")):
        return False
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        # Agents written in JavaScript write lone surrogates and NaN, which the fast parser refuses.
        import json  # noqa: PLC0415  hardly ever

        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return False
    return True


def keep_fragment(path: str, offset: int, fragment: bytes, system: System) -> TornTail:
    """Save a copy of a torn tail of the session file at `path` in a durable file."""
    directory = sidecar_directory(path, "torn", system)
    kept_at = os.path.join(directory, f"{sidecar_name(path)}.{offset}.{random_name()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = system.open(kept_at, flags, 0o600)
    try:
        try:
            system.fchmod(descriptor, 0o600)
            write_all(system, descriptor, fragment)
            system.fsync(descriptor)
        finally:
            system.close(descriptor)
        sync_directory(directory, system)
    except BaseException:
        with contextlib.suppress(OSError):  # a partial copy is useless, and the original is still there
            system.unlink(kept_at)
        raise
    return TornTail(offset, len(fragment), kept_at)
