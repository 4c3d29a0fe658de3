"""Details of sessions: from the index, or from the files if there is no index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from branchline.catalog import Catalog, CatalogFile, CatalogUnavailable
from branchline.catalog.details import details_of, relatives
from branchline.catalog.statistics import ScopeFile
from branchline.context.prices import PriceList
from branchline.formats.suffixes import without_suffix
from branchline.library.scanner import Scanner
from branchline.library.stats import scope_of
from branchline.library.text_index import index_text, stale_files
from branchline.stores import FileStamp, stored_at
from branchline.views.session_details import SessionDetails
from branchline.views.session_row import SessionRow, row_name

__all__ = ["session_details"]

_BYTES_PER_SECOND = 20_000_000
"""About what is indexed in a second. One file is read completely or not at all."""
_ID = 36  # characters of an id at the end of the name of a file


def session_details(
    scanner: Scanner[Any],
    open_catalog: Callable[[], Catalog],
    rows: Sequence[SessionRow],
    *,
    prices: PriceList,
    seconds: float | None,
) -> dict[str, SessionDetails]:
    """Return the details of these rows by :func:`row_name`, without those not read within ``seconds``."""
    scanner = scanner.with_subagents()
    wanted = {row.path: row for row in rows if row.path is not None and row.problem is None}
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
    wanted: dict[str, SessionRow],
    prices: PriceList,
    seconds: float | None,
) -> dict[str, SessionDetails]:
    stamps = {path: stored.stamp for path in wanted if (stored := stored_at(path)) is not None}
    files, earlier = scanner.scan_parts()
    known = catalog.files()
    stale = stale_files(scanner, earlier, known, catalog)
    if any(not _is_current(known.get(path), stamp) for path, stamp in stamps.items()):
        stale += stale_files(scanner, _with_origins(scanner, files, wanted.values()), known, catalog)
    if stale:
        stale.reverse()  # newest first, as in lists
        if seconds is not None:
            stale = [one for one in stale if one.bytes <= seconds * _BYTES_PER_SECOND]
        index_text(scanner, stale, catalog, seconds=seconds)
        known = catalog.files()
    rows = {
        known[path].id: row_name(row)
        for path, row in wanted.items()
        if path in stamps and _is_current(known.get(path), stamps[path])
    }
    # Their figures are those of statistics about all sessions if these know who else has the same entries.
    related = relatives(catalog, rows).union(rows)
    if earlier:
        scope = scope_of(scanner, files, earlier, known, catalog)
    elif related != rows.keys():
        few = {path: one for path, one in known.items() if one.id in related}
        scope = scope_of(scanner, files, (), few, catalog)
    else:
        scope = []
    inside = {one.file for one in scope}
    scope += [ScopeFile(row, "", "", "", "", row) for row in rows if row not in inside]
    found = details_of(catalog, scope, rows, prices)
    return {name: found[number] for number, name in rows.items()}


def _with_origins(scanner: Scanner[Any], files: Sequence[Any], rows: Iterable[SessionRow]) -> list[Any]:
    """Return the files of these rows and of the sessions that they were forked from.

    What a fork copied counts there, so a fork that is read alone would count too much.
    """
    by_path = {scanner.stored_log(file).path or "": file for file in files}
    by_name: dict[str, str] = {}
    for file in by_path:
        name = without_suffix(os.path.basename(file))
        by_name.update(dict.fromkeys((file, name, name[-_ID:], name.rpartition("#")[2]), file))
    needed: dict[str, Any] = {}
    waiting = [(row.path, row.parent_session) for row in rows]
    while waiting:
        path, parent = waiting.pop()
        if path is None or path in needed or path not in by_path:
            continue
        needed[path] = by_path[path]
        if parent is None:
            continue
        origin = by_name.get(parent)
        if origin is not None and origin not in needed:
            row = scanner.header_row(by_path[origin])
            waiting.append((origin, row.parent_session if isinstance(row, SessionRow) else None))
    return [file for file in files if (scanner.stored_log(file).path or "") in needed]


def _is_current(one: CatalogFile | None, stamp: FileStamp | None) -> bool:
    return one is not None and one.is_indexed and one.stamp == stamp
