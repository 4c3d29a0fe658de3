"""Time from process start to the first rows on the screen: the installed program in a pseudo-terminal.

As for a user, the interpreter starts, everything is imported, and the list is read and drawn. The clock stops
when the text of the first session has been written. CPU time is read from the clock of the process, which
Linux exposes; elsewhere only wall time is known.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 30.0
_CPUCLOCK_SCHED = 2


@dataclass(frozen=True, kw_only=True)
class Paint:
    """Seconds until a text was on the screen; ``cpu`` is None if unknown."""

    cpu: float | None
    wall: float


def first_paint(
    command: Sequence[str], words: str, *, cwd: Path, environment: Mapping[str, str], size: tuple[int, int]
) -> Paint:
    """Run a command in a terminal until it has written this text."""
    begun = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover  the child process
        os.chdir(cwd)
        os.execve(command[0], list(command), dict(environment))
    try:
        columns, rows = size
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        seen = b""
        while words.encode() not in seen:
            ready, _, _ = select.select([terminal], [], [], PATIENCE)
            if not ready:
                raise TimeoutError(f"{words!r} never came: {seen[-2000:]!r}")
            seen += os.read(terminal, 1 << 16)
        return Paint(cpu=_cpu_of(child), wall=time.monotonic() - begun)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def _cpu_of(process: int) -> float | None:
    """Return the CPU time of all threads of a process so far."""
    if sys.platform != "linux":
        return None
    return time.clock_gettime((~process << 3) | _CPUCLOCK_SCHED)


def best_paint(
    runs: int,
    command: Sequence[str],
    words: str,
    *,
    cwd: Path,
    environment: Mapping[str, str],
    size: tuple[int, int],
) -> Paint:
    """Return the minimum of several runs, which is least affected by other load."""
    paints = [first_paint(command, words, cwd=cwd, environment=environment, size=size) for _ in range(runs)]
    cpus = [paint.cpu for paint in paints if paint.cpu is not None]
    return Paint(cpu=min(cpus, default=None), wall=min(paint.wall for paint in paints))
