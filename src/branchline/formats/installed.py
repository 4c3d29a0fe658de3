"""Formats that other packages bring: the entry point group ``branchline.formats``.

An entry point names a :class:`~branchline.formats.Format` object. Nothing is looked for before somebody asks,
and one that cannot be loaded, or that fails over a file, costs itself alone: it is reported by its name.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from branchline.formats.packages import may_have_entry_points
from branchline.formats.protocol import Format

__all__ = ["GROUP", "BrokenFormat", "InstalledFormats", "detects", "installed_formats"]

GROUP = "branchline.formats"
_OURS = frozenset(
    {"pi", "oh-my-pi", "operator", "induscode", "zot", "piglet", "claude-code", "codex", "branchline"}
)


class BrokenFormat(NamedTuple):
    """An entry point that is no format, and why."""

    name: str
    """The name of the entry point, with the package that it comes from."""
    reason: str


class InstalledFormats(NamedTuple):
    """What the installed packages bring, by name."""

    formats: tuple[Format, ...]
    broken: tuple[BrokenFormat, ...]


@cache
def installed_formats() -> InstalledFormats:
    """The formats of installed packages, loaded once. ``installed_formats.cache_clear()`` looks again."""
    if not may_have_entry_points(GROUP):
        return InstalledFormats((), ())
    from importlib.metadata import entry_points  # noqa: PLC0415  reads every installed package

    found: dict[str, Format] = {}
    broken: list[BrokenFormat] = []
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        package = "" if point.dist is None else f" of {point.dist.name}"
        try:
            loaded = point.load()
            found[_name_of(loaded, found)] = loaded
        except Exception as problem:  # noqa: BLE001  somebody else's code
            reason = str(problem) if isinstance(problem, _Unfit) else f"{type(problem).__name__}: {problem}"
            broken.append(BrokenFormat(point.name + package, reason))
    return InstalledFormats(tuple(found.values()), tuple(broken))


def detects(format_: Format, head: bytes, path: str) -> bool:
    """Whether a format of another package knows a file; one that fails over it does not."""
    try:
        return bool(format_.reader.sniff(head, path))
    except Exception:  # noqa: BLE001  somebody else's code
        return False


class _Unfit(Exception):
    """What was loaded cannot be used as a format."""


def _name_of(loaded: object, taken: dict[str, Format]) -> str:
    if not isinstance(loaded, Format):
        raise _Unfit(f"it is a {type(loaded).__name__}, not a Format object")
    name = getattr(loaded, "name", None)
    if not isinstance(name, str) or not name:
        raise _Unfit("it has no name")
    if name in _OURS or name in taken:
        raise _Unfit(f"there is a format called {name!r} already")
    return name
