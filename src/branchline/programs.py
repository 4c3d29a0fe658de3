"""Starting other programs, and branchline itself, without running code from a session's directory.

A session file names the directory that its conversation belongs to. The author of the file chose that
directory, so nothing in it may decide what runs: program names are looked up in absolute ``PATH`` entries
only, search paths in the environment lose their relative entries, and branchline starts itself without the
working directory on the module path.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

from branchline.formats.resume_commands import directory_problem

__all__ = [
    "ProgramOutput",
    "command_words",
    "find_program",
    "is_usable_directory",
    "own_command",
    "run_program",
    "run_quietly",
    "safe_environment",
]

_SEARCH_PATHS = (
    "PATH",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "NODE_PATH",
    "PERL5LIB",
    "RUBYLIB",
)
"""Variables that list directories to load code from. An empty entry means the working directory."""


def find_program(name: str) -> str | None:
    """Return the absolute path of an installed program, or None.

    Relative ``PATH`` entries (``.``, or an empty one) are ignored: they would find a file in whatever
    directory the program is started in. A ``name`` with a directory in it must be absolute.
    """
    if os.path.dirname(name) and not os.path.isabs(name):
        return None
    path = os.environ.get("PATH")
    return shutil.which(name, path=_absolute_entries(os.defpath if path is None else path))


def command_words(command: str) -> list[str] | None:
    """Return a command of the person, such as ``$PAGER``, as words; None if there is no such program.

    The program is looked up as in :func:`find_program`.
    """
    try:
        words = shlex.split(command)
    except ValueError:  # a quote without an end
        return None
    program = find_program(words[0]) if words else None
    return None if program is None else [program, *words[1:]]


def safe_environment() -> dict[str, str]:
    """Return a copy of the environment whose search paths have absolute entries only."""
    environment = dict(os.environ)
    for name in _SEARCH_PATHS:
        if name not in environment:
            continue
        if kept := _absolute_entries(environment[name]):
            environment[name] = kept
        else:
            del environment[name]
    environment.setdefault("PATH", os.defpath)  # an empty PATH would mean the working directory
    return environment


def own_command(*arguments: str) -> tuple[str, ...]:
    """Return the command that starts branchline with these arguments, in the interpreter that runs now.

    ``-P`` keeps the working directory off the module path; virtual environments, editable installs and the
    user site directory still work. An isolated interpreter (``-I``) starts an isolated one. Run the command
    with :func:`safe_environment`, because ``PYTHONPATH`` may name the working directory as well.
    """
    return (sys.executable, "-I" if sys.flags.isolated else "-P", "-m", "branchline", *arguments)


def is_usable_directory(cwd: str) -> bool:
    """Return whether programs can be started in the directory that a session names.

    It must exist, and be an absolute path: a relative one would depend on where branchline was started.
    """
    return directory_problem(cwd) is None and os.path.isdir(cwd)


class ProgramOutput(NamedTuple):
    """The exit code of a program, and everything that it printed."""

    code: int
    output: str


def run_quietly(command: tuple[str, ...], cwd: str, *, seconds: float) -> ProgramOutput:
    """Run a command with a safe environment and without a terminal; it is stopped after some seconds."""
    try:
        done = subprocess.run(  # noqa: S603
            command,
            cwd=cwd,
            env=safe_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ProgramOutput(-1, f"it did not end within {seconds:.0f} seconds")
    except OSError as problem:
        return ProgramOutput(-1, f"it cannot be started: {problem}")
    return ProgramOutput(done.returncode, done.stdout.decode("utf-8", "replace"))


def run_program(command: tuple[str, ...], cwd: str | None) -> int | None:
    """Run a command in the terminal with a safe environment.

    Returns its exit code, or None if it cannot be started.
    """
    environment: Mapping[str, str] = safe_environment()
    try:
        return subprocess.run(command, cwd=cwd, env=environment, check=False).returncode  # noqa: S603
    except (OSError, ValueError):  # ValueError: a null byte in an argument
        return None


def _absolute_entries(path: str) -> str:
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))
