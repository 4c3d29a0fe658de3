"""A small library for people who have no sessions yet: eight conversations about one project.

They are in the formats of five programs and have what real ones have: branches, forks across programs,
labels, compactions, a picture, and one file that a power cut damaged. ``scripts/make_demo.py`` writes them.

What lies in the package is only read. Who wants to try commands that write gets a copy of their own, in which
the project's directory is one that exists.
"""

from __future__ import annotations

import json
import os
import shutil
from datetime import datetime
from typing import NamedTuple

from branchline import places
from branchline.log import create_directory, replace_file

__all__ = ["Demo", "demo_home", "forget", "prepare", "sessions_directory"]

_PROJECT = "tidewatch"
_CWD = b"/home/ada/tidewatch"
_TIMES = "times.json"


class Demo(NamedTuple):
    """Where the copy lies: what stands for the data directory, and the project's working directory."""

    home: str
    project: str


def sessions_directory() -> str:
    """The sessions in the package, to be listed and read."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "sessions")


def demo_home() -> str:
    """Where the copy of this person lies, or would."""
    return os.path.join(places.data_directory(), "demo")


def prepare(home: str | None = None) -> Demo:
    """Copy the sessions to where they can be written to; a copy that is there stays as it is."""
    home = demo_home() if home is None else os.path.abspath(home)
    project = os.path.join(home, _PROJECT)
    target = places.session_directory(project, {"BRANCHLINE_HOME": home})
    create_directory(project)
    if not os.path.isdir(target):
        # The folder gets its name when it is complete: half a copy would never be completed.
        begun = f"{target}.new"
        shutil.rmtree(begun, ignore_errors=True)
        create_directory(begun)
        _copy(sessions_directory(), begun, project)
        os.replace(begun, target)
    return Demo(home, project)


def _copy(source: str, target: str, project: str) -> None:
    cwd = json.dumps(project)[1:-1].encode()
    with open(os.path.join(source, _TIMES), encoding="utf-8") as file:
        times: dict[str, str] = json.load(file)
    for name, moment in times.items():
        with open(os.path.join(source, name), "rb") as file:
            data = file.read().replace(_CWD, cwd)
        path = os.path.join(target, name)
        replace_file(path, data, backup=False)
        changed = datetime.fromisoformat(moment).timestamp()
        os.utime(path, (changed, changed))  # "the last session" is told by it


def forget(home: str | None = None) -> None:
    """Throw the copy away, with everything that was tried in it."""
    shutil.rmtree(demo_home() if home is None else home, ignore_errors=True)
