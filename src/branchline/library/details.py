"""Details of sessions: from the index, or from the files if there is no index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from branchline.catalog import Catalog, CatalogFile, CatalogUnavailable
from branchline.catalog.details import details_of
from branchline.context.prices import PriceList
from branchline.library.scanner import Scanner
from branchline.library.text_index import index_text, stale_files
from branchline.stores import FileStamp, stored_at
from branchline.views.session_details import SessionDetails
from branchline.views.session_row import SessionRow, row_name

__all__ = ["session_details"]

_BYTES_PER_SECOND = 20_000_000
"""About what is indexed in a second. One file is read completely or not at all."""


def session_details(
    scanner: Scanner[Any],
    open_catalog: Callable[[], Catalog],
    rows: Sequence[SessionRow],
    *,
    prices: PriceList,
    seconds: float | None,
) -> dict[str, SessionDetails]:
    """Return the details of these rows by :func:`row_name`, without those not read within ``seconds``."""
    wanted = {row.path: row_name(row) for row in rows if row.path is not None and row.problem is None}
    if not wanted:
        return {}
    try:
        with open_catalog() as catalog:
            return _details(scanner, catalog, wanted, prices, seconds)
    except CatalogUnavailable:
        with Catalog.in_memory() as catalog:
            return _details(scanner, catalog, wanted, prices, seconds)


def _details(
    scanner: Scanner[Any],
    catalog: Catalog,
    wanted: dict[str, str],
    prices: PriceList,
    seconds: float | None,
) -> dict[str, SessionDetails]:
    paths = list(wanted)
    stamps = {path: stored.stamp for path in paths if (stored := stored_at(path)) is not None}
    known = catalog.files(paths)
    if any(not _is_current(known.get(path), stamp) for path, stamp in stamps.items()):
        files = [file for file in scanner.scan()[0] if scanner.stored_log(file).path in wanted]
        stale = stale_files(scanner, files, known, catalog)
        stale.reverse()  # newest first, as in lists
        if seconds is not None:
            stale = [one for one in stale if one.bytes <= seconds * _BYTES_PER_SECOND]
        index_text(scanner, stale, catalog, seconds=seconds)
        known = catalog.files(paths)
    current = {
        known[path].id: wanted[path] for path, stamp in stamps.items() if _is_current(known.get(path), stamp)
    }
    if not current:
        return {}
    found = details_of(catalog, current, prices)
    return {name: found[number] for number, name in current.items()}


def _is_current(one: CatalogFile | None, stamp: FileStamp | None) -> bool:
    return one is not None and one.is_indexed and one.stamp == stamp
