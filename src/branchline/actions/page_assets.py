"""The static files of pages: style sheet and scripts from the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.util import find_spec

from branchline.errors import NotSupported

__all__ = ["page_assets", "require_html"]


def require_html() -> None:
    """Raise NotSupported if the packages that render pages are not installed."""
    missing = [name for name in ("markdown_it", "pygments") if find_spec(name) is None]
    if missing:
        raise NotSupported(
            f"pages need {' and '.join(missing)} from the extra html: pip install 'branchline[html]'"
        )


@cache
def page_assets() -> dict[str, str]:
    """Return the files of ``views/html/static`` by name."""
    folder = files("branchline.views.html") / "static"
    return {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith((".js", ".css"))
    }
