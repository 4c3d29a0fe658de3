"""Statistics over the sessions of a library, from the catalog or, without one, from the files.

Unreadable files are reported and left out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from datetime import date, datetime, tzinfo
from typing import Any, Self

from branchline._arguments import require_choice
from branchline.catalog import Catalog, CatalogUnavailable
from branchline.catalog.details import whole
from branchline.catalog.statistics import Period, ScopeFile, Sums, repeated, roll_up, sums
from branchline.context.prices import PriceList, parse_price
from branchline.library.scanner import Scanner
from branchline.library.text_index import IndexProgress, index_text, stale_files
from branchline.stores import SkippedFile
from branchline.views.stats import OVERVIEW, Dimension, Group, Stats, StatsTotals, ToolCount, by_weight

__all__ = ["Statistics"]

_IN_ORDER = frozenset({"day", "week", "month", "hour"})


class Statistics:
    """Statistics over the sessions of a library, for a ``with`` block; up to date at creation.

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
        files, told = [*scanner.scan()[0], *scanner.earlier_parts()], len(self.notes)
        try:
            self._catalog = open_catalog() if files else Catalog.in_memory()
            self._fill(scanner, files, progress)
            with self._catalog.guarded():
                roll_up(self._catalog)  # fails on a read-only disk: in time for reading the files instead
        except CatalogUnavailable as problem:
            del self.notes[told:]
            self.notes.append(f"the index cannot be used: {problem}; every session was read")
            self._catalog = Catalog.in_memory()
            self._fill(scanner, files, progress)

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

    def _fill(self, scanner: Scanner[Any], files: Sequence[Any], progress: IndexProgress | None) -> None:
        catalog = self._catalog
        paths = [path for file in files if (path := scanner.stored_log(file).path) is not None]
        known = catalog.files(paths)
        self.unreadable: tuple[str, ...] = ()
        """Files that could not be read."""
        if stale := stale_files(scanner, files, known, catalog):
            self.unreadable = index_text(scanner, stale, catalog, progress=progress).unreadable
            known = catalog.files(paths)
        branches = catalog.git_branches()
        self._scope: list[ScopeFile] = []
        excluded = 0
        for file in files:
            stored = scanner.stored_log(file)
            one = known.get(stored.path or "")
            if stored.path is not None and catalog.excludes(stored.path):
                excluded += 1
                continue
            if one is None or one.indexed < 0 or one.stamp != stored.stamp:
                continue  # out of scope, or unreadable
            record = one.decoded()
            row = scanner.row_of(file, record)
            if isinstance(row, SkippedFile):
                continue
            agent = row.agent or record.format
            self._scope.append(ScopeFile(one.id, agent, row.cwd or "", row.id, branches.get(one.id, "")))
        if excluded:
            self.notes.append(f"{excluded} sessions are excluded from the index and do not count")

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
        return len(self._scope)

    def total(self) -> StatsTotals:
        """Return the totals."""
        found = sums(self._catalog, self._scope, (), self._period)
        return self._figures(found[0]) if found and found[0].sessions else StatsTotals()

    def groups(self, *by: Dimension) -> tuple[Group, ...]:
        """Return the figures by one or two dimensions: times in order, others by weight."""
        for dimension in by:
            require_choice("a dimension", dimension, Dimension)
        groups = [
            Group(
                name=" · ".join(one.keys) if len(by) > 1 else one.keys[0],
                keys=one.keys,
                figures=self._figures(one),
            )
            for one in sums(self._catalog, self._scope, by, self._period)
        ]
        if by[0] in _IN_ORDER:
            return tuple(sorted(groups, key=lambda group: (group.keys[0], by_weight(group))))
        return tuple(sorted(groups, key=by_weight))

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

    def _figures(self, one: Sums) -> StatsTotals:
        estimated = unpriced = 0.0
        for spent in one.open:
            rates = self._prices.rates(spent.model, size=spent.size)
            if rates is None:
                unpriced += sum(spent.tokens[:4])
            else:
                estimated += rates.cost(*spent.tokens, beyond=spent.beyond)
        return StatsTotals(
            sessions=one.sessions,
            messages=int(one.messages),
            prompts=int(one.prompts),
            answers=int(one.answers),
            tool_calls=int(one.calls),
            input=whole(one.input),
            output=whole(one.output),
            cache_read=whole(one.cache_read),
            cache_write=whole(one.cache_write),
            tokens=whole(one.total),
            cost=one.cost + estimated,
            estimated=estimated,
            unpriced=whole(unpriced),
        )
