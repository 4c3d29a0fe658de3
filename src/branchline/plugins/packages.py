"""A cheap check whether any installed package declares an entry point group.

``importlib.metadata`` takes longer to import than a session list takes to read, and most installations have
no package with a format. The check returns True if there may be packages that only it can find.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

__all__ = ["may_have_entry_points"]

_METADATA_SUFFIXES = (".dist-info", ".egg-info")


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
