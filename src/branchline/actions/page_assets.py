"""The static files of pages: style sheet and scripts from the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.util import find_spec

from branchline._version import install_extra
from branchline.errors import NotSupported

__all__ = ["page_assets", "require_html", "static_files"]


def require_html() -> None:
    """Raise NotSupported if the packages that render pages are not installed."""
    missing = [name for name in ("markdown_it", "pygments") if find_spec(name) is None]
    if missing:
        raise NotSupported(f"pages need {' and '.join(missing)} from the extra html: {install_extra('html')}")


@cache
def page_assets() -> dict[str, str]:
    """Return the style sheet and the scripts of every page by name."""
    return {
        name: data.decode()
        for name, data in static_files("branchline.views.html").items()
        if name.endswith((".js", ".css"))
    }


def static_files(package: str) -> dict[str, bytes]:
    """Return the files of the folder ``static`` of a package by name."""
    folder = files(package) / "static"
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.is_file()}
