"""Runs the processes of `children.py` and collects what they acknowledge."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPT = Path(__file__).with_name("children.py")


def command(*arguments: object) -> list[str]:
    return [sys.executable, str(SCRIPT), *(str(each) for each in arguments)]


@contextmanager
def child(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A running child and what it said when it was ready; killed at the end of the block, if it still runs."""
    with subprocess.Popen(
        command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, ready(process)
        finally:
            process.kill()


def ready(process: subprocess.Popen[str]) -> list[str]:
    """Wait until a child says that it is ready; the words that it adds."""
    assert process.stdout is not None
    first, *words = process.stdout.readline().split()
    assert first == "ready"
    return words


def run_together(commands: list[list[object]]) -> list[list[list[str]]]:
    """Let several children begin at the same moment and come to their end; the words of each line of each."""
    running = [
        subprocess.Popen(command(*each), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for each in commands
    ]
    for process in running:
        ready(process)
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=300)[0].splitlines() for process in running]
    assert [process.returncode for process in running] == [0] * len(running)
    return [[line.split() for line in lines] for lines in said]


def acknowledged(process: subprocess.Popen[str]) -> list[list[str]]:
    """The words of every whole line that a killed child has said."""
    assert process.stdout is not None
    return [line.split() for line in process.stdout.read().split("\n")[:-1]]
