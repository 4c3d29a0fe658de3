"""A small library for people who have no sessions yet: eight conversations about one project.

They are in the formats of five programs and have what real ones have: branches, forks across programs,
labels, compactions, a picture, and one file that a power cut damaged. ``scripts/make_demo.py`` writes them.

What lies in the package is only read. Who wants to try commands that write gets a copy of their own, in which
the project's directory is one that exists and, if a time is given, everything happened in the days before it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from branchline import places
from branchline.log import create_directory, replace_file

__all__ = ["Demo", "days_later", "delete_copy", "demo_home", "is_entered", "prepare", "sessions_directory"]

_PROJECT = "tidewatch"
_CWD = b"/home/ada/tidewatch"
_TIMES = "times.json"
_DATE = re.compile(rb"\b(2026)(-?)(03)\2(0[2-6])(?=T|-)")
"""The days of the story, as times and file names write them."""
_MOMENT = re.compile(rb"\b177[23]\d{9}\b")
"""The same days in Unix milliseconds."""
_DAY = 86_400


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


def is_entered() -> bool:
    """Whether this process works on a copy of the demo instead of a person's own sessions."""
    home = os.environ.get("BRANCHLINE_HOME", "")
    return os.path.basename(home) == "demo" and os.path.isdir(os.path.join(home, _PROJECT))


def prepare(home: str | None = None, *, now: float | None = None) -> Demo:
    """Copy the sessions to where they can be written to; a copy that is there stays as it is.

    With ``now`` (Unix seconds) the copy is moved by whole days so that it ends within the last one; without,
    its times are those of the package.
    """
    home = demo_home() if home is None else os.path.abspath(home)
    project = os.path.join(home, _PROJECT)
    target = places.session_directory(project, {"BRANCHLINE_HOME": home})
    create_directory(project)
    if not os.path.isdir(target):
        # The folder gets its name when it is complete: half a copy would never be completed.
        begun = f"{target}.new"
        shutil.rmtree(begun, ignore_errors=True)
        create_directory(begun)
        _copy(sessions_directory(), begun, project, now)
        os.replace(begun, target)
    return Demo(home, project)


def days_later(now: float) -> int:
    """Return by how many days the times of a copy that is made ``now`` are moved."""
    return int((now - max(_times().values())) // _DAY)


def _times() -> dict[str, float]:
    """Return when each file last changed in the story, in Unix seconds."""
    with open(os.path.join(sessions_directory(), _TIMES), encoding="utf-8") as file:
        told = json.load(file).items()
    return {name: datetime.fromisoformat(moment).timestamp() for name, moment in told}


def _copy(source: str, target: str, project: str, now: float | None) -> None:
    cwd = json.dumps(project)[1:-1].encode()
    days = 0 if now is None else days_later(now)
    for name, changed in _times().items():
        with open(os.path.join(source, name), "rb") as file:
            data = file.read().replace(_CWD, cwd)
        path = os.path.join(target, _later(name.encode(), days).decode())
        replace_file(path, _later(data, days), backup=False)
        os.utime(path, (changed + days * _DAY,) * 2)  # "the last session" is told by it


def _later(text: bytes, days: int) -> bytes:
    """A text with its times so many days later, each as long as before; also in a line that is damaged."""

    def date(found: re.Match[bytes]) -> bytes:
        year, dash, month, day = found.groups()
        moved = datetime(int(year), int(month), int(day), tzinfo=UTC) + timedelta(days=days)
        return moved.strftime(f"%Y{dash.decode()}%m{dash.decode()}%d").encode()

    def moment(found: re.Match[bytes]) -> bytes:
        return b"%d" % (int(found[0]) + days * _DAY * 1000)

    return _MOMENT.sub(moment, _DATE.sub(date, text)) if days else text


def delete_copy(home: str | None = None) -> None:
    """Throw the copy away, with everything that was tried in it."""
    shutil.rmtree(demo_home() if home is None else home, ignore_errors=True)
