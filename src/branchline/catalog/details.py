"""Figures and details of single sessions from the catalog: usage, models, tools, files, errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from branchline.catalog.catalog import Catalog
from branchline.catalog.statistics import Period, ScopeFile, copied_files, in_scope, sums
from branchline.context.prices import PriceList
from branchline.views.figures import CostFigure, cost_of
from branchline.views.query import Term
from branchline.views.session_details import SessionDetails
from branchline.views.stats import StatsTotals

__all__ = ["SessionFigures", "allows", "details_of", "figures_of", "files_allowed", "relatives"]

_MOST_FILES = 200
_ALWAYS = Period()
_NOTHING = StatsTotals()


class SessionFigures(NamedTuple):
    """What counts in one session, and its cost."""

    totals: StatsTotals
    cost: CostFigure


def figures_of(
    catalog: Catalog, scope: Sequence[ScopeFile], prices: PriceList, period: Period = _ALWAYS
) -> dict[int, SessionFigures]:
    """Return the figures of the sessions in a scope, by the number of the file that lists show.

    Added up, they are the figures of the whole scope: an entry that several files have counts in one of them.
    """
    totals = {int(one.keys[0]): one.totals(prices) for one in sums(catalog, scope, ("row",), period)}
    rows = dict.fromkeys(file.row for file in scope)
    idle = [row for row in rows if not (one := totals.get(row, _NOTHING)).tokens and not one.cost]
    copied = copied_files(catalog, idle)
    return {
        row: SessionFigures(
            one := totals.get(row, _NOTHING),
            cost_of(one, is_known=one.knows_tokens, is_copied=row in copied),
        )
        for row in rows
    }


def details_of(
    catalog: Catalog, scope: Sequence[ScopeFile], rows: Collection[int], prices: PriceList
) -> dict[int, SessionDetails]:
    """Return the details of these sessions of a scope, by the numbers of their files."""
    figures = figures_of(catalog, scope, prices)
    with catalog.guarded():
        run = catalog.connection.execute
        in_scope(catalog, scope)
        run("CREATE TEMP TABLE IF NOT EXISTS wanted (file INTEGER PRIMARY KEY)")
        run("DELETE FROM temp.wanted")
        catalog.connection.executemany("INSERT INTO temp.wanted VALUES (?)", ((row,) for row in rows))
        source = "JOIN temp.scope AS scope USING (file) JOIN temp.wanted ON wanted.file = scope.row"
        models: dict[int, list[str]] = defaultdict(list)
        for row, model in run(
            f"SELECT scope.row, model FROM rolled {source} WHERE model <> ''"
            " GROUP BY scope.row, model ORDER BY total(answers) DESC, model"
        ):
            models[row].append(model)
        tools: dict[int, dict[str, int]] = defaultdict(dict)
        for row, tool, calls in run(
            f"SELECT scope.row, tool, sum(calls) FROM rolled_tool {source}"
            " GROUP BY scope.row, tool ORDER BY sum(calls) DESC, tool"
        ):
            tools[row][tool] = calls
        touched: dict[int, list[str]] = defaultdict(list)
        for row, path in run(
            f"SELECT scope.row, path FROM touched {source}"
            " GROUP BY scope.row, path ORDER BY count(*) DESC, path"
        ):
            if len(touched[row]) < _MOST_FILES:
                touched[row].append(path)
        errors = dict(
            run(f"SELECT scope.row, count(*) FROM doc {source} WHERE failed GROUP BY scope.row").fetchall()
        )
    return {
        row: SessionDetails(
            tokens=one.totals.tokens if one.totals.knows_tokens else None,
            cost=one.cost.amount,
            cost_state=one.cost.state,
            cost_is_partial=one.cost.is_partial,
            estimated=one.cost.state == "estimated",
            models=tuple(models[row]),
            tools=tools[row],
            files=tuple(touched[row]),
            errors=errors.get(row, 0),
        )
        for row in rows
        for one in [figures[row]]
    }


def files_allowed(catalog: Catalog, term: Term, scope: Sequence[ScopeFile], prices: PriceList) -> set[int]:
    """The files whose cost or number of tokens a term allows, without those where it is unknown."""
    return {
        row
        for row, one in figures_of(catalog, scope, prices).items()
        if allows(term, one.totals.tokens if one.totals.knows_tokens else None, one.cost)
    }


def allows(term: Term, tokens: float | None, cost: CostFigure) -> bool:
    """Return whether a session with these figures matches a ``cost`` or ``tokens`` term."""
    amount = cost.amount if term.field == "cost" else tokens
    return amount is not None and term.allows(amount)


def relatives(catalog: Catalog, rows: Iterable[int]) -> set[int]:
    """Return the files that have entries of these files, of which some do not count."""
    with catalog.guarded():
        run = catalog.connection.execute
        return {
            file
            for row in rows
            for (file,) in run(
                "SELECT DISTINCT other.file FROM doc AS mine INDEXED BY doc_copies"
                " JOIN doc AS other ON other.mark = mine.mark WHERE mine.file = ? AND mine.counted = 0",
                (row,),
            )
        }
