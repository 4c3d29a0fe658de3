"""Turn the search index on or off, and exclude files from it."""

from __future__ import annotations

from branchline import settings
from branchline.actions.settings_file import change_settings
from branchline.catalog import Catalog, CatalogUnavailable
from branchline.errors import InvalidArgument
from branchline.settings.toml_edit import set_value

__all__ = ["exclude_from_index", "switch_index"]


def switch_index(*, on: bool) -> None:
    """Turn the index on or off permanently; turning it off deletes it."""
    change_settings(lambda text: set_value(text, "index", on))
    if not on:
        Catalog.delete()


def exclude_from_index(pattern: str) -> int:
    """Exclude files that match a pattern from the index, and return how many were dropped."""
    if not pattern.strip():
        raise InvalidArgument("which files? Give a pattern such as /home/me/secret/*")
    known = settings.load().settings.index_exclude
    if pattern not in known:
        change_settings(lambda text: set_value(text, "index_exclude", [*known, pattern]))
    try:
        with Catalog.open(create=False) as catalog:
            return catalog.forget_gone()
    except CatalogUnavailable:
        return 0
