"""Apply the settings of the search index, and update it in the background."""

from __future__ import annotations

import subprocess

from branchline import settings
from branchline.catalog import Catalog, CatalogUnavailable
from branchline.programs import own_command, safe_environment

__all__ = ["apply_index_settings", "index_behind"]


def apply_index_settings() -> int:
    """Delete the index if it is off now, else drop the files that are excluded; return how many."""
    if not settings.load().settings.index:
        Catalog.delete()
        return 0
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
