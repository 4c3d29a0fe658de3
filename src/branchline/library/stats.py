"""Statistics over the sessions of a library, from the catalog or, without one, from the files.

Unreadable files are reported and left out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, tzinfo
from typing import Any, Self

from branchline._arguments import require_choice
from branchline.catalog import Catalog, CatalogFile, CatalogUnavailable
from branchline.catalog.candidates import subagent_files
from branchline.catalog.details import figures_of
from branchline.catalog.sql import SqlResult, ask
from branchline.catalog.statistics import Period, ScopeFile, repeated, roll_up, sessions_beside, sums
from branchline.context.prices import PriceList, parse_price
from branchline.library.scanner import Scanner
from branchline.library.text_index import IndexProgress, index_text, stale_files
from branchline.stores import SkippedFile
from branchline.views.figures import CostFigure
from branchline.views.stats import OVERVIEW, Dimension, Group, Stats, StatsTotals, ToolCount, by_weight

__all__ = ["Statistics", "scope_of"]

_IN_ORDER = frozenset({"day", "week", "month", "hour"})


class Statistics:
    """Statistics over the sessions of a library, for a ``with`` block; up to date at creation.

    Sub-agents count, whether the library lists them or not: their calls were paid for, too.

    ``since`` and ``until`` are the first and the last day to count, in ``zone``, which has a fixed offset, or
    in the local time zone. ``prices`` are the user's own.
    """

    def __init__(
        self,
        scanner: Scanner[Any],
        open_catalog: Callable[[], Catalog],
        *,
        since: date | None = None,
        until: date | None = None,
        zone: tzinfo | None = None,
        prices: Sequence[str] = (),
        progress: IndexProgress | None = None,
    ) -> None:
        self.notes: list[str] = []
        """Sentences about sessions that do not count, or about problems."""
        offset = None if zone is None else datetime(2000, 1, 1, tzinfo=zone).utcoffset()
        self._period = Period(
            None if since is None else since.isoformat(),
            None if until is None else until.isoformat(),
            None if offset is None else round(offset.total_seconds()),
        )
        self._prices = self._price_list(prices)
        scanner = scanner.with_subagents()
        (files, earlier), told = scanner.scan_parts(), len(self.notes)
        try:
            self._catalog = open_catalog() if files else Catalog.in_memory()
            self._fill(scanner, files, earlier, progress)
            with self._catalog.guarded():
                roll_up(self._catalog)  # fails on a read-only disk: in time for reading the files instead
        except CatalogUnavailable as problem:
            del self.notes[told:]
            self.notes.append(f"the index cannot be used: {problem}; every session was read")
            self._catalog = Catalog.in_memory()
            self._fill(scanner, files, earlier, progress)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._catalog.close()

    def _price_list(self, texts: Sequence[str]) -> PriceList:
        own = []
        for text in texts:
            try:
                parse_price(text)
            except ValueError as problem:
                self.notes.append(f"setting prices: {problem}")
            else:
                own.append(text)
        return PriceList(own)

    def _fill(
        self,
        scanner: Scanner[Any],
        listed: Sequence[Any],
        earlier: Sequence[Any],
        progress: IndexProgress | None,
    ) -> None:
        catalog, files = self._catalog, [*listed, *earlier]
        paths = [path for file in files if (path := scanner.stored_log(file).path) is not None]
        known = catalog.files(paths)
        self.unreadable: tuple[str, ...] = ()
        """Files that could not be read."""
        if stale := stale_files(scanner, files, known, catalog):
            self.unreadable = index_text(scanner, stale, catalog, progress=progress).unreadable
            known = catalog.files(paths)
        self._scope = scope_of(scanner, listed, earlier, known, catalog)
        excluded = sum(
            (path := scanner.stored_log(file).path) is not None and catalog.excludes(path) for file in files
        )
        if excluded:
            self.notes.append(f"{excluded} sessions are excluded from the index and do not count")
        self._paths = {one.id: path for path, one in known.items()}
        self.subagents = len(subagent_files(catalog).intersection(one.row for one in self._scope))
        """The number of sessions that count and are of sub-agents."""

    def during(self, since: date, until: date) -> Self:
        """Return the same sessions over another period; valid in the same ``with`` block."""
        other = copy.copy(self)
        other._period = Period(  # noqa: SLF001  of the same class
            since.isoformat(), until.isoformat(), self._period.offset
        )
        return other

    @property
    def read(self) -> int:
        """The number of sessions that count."""
        return len({one.row for one in self._scope})

    def total(self) -> StatsTotals:
        """Return the totals."""
        found = sums(self._catalog, self._scope, (), self._period)
        return found[0].totals(self._prices) if found and found[0].sessions else StatsTotals()

    def groups(self, *by: Dimension) -> tuple[Group, ...]:
        """Return the figures by one or two dimensions: times in order, others by weight."""
        for dimension in by:
            require_choice("a dimension", dimension, Dimension)
        groups = [
            Group(
                name=" · ".join(one.keys) if len(by) > 1 else one.keys[0],
                keys=one.keys,
                figures=one.totals(self._prices),
            )
            for one in sums(self._catalog, self._scope, by, self._period)
        ]
        if by[0] in _IN_ORDER:
            return tuple(sorted(groups, key=lambda group: (group.keys[0], by_weight(group))))
        return tuple(sorted(groups, key=by_weight))

    def costs(self) -> dict[str, CostFigure]:
        """Return the cost of each session, by the path of its file."""
        figures = figures_of(self._catalog, self._scope, self._prices, self._period)
        return {self._paths[row]: one.cost for row, one in figures.items()}

    def sessions_beside(self, dimension: Dimension, names: Sequence[str]) -> int:
        """Return the number of sessions in the groups of a dimension other than these."""
        return sessions_beside(self._catalog, self._scope, dimension, names, self._period)

    def sql(self, statement: str, *, seconds: float) -> SqlResult:
        """Run a SELECT statement on the views of these sessions. Raises SqlProblem if that fails."""
        return ask(self._catalog, statement, scope=self._scope, prices=self._prices, seconds=seconds)

    def stats(self) -> Stats:
        """Return the overview."""
        tables = {dimension: self.groups(dimension) for dimension in OVERVIEW}
        tools = [ToolCount(name=one.name, calls=one.figures.tool_calls) for one in self.groups("tool")]
        return Stats(
            total=self.total(),
            **tables,
            tools=tuple(tools),
            repeated=repeated(self._catalog, self._scope, self._period),
        )


def scope_of(
    scanner: Scanner[Any],
    files: Sequence[Any],
    earlier: Sequence[Any],
    known: Mapping[str, CatalogFile],
    catalog: Catalog,
) -> list[ScopeFile]:
    """Return the files that count, with the keys of their sums: the indexed ones that are listed.

    ``earlier`` are files that one of the others continues: together they are one session.
    """
    branches = catalog.git_branches()
    scope: list[ScopeFile] = []
    listed: dict[tuple[str, str], int] = {}
    for number, file in enumerate((*files, *earlier)):
        stored = scanner.stored_log(file)
        one = known.get(stored.path or "")
        if one is None or one.indexed < 0 or one.stamp != stored.stamp or catalog.excludes(stored.path or ""):
            continue
        record = one.decoded()
        row = scanner.row_of(file, record)
        if isinstance(row, SkippedFile):
            continue
        agent = row.agent or record.format
        shown = one.id
        if number >= len(files):
            shown = listed.get((agent, row.id), one.id)
        else:
            listed.setdefault((agent, row.id), one.id)
        scope.append(ScopeFile(one.id, agent, row.cwd or "", row.id, branches.get(one.id, ""), shown))
    return scope
