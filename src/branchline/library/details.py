"""The details of some sessions of a library, from the index; without one, from the files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from branchline.catalog import Catalog, CatalogUnavailable
from branchline.catalog.details import details_of
from branchline.context.prices import PriceList
from branchline.library.scanner import Scanner
from branchline.library.text_index import index_text, stale_files
from branchline.views.session_details import SessionDetails
from branchline.views.session_row import SessionRow, row_name

__all__ = ["session_details"]


def session_details(
    scanner: Scanner[Any],
    open_catalog: Callable[[], Catalog],
    rows: Sequence[SessionRow],
    *,
    prices: PriceList,
    seconds: float | None,
) -> dict[str, SessionDetails]:
    """The details of these rows, by :func:`row_name`; what cannot be read in so many seconds is left out."""
    wanted = {row.path: row_name(row) for row in rows if row.path is not None and row.problem is None}
    if not wanted:
        return {}
    files = [file for file in scanner.scan()[0] if scanner.stored_log(file).path in wanted]
    try:
        with open_catalog() as catalog:
            return _details(scanner, catalog, files, wanted, prices, seconds)
    except CatalogUnavailable:
        with Catalog.in_memory() as catalog:
            return _details(scanner, catalog, files, wanted, prices, seconds)


def _details(
    scanner: Scanner[Any],
    catalog: Catalog,
    files: Sequence[Any],
    wanted: dict[str, str],
    prices: PriceList,
    seconds: float | None,
) -> dict[str, SessionDetails]:
    paths = list(wanted)
    stale = stale_files(scanner, files, catalog.files(paths), catalog)
    stale.reverse()  # the newest first: these are at the top of a list
    index_text(scanner, stale, catalog, seconds=seconds)
    current = {}
    known = catalog.files(paths)
    for file in files:
        stored = scanner.stored_log(file)
        one = known.get(stored.path or "")
        if one is not None and one.indexed >= 0 and one.stamp == stored.stamp:
            current[one.id] = wanted[stored.path or ""]
    found = details_of(catalog, current, prices)
    return {name: found[number] for number, name in current.items()}
