"""Whether any installed package names an entry point group: a quick look, before the long one is loaded.

``importlib.metadata`` takes longer to load than a list takes to be read, and most people have no package that
brings a format. Where packages may lie that only it can see, the answer is yes.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

__all__ = ["may_have_entry_points"]

_ABOUT = (".dist-info", ".egg-info")


def may_have_entry_points(group: str) -> bool:
    """False only if no package that can be imported has entry points of this group."""
    if any(finder is not PathFinder and hasattr(finder, "find_distributions") for finder in sys.meta_path):
        return True
    heading = f"[{group}]".encode()
    return any(_names(place or os.curdir, heading) for place in sys.path)


def _names(place: str, heading: bytes) -> bool:
    try:
        names = os.listdir(place)
    except NotADirectoryError:
        return True  # an archive
    except OSError:
        return False  # nothing there, or nothing that could be imported from it
    return any(
        _has(os.path.join(place, name, "entry_points.txt"), heading)
        for name in names
        if name.endswith(_ABOUT) or name == "EGG-INFO" or name.endswith(".egg")
    )


def _has(path: str, heading: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return heading in file.read()
    except (FileNotFoundError, NotADirectoryError):
        return path.endswith(os.path.join(".egg", "entry_points.txt"))  # an egg has it deeper down
    except OSError:
        return True
