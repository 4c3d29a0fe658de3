"""From the start of the process to rows on the screen: the installed program in a terminal of its own.

A pseudo-terminal is what a person has: the interpreter starts, everything is imported, the list is read and
drawn. The clock stops when the words of the first session have come out. The time of the process is read from
its own clock, which Linux gives to others; elsewhere only the time on the wall is known.
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
    """Seconds until words were on the screen; ``cpu`` is None where the system does not tell."""

    cpu: float | None
    wall: float


def first_paint(
    command: Sequence[str], words: str, *, cwd: Path, environment: Mapping[str, str], size: tuple[int, int]
) -> Paint:
    """Run a command in a terminal until it has written these words."""
    begun = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover  this is the other process
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
    """What a process has used of a processor so far, all its threads together."""
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
    """The smallest numbers of several runs: what the work takes when nothing else disturbs it."""
    paints = [first_paint(command, words, cwd=cwd, environment=environment, size=size) for _ in range(runs)]
    cpus = [paint.cpu for paint in paints if paint.cpu is not None]
    return Paint(cpu=min(cpus, default=None), wall=min(paint.wall for paint in paints))
