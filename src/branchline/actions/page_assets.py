"""The static files of pages: style sheet and scripts, as they are in the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["page_assets"]


@cache
def page_assets() -> dict[str, str]:
    """The files of ``views/html/static`` by name."""
    folder = files("branchline.views.html") / "static"
    return {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith((".js", ".css"))
    }
