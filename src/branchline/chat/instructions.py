"""Instruction files: text for the model that a project keeps in files such as ``AGENTS.md``.

They are searched for in the working directory and in the directories above it, up to the home directory.
Their text goes into the system prompt; nothing in them is executed. A file of another user is not loaded, so
that other users cannot instruct the model through a shared directory.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

import msgspec

from branchline.views.humanize import format_size

__all__ = ["InstructionFile", "Instructions", "find_instructions", "system_prompt"]

_LARGEST = 64_000


class InstructionFile(msgspec.Struct, frozen=True, kw_only=True):
    """An instruction file that was read."""

    path: str
    text: str


class Instructions(msgspec.Struct, frozen=True, kw_only=True):
    """The files for a directory, outermost first, and the reasons why others were not loaded."""

    files: tuple[InstructionFile, ...] = ()
    problems: tuple[str, ...] = ()


def find_instructions(directory: str, names: Iterable[str], *, home: str | None = None) -> Instructions:
    """Find the instruction files for a directory. A name with a slash is the path of a file."""
    home = os.path.expanduser("~") if home is None else home
    files: dict[str, InstructionFile] = {}
    problems: list[str] = []
    for path, required in _candidates(directory, tuple(names), home):
        real = os.path.realpath(path)
        if real in files:
            continue
        try:
            files[real] = InstructionFile(path=path, text=_read(path))
        except FileNotFoundError:
            if required:
                problems.append(f"{path} was not loaded: no such file")
        except OSError as problem:
            problems.append(f"{path} was not loaded: {problem.strerror or problem}")
        except ValueError as problem:
            problems.append(f"{path} was not loaded: {problem}")
    return Instructions(files=tuple(files.values()), problems=tuple(problems))


def _candidates(directory: str, names: tuple[str, ...], home: str) -> Iterator[tuple[str, bool]]:
    """Yield the paths to try, and whether the user named this path."""
    for name in names:
        if "/" in name:
            yield os.path.join(directory, os.path.expanduser(name)), True
    for above in reversed(list(_upward(os.path.abspath(directory), os.path.abspath(home)))):
        for name in names:
            if "/" not in name and name not in ("", ".", ".."):
                yield os.path.join(above, name), False


def _upward(directory: str, home: str) -> Iterator[str]:
    while True:
        yield directory
        parent = os.path.dirname(directory)
        if directory in (parent, home):
            return
        directory = parent


def _read(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("it is not a regular file")
        if hasattr(os, "geteuid") and facts.st_uid not in (os.geteuid(), 0):
            raise ValueError("it belongs to another user")
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError(f"it is larger than {format_size(_LARGEST)}")
    return data.decode("utf-8", "replace").strip()


def system_prompt(own: str, instructions: Instructions) -> str:
    """Return the system prompt: the user's own, then each file after its path."""
    parts = [own.strip()] if own.strip() else []
    parts += [f"Instructions from {file.path}:\n\n{file.text}" for file in instructions.files if file.text]
    return "\n\n".join(parts)
