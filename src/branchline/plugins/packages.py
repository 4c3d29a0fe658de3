"""A cheap check whether any installed package declares an entry point group, and calls of what it declares.

``importlib.metadata`` takes longer to import than a session list takes to read, and most installations have
no package with a format. The check returns True if there may be packages that only it can find.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import ParamSpec, TypeVar

__all__ = ["call_plugin", "may_have_entry_points"]

_METADATA_SUFFIXES = (".dist-info", ".egg-info")
_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


def call_plugin(
    function: Callable[_Arguments, _Answer], *arguments: _Arguments.args, **options: _Arguments.kwargs
) -> _Answer:
    """Call code of another package, or load it: whatever it raises is an Exception.

    ``sys.exit`` in a plugin must not end the program without a word. Ctrl-C and other signals still do.
    """
    import signal  # noqa: PLC0415  nearly every command does without plugins
    import threading  # noqa: PLC0415  as above

    interrupted = False

    def interrupt(number: int, _frame: object) -> None:
        nonlocal interrupted
        interrupted = True
        signal.default_int_handler(number, None)

    watched = threading.current_thread() is threading.main_thread()
    watched = watched and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if watched:
        signal.signal(signal.SIGINT, interrupt)
    try:
        return function(*arguments, **options)
    except Exception:
        raise
    except BaseException as problem:
        if interrupted or getattr(problem, "by_signal", False):
            raise
        if isinstance(problem, SystemExit):
            raise RuntimeError("it called sys.exit(), which plugins may not do") from problem
        raise RuntimeError(f"it raised {type(problem).__name__}") from problem
    finally:
        if watched:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def may_have_entry_points(group: str) -> bool:
    """Return False only if no importable package has entry points of this group."""
    if any(finder is not PathFinder and hasattr(finder, "find_distributions") for finder in sys.meta_path):
        return True
    heading = f"[{group}]".encode()
    return any(_declares(directory or os.curdir, heading) for directory in sys.path)


def _declares(directory: str, heading: bytes) -> bool:
    try:
        names = os.listdir(directory)
    except NotADirectoryError:
        return True  # an archive
    except OSError:
        return False  # missing or unreadable
    return any(
        _contains(os.path.join(directory, name, "entry_points.txt"), heading)
        for name in names
        if name.endswith(_METADATA_SUFFIXES) or name == "EGG-INFO" or name.endswith(".egg")
    )


def _contains(path: str, heading: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return heading in file.read()
    except (FileNotFoundError, NotADirectoryError):
        return path.endswith(os.path.join(".egg", "entry_points.txt"))  # an egg has it in a subdirectory
    except OSError:
        return True
