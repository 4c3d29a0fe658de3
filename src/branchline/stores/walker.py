"""The files below a folder that look like sessions, for folders that hold those of many projects.

Where files lie is said by patterns of names. Only folders that lead to such files are entered, each once, so
that links in a ring end. Nothing is opened.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

import msgspec

from branchline.log.system import describe_oserror
from branchline.stores.files import why_hidden
from branchline.stores.protocol import FileState, SkippedFile, pack_stamp
from branchline.stores.sync_conflicts import cloud_placeholder

__all__ = ["WalkResult", "walk"]

_Pattern = tuple[str, ...]
_NONE: Mapping[str, FileState] = {}


class WalkResult(msgspec.Struct, frozen=True):
    """What lies below a folder, and what was seen but is not a session."""

    found: list[FileState]
    hidden: list[SkippedFile]


def walk(
    root: str,
    layout: Sequence[str],
    folder: str,
    key_of: Callable[[str], str],
    known: Mapping[str, FileState] = _NONE,
) -> WalkResult:
    """The sessions in ``folder``, which is ``root`` or lies below it; the layout counts from the root.

    A folder that is not there holds nothing. One that cannot be read is told as hidden. A file that is as it
    was in ``known`` is found as it is there.
    """
    walked = WalkResult([], [])
    patterns = _opened(tuple(one.split("/")) for one in layout)
    inside = os.path.relpath(folder, root)
    for name in () if inside == "." else inside.split(os.sep):
        patterns = _below(patterns, name)
    waiting = [(folder, patterns)]
    entered: set[tuple[int, int]] = set()
    while waiting:
        at, patterns = waiting.pop()
        if not patterns or (at != folder and not _enter(at, entered)):
            continue
        is_file = _any_matcher(frozenset(pattern[0] for pattern in patterns if len(pattern) == 1))
        deeper = any(len(pattern) > 1 for pattern in patterns)
        try:
            with _listed(at) as listing:
                for item in listing:
                    name = item.name
                    if is_file is not None and is_file(name):
                        path = f"{at}/{name}"
                        try:
                            status = item.stat()
                        except OSError as problem:
                            why = f"cannot be read: {describe_oserror(problem)}"
                            walked.hidden.append(SkippedFile(path, why))
                            continue
                        stamp = pack_stamp(
                            status.st_mtime_ns,
                            status.st_dev,
                            status.st_ino,
                            status.st_size,
                            status.st_ctime_ns,
                        )
                        before = known.get(path)
                        if before is not None and before.stamp == stamp:
                            walked.found.append(before)
                        elif (reason := why_hidden(key_of(path), status)) is None:
                            walked.found.append(FileState(path, stamp))
                        else:
                            walked.hidden.append(SkippedFile(path, reason))
                    elif deeper and not name.startswith(".") and _is_folder(item):
                        waiting.append((f"{at}/{name}", _below(patterns, name)))
                    elif is_file is not None and (reason := cloud_placeholder(name)) is not None:
                        walked.hidden.append(SkippedFile(f"{at}/{name}", reason))
        except FileNotFoundError:
            continue
        except OSError as problem:
            walked.hidden.append(SkippedFile(at, f"cannot be read: {describe_oserror(problem)}"))
    return walked


@contextmanager
def _listed(folder: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """The entries of a folder. By its descriptor, as the status of a file is then found without its path."""
    if os.scandir not in os.supports_fd:
        with os.scandir(folder) as listing:
            yield listing
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.scandir(descriptor) as listing:
            yield listing
    finally:
        os.close(descriptor)


def _opened(patterns: Iterable[_Pattern]) -> frozenset[_Pattern]:
    """The patterns, and those that remain where a ``**`` stands for no folder at all."""
    opened = set()
    for pattern in patterns:
        rest = pattern
        opened.add(rest)
        while rest[0] == "**":
            rest = rest[1:]
            opened.add(rest)
    return frozenset(opened)


def _below(patterns: frozenset[_Pattern], name: str) -> frozenset[_Pattern]:
    """What is left of the patterns inside the folder of this name."""
    left = set()
    for pattern in patterns:
        if pattern[0] == "**":
            left.add(pattern)
        elif len(pattern) > 1 and _matcher(pattern[0])(name):
            left.add(pattern[1:])
    return _opened(left)


@cache
def _matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a name is like this. As in a shell, what begins with a dot is asked for by its dot."""
    if pattern == "*":
        return lambda name: not name.startswith(".")
    if pattern[0] == "*" and "*" not in (ending := pattern[1:]) and "?" not in ending and "[" not in ending:
        return lambda name: name.endswith(ending) and not name.startswith(".")
    return lambda name: fnmatch.fnmatchcase(name, pattern)


@cache
def _any_matcher(patterns: frozenset[str]) -> Callable[[str], bool] | None:
    """Whether a name is like one of these; None where there are none."""
    if len(patterns) < 2:
        return _matcher(*patterns) if patterns else None
    matchers = [_matcher(pattern) for pattern in patterns]
    return lambda name: any(matches(name) for matches in matchers)


def _enter(folder: str, entered: set[tuple[int, int]]) -> bool:
    """Whether this folder was not entered before, under this or another name."""
    try:
        status = os.stat(folder)
    except OSError:
        return True  # the listing says why
    identity = (status.st_dev, status.st_ino)
    if identity in entered:
        return False
    entered.add(identity)
    return True


def _is_folder(item: os.DirEntry[str]) -> bool:
    try:
        return item.is_dir()
    except OSError:
        return False
