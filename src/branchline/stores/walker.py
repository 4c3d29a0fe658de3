"""Find session files below a folder that holds many projects.

Path patterns describe the layout. Only folders that can match are entered, each once, so that symlink cycles
end. Files are not opened.
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
_NOTHING_KNOWN: Mapping[str, FileState] = {}


class WalkResult(msgspec.Struct, frozen=True):
    """The session files below a folder, and the files that are not listed."""

    found: list[FileState]
    hidden: list[SkippedFile]


def walk(
    root: str,
    layout: Sequence[str],
    folder: str,
    key_of: Callable[[str], str],
    known: Mapping[str, FileState] = _NOTHING_KNOWN,
) -> WalkResult:
    """Find the sessions in ``folder``, which is ``root`` or below it; ``layout`` is relative to the root.

    A missing folder is empty; an unreadable one is reported as hidden. A file that is unchanged since
    ``known`` is returned as in ``known``.
    """
    walked = WalkResult([], [])
    patterns = _expanded(tuple(one.split("/")) for one in layout)
    inside = os.path.relpath(folder, root)
    for name in () if inside == "." else inside.split(os.sep):
        patterns = _below(patterns, name)
    pending = [(folder, patterns)]
    entered: set[tuple[int, int]] = set()
    while pending:
        at, patterns = pending.pop()
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
                        pending.append((f"{at}/{name}", _below(patterns, name)))
                    elif is_file is not None and (reason := cloud_placeholder(name)) is not None:
                        walked.hidden.append(SkippedFile(f"{at}/{name}", reason))
        except FileNotFoundError:
            continue
        except OSError as problem:
            walked.hidden.append(SkippedFile(at, f"cannot be read: {describe_oserror(problem)}"))
    return walked


@contextmanager
def _listed(folder: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Scan a folder by descriptor: ``stat`` of its entries then needs no path lookup."""
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


def _expanded(patterns: Iterable[_Pattern]) -> frozenset[_Pattern]:
    """Return the patterns, and those that remain if ``**`` matches no folder."""
    expanded = set()
    for pattern in patterns:
        rest = pattern
        expanded.add(rest)
        while rest[0] == "**":
            rest = rest[1:]
            expanded.add(rest)
    return frozenset(expanded)


def _below(patterns: frozenset[_Pattern], name: str) -> frozenset[_Pattern]:
    """Return the remaining patterns inside the folder of this name."""
    left = set()
    for pattern in patterns:
        if pattern[0] == "**":
            left.add(pattern)
        elif len(pattern) > 1 and _matcher(pattern[0])(name):
            left.add(pattern[1:])
    return _expanded(left)


@cache
def _matcher(pattern: str) -> Callable[[str], bool]:
    """Return a matcher for a pattern. As in a shell, wildcards do not match a leading dot."""
    if pattern == "*":
        return lambda name: not name.startswith(".")
    if pattern[0] == "*" and "*" not in (ending := pattern[1:]) and "?" not in ending and "[" not in ending:
        return lambda name: name.endswith(ending) and not name.startswith(".")
    return lambda name: fnmatch.fnmatchcase(name, pattern)


@cache
def _any_matcher(patterns: frozenset[str]) -> Callable[[str], bool] | None:
    """Return a matcher for any of the patterns; None if there are none."""
    if len(patterns) < 2:
        return _matcher(*patterns) if patterns else None
    matchers = [_matcher(pattern) for pattern in patterns]
    return lambda name: any(matches(name) for matches in matchers)


def _enter(folder: str, entered: set[tuple[int, int]]) -> bool:
    """Return whether this folder has not been entered before, under this or another name."""
    try:
        status = os.stat(folder)
    except OSError:
        return True  # listing it reports the error
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
