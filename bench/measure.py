"""Runs a task in new processes and keeps the minimum of each number.

All programs take turns within a round, so that noise affects all of them. Each process gets an empty home: no
settings are read, and nothing cached by an earlier run helps a later one.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.generate import CACHE

SECONDS = 900


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A program to measure; `command` is followed by the task and its arguments."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """CPU seconds, wall seconds, bytes, and a result on which all programs must agree."""

    cpu: float
    wall: float
    peak: int
    answer: int = 0


@dataclass(frozen=True)
class Failure:
    reason: str


def best_of(
    runs: int, subjects: Sequence[Subject], work: str, prepare: Callable[[Path], list[str]]
) -> dict[str, Sample | Failure]:
    """Return the minima of each subject by name; `prepare` returns the arguments, in an empty directory."""
    rounds = [{subject.name: _sample(subject, work, prepare) for subject in subjects} for _ in range(runs)]
    return {subject.name: _best([one[subject.name] for one in rounds]) for subject in subjects}


def best_of_each(
    runs: int, subject: Subject, work: str, arguments: Mapping[str, list[str]]
) -> dict[str, Sample | Failure]:
    """Return the minima of one subject for the same task with different data, by name."""
    rounds = [
        {name: _sample(subject, work, partial(_given, given)) for name, given in arguments.items()}
        for _ in range(runs)
    ]
    return {name: _best([one[name] for one in rounds]) for name in arguments}


def _given(arguments: list[str], _home: Path) -> list[str]:
    return arguments


def best_start(runs: int, commands: Mapping[str, Sequence[str]]) -> dict[str, Sample | Failure]:
    """Return the minima of whole commands by name, including process start and exit; without memory."""
    rounds = [{name: _start(command) for name, command in commands.items()} for _ in range(runs)]
    return {name: _best([one[name] for one in rounds]) for name in commands}


def _start(command: Sequence[str]) -> Sample | Failure:
    with _home() as home:
        wall, cpu = time.perf_counter(), _children()
        done = _run(command, home)
        sample = Sample(cpu=_children() - cpu, wall=time.perf_counter() - wall, peak=0)
    return done if isinstance(done, Failure) else sample


def _children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _sample(subject: Subject, work: str, prepare: Callable[[Path], list[str]]) -> Sample | Failure:
    with _home() as home:
        done = _run([*subject.command, work, *prepare(home)], home)
    return done if isinstance(done, Failure) else Sample(**json.loads(done))


def _best(samples: Sequence[Sample | Failure]) -> Sample | Failure:
    good = [sample for sample in samples if isinstance(sample, Sample)]
    for sample in samples:
        if isinstance(sample, Failure):
            return sample
    return Sample(
        cpu=min(sample.cpu for sample in good),
        wall=min(sample.wall for sample in good),
        peak=min(sample.peak for sample in good),
        answer=good[0].answer,
    )


def _run(command: Sequence[str], home: Path) -> str | Failure:
    # Installed programs have bytecode; without it, every start would measure the compiler.
    left_out = ("XDG_", "PI_", "PYTHONDONTWRITEBYTECODE")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            env={**inherited, "HOME": str(home), "PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        )
    except subprocess.TimeoutExpired:
        return Failure(f"not done after {SECONDS} s")
    except OSError as error:
        return Failure(str(error))
    if done.returncode != 0:
        return Failure(_reason(done.stderr) or f"ended with {done.returncode}")
    return done.stdout


def _reason(said: str) -> str:
    """Return the most informative line of a traceback or a Node.js error."""
    lines = [line.strip() for line in said.splitlines() if "Error" in line or "FATAL" in line]
    return lines[-1][:160] if lines else ""


@contextmanager
def _home() -> Iterator[Path]:
    """Create a home on the same disk as the data, so that appends are written there."""
    CACHE.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=CACHE, prefix="home-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
