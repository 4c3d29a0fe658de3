"""The index of sessions: turn it on or off, leave files out of it."""

from __future__ import annotations

from branchline import settings
from branchline.actions.settings_file import change_settings
from branchline.catalog import Catalog, CatalogUnavailable
from branchline.settings.toml_edit import set_value

__all__ = ["exclude_from_index", "switch_index"]


def switch_index(*, on: bool) -> None:
    """Turn the index on or off for good; turning it off deletes it."""
    change_settings(lambda text: set_value(text, "index", on))
    if not on:
        Catalog.delete()


def exclude_from_index(pattern: str) -> int:
    """Leave files whose path is like this pattern out of the index; returns how many were in it."""
    if not pattern.strip():
        raise ValueError("which files? Give a pattern such as /home/me/secret/*")
    known = settings.load().settings.index_exclude
    if pattern not in known:
        change_settings(lambda text: set_value(text, "index_exclude", [*known, pattern]))
    try:
        with Catalog.open(create=False) as catalog:
            return catalog.forget_gone()
    except CatalogUnavailable:
        return 0
