"""Formats from other packages, and lookup among all formats: built-in ones first, then installed ones.

An entry point of the group ``branchline.formats`` refers to a :class:`~branchline.formats.Format` object.
Entry points are loaded only when no built-in format recognizes a file, or when all formats are listed. One
that cannot be loaded, or that raises, is reported by name and does not affect the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import msgspec

from branchline.errors import InvalidArgument, NotASession
from branchline.formats import Format, Peek, agent_name
from branchline.formats import peek as peek_with
from branchline.formats.detect import builtin_agents, builtin_format, builtin_formats, recognize, unrecognized
from branchline.formats.peek import is_enough
from branchline.plugins.packages import call_plugin, may_have_entry_points

__all__ = [
    "GROUP",
    "BrokenFormat",
    "InstalledFormats",
    "detect",
    "detect_in",
    "format_named",
    "formats",
    "installed_formats",
    "peek",
]

GROUP = "branchline.formats"
_HEAD = 1 << 16


class BrokenFormat(msgspec.Struct, frozen=True):
    """An entry point that cannot be used as a format, and the reason."""

    name: str
    """The name of the entry point and its package."""
    reason: str


class InstalledFormats(msgspec.Struct, frozen=True):
    """The formats of installed packages, sorted by name."""

    formats: tuple[Format, ...]
    broken: tuple[BrokenFormat, ...]


@cache
def installed_formats() -> InstalledFormats:
    """Return the formats of installed packages, cached; ``installed_formats.cache_clear()`` reloads them."""
    if not may_have_entry_points(GROUP):
        return InstalledFormats((), ())
    from importlib.metadata import entry_points  # noqa: PLC0415  reads every installed package

    found: dict[str, Format] = {}
    broken: list[BrokenFormat] = []
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        package = "" if point.dist is None else f" of {point.dist.name}"
        try:
            loaded = call_plugin(point.load)
            found[call_plugin(_checked_name, loaded, found)] = loaded
        except Exception as problem:  # noqa: BLE001  third-party code
            reason = (
                str(problem)
                if isinstance(problem, _InvalidFormat)
                else f"{type(problem).__name__}: {problem}"
            )
            broken.append(BrokenFormat(point.name + package, reason))
    return InstalledFormats(tuple(found.values()), tuple(broken))


def formats() -> tuple[Format, ...]:
    """Return all formats: the built-in ones, then those of installed packages."""
    return (*builtin_formats(), *installed_formats().formats)


def format_named(name: str) -> Format:
    """Return the format of this name or alias. Raises ValueError, with the known names, if there is none."""
    name = agent_name(name)
    found = builtin_format(name) or next(
        (one for one in installed_formats().formats if one.name == name), None
    )
    if found is None:
        names = ", ".join(sorted(format_.name for format_ in formats()))
        raise InvalidArgument(f"unknown format {name!r}; known: {names}")
    return found


def detect(head: bytes, path: str, *, expected: Format | None = None) -> Format:
    """Return the format of a file that starts with these bytes. Raises NotASession, with the reason.

    ``expected`` is tried first: the format of the agent that owns the file's folder.
    """
    found = recognize(head, path, expected=expected)
    if found is not None:
        return found
    known = installed_formats()
    for format_ in known.formats:
        if _recognizes(format_, head, path):
            return format_
    broken = "".join(f"; the format {one.name!r} is broken: {one.reason}" for one in known.broken)
    raise unrecognized(head, path, tried=formats(), broken=broken)


def detect_in(read: Callable[[int, int], bytes], path: str, *, expected: Format | None = None) -> Format:
    """Return the format of a log, like :func:`detect`, from as much of its beginning as that takes.

    A long first line hides no session: the lines below it decide.
    """
    size = _HEAD
    while True:
        head = read(0, size)
        try:
            return detect(head, path, expected=expected)
        except NotASession:
            if len(head) < size or is_enough(head, size):
                raise
        size *= 4


def peek(read: Callable[[int, int], bytes], path: str = "", *, expected: Format | None = None) -> Peek:
    """Like :func:`branchline.formats.peek`, including formats of other packages."""
    return peek_with(read, path, detect=partial(detect, expected=expected))


def _recognizes(format_: Format, head: bytes, path: str) -> bool:
    try:
        return bool(call_plugin(format_.reader.sniff, head, path))
    except Exception:  # noqa: BLE001  third-party code
        return False


class _InvalidFormat(Exception):
    """The loaded object cannot be used as a format."""


def _checked_name(loaded: object, taken: dict[str, Format]) -> str:
    if not isinstance(loaded, Format):
        raise _InvalidFormat(f"it is a {type(loaded).__name__}, not a Format object")
    name = getattr(loaded, "name", None)
    if not isinstance(name, str) or not name:
        raise _InvalidFormat("it has no name")
    if name in builtin_agents() or name in taken:
        raise _InvalidFormat(f"a format named {name!r} exists already")
    return name
