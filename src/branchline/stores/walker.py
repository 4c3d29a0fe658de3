"""The files below a folder that look like sessions, for folders that hold those of many projects.

Where files lie is said by patterns of names. Only folders that lead to such files are entered, each once, so
that links in a ring end. Nothing is opened.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from branchline.log.system import describe_oserror
from branchline.stores.files import why_hidden
from branchline.stores.protocol import FileStamp, SkippedFile, StoredLog
from branchline.stores.sync_conflicts import cloud_placeholder

__all__ = ["WalkResult", "walk"]

_Pattern = tuple[str, ...]


class WalkResult(NamedTuple):
    """What lies below a folder, and what was seen but is not a session."""

    found: list[tuple[StoredLog, tuple[int, int]]]
    """Each with device and inode, by which one file under two names is known."""
    hidden: list[SkippedFile]


def walk(root: str, layout: Sequence[str], folder: str, key_of: Callable[[str], str]) -> WalkResult:
    """The sessions in ``folder``, which is ``root`` or lies below it; the layout counts from the root.

    A folder that is not there holds nothing. One that cannot be read is told as hidden.
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
        is_file = [_matcher(pattern[0]) for pattern in patterns if len(pattern) == 1]
        deeper = any(len(pattern) > 1 for pattern in patterns)
        try:
            with os.scandir(at) as listing:
                for item in listing:
                    if is_file and any(matches(item.name) for matches in is_file):
                        _sort_in(item, walked, key_of)
                    elif deeper and not item.name.startswith(".") and _is_folder(item):
                        waiting.append((item.path, _below(patterns, item.name)))
                    elif is_file and (reason := cloud_placeholder(item.name)) is not None:
                        walked.hidden.append(SkippedFile(item.path, reason))
        except FileNotFoundError:
            continue
        except OSError as problem:
            walked.hidden.append(SkippedFile(at, f"cannot be read: {describe_oserror(problem)}"))
    return walked


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


def _sort_in(item: os.DirEntry[str], walked: WalkResult, key_of: Callable[[str], str]) -> None:
    try:
        status = item.stat()
    except OSError as problem:
        walked.hidden.append(SkippedFile(item.path, f"cannot be read: {describe_oserror(problem)}"))
        return
    key = key_of(item.path)
    if (reason := why_hidden(key, status)) is None:
        stored = StoredLog(key, status.st_size, status.st_mtime, item.path, FileStamp.of(status))
        walked.found.append((stored, (status.st_dev, status.st_ino)))
    else:
        walked.hidden.append(SkippedFile(item.path, reason))
