"""Turn the search index on or off, exclude files from it, and update it in the background."""

from __future__ import annotations

import subprocess

from branchline import settings
from branchline.actions.settings_file import change_settings
from branchline.catalog import Catalog, CatalogUnavailable
from branchline.errors import InvalidArgument
from branchline.programs import own_command, safe_environment
from branchline.settings.toml_edit import set_value

__all__ = ["exclude_from_index", "index_behind", "switch_index"]


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


def index_behind(store: str | None = None) -> subprocess.Popen[bytes] | None:
    """Start a process that updates the index, of all sessions or of a store; None if that is impossible.

    It ends at once if another one does this already.
    """
    try:
        return subprocess.Popen(  # noqa: S603
            own_command("index", "--background", *(() if store is None else ("--store", store))),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=safe_environment(),
            start_new_session=True,
        )
    except OSError:
        return None
