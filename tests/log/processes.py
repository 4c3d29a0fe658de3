"""Runs the processes of `children.py` and collects what they acknowledge."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPT = Path(__file__).with_name("children.py")


def command(*arguments: object) -> list[str]:
    # -B: a child that is limited or killed must not leave half of a .pyc file behind.
    return [sys.executable, "-B", str(SCRIPT), *(str(each) for each in arguments)]


@contextmanager
def child(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A running child; killed at the end of the block, if it still runs."""
    with subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def run(*arguments: object, prefix: tuple[str, ...] = ()) -> list[str]:
    """Run a child to its end, and return the lines that it said."""
    done = subprocess.run([*prefix, *command(*arguments)], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()


def run_together(commands: list[list[object]]) -> list[list[str]]:
    """Run several children at once, and return what each said."""
    processes = [subprocess.Popen(command(*each), stdout=subprocess.PIPE, text=True) for each in commands]
    said = [process.communicate(timeout=120)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return said


def records_in(data: bytes) -> tuple[list[tuple[str, int]], int]:
    """Name and number of every whole record of `children.py` in a file, and the count of other lines."""
    found, damaged = [], 0
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            record = json.loads(line)
            found.append((record["name"], record["number"]))
        except (ValueError, LookupError):
            damaged += 1
    return found, damaged
