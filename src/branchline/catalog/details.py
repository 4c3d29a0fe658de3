"""Details of single sessions from the catalog: usage, models, tools, files, errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from branchline.catalog.catalog import Catalog
from branchline.catalog.documents import Document
from branchline.catalog.statistics import UNPRICED_TOTALS, roll_up
from branchline.context.prices import PriceList, size_class, tokens_beyond
from branchline.views.query import Term
from branchline.views.session_details import SessionDetails

__all__ = ["CostEstimate", "cost_of", "details_of", "files_costing"]

_MOST_FILES = 200


def details_of(catalog: Catalog, files: Collection[int], prices: PriceList) -> dict[int, SessionDetails]:
    """Return the details of these files, by their numbers in the catalog."""
    with catalog.guarded():
        run = catalog.connection.execute
        roll_up(catalog)
        run("CREATE TEMP TABLE IF NOT EXISTS wanted (file INTEGER PRIMARY KEY)")
        run("DELETE FROM temp.wanted")
        catalog.connection.executemany("INSERT INTO temp.wanted VALUES (?)", ((file,) for file in files))
        tokens: dict[int, float] = defaultdict(float)
        cost: dict[int, float] = defaultdict(float)
        estimated: set[int] = set()
        unknown: set[int] = set()
        models: dict[int, list[str]] = defaultdict(list)
        for file, model, size, total, recorded, *spent in run(
            f"SELECT file, model, size, total(total), total(cost), {UNPRICED_TOTALS}"
            " FROM rollup JOIN temp.wanted USING (file) WHERE model IS NOT NULL"
            " GROUP BY file, model, size ORDER BY total(answers) DESC"
        ):
            tokens[file] += total
            cost[file] += recorded
            if model and model not in models[file]:
                models[file].append(model)
            if any(spent[:4]):
                rates = prices.rates(model, size=size)
                if rates is None:
                    unknown.add(file)
                else:
                    estimated.add(file)
                    cost[file] += rates.cost(*spent[:5], beyond=spent[5:])
        tools: dict[int, dict[str, int]] = defaultdict(dict)
        for file, tool, calls in run(
            "SELECT file, tool, sum(calls) FROM rollup_tool JOIN temp.wanted USING (file)"
            " GROUP BY file, tool ORDER BY sum(calls) DESC, tool"
        ):
            tools[file][tool] = calls
        touched: dict[int, list[str]] = defaultdict(list)
        for file, path in run(
            "SELECT file, path FROM touched JOIN temp.wanted USING (file)"
            " GROUP BY file, path ORDER BY count(*) DESC, path"
        ):
            if len(touched[file]) < _MOST_FILES:
                touched[file].append(path)
        errors = dict(
            run(
                "SELECT file, count(*) FROM doc JOIN temp.wanted USING (file) WHERE failed GROUP BY file"
            ).fetchall()
        )
    return {
        file: SessionDetails(
            tokens=whole(tokens[file]),
            cost=None if file in unknown and not cost[file] else cost[file],
            estimated=file in estimated,
            models=tuple(models[file]),
            tools=tools[file],
            files=tuple(touched[file]),
            errors=errors.get(file, 0),
        )
        for file in files
    }


def files_costing(catalog: Catalog, term: Term, prices: PriceList) -> set[int]:
    """The files whose cost a term allows, recorded or estimated; without those of unknown cost."""
    with catalog.guarded():
        run = catalog.connection.execute
        roll_up(catalog)
        costs = dict.fromkeys((file for (file,) in run("SELECT id FROM file")), 0.0)
        unknown = set[int]()
        for file, model, size, recorded, *spent in run(
            f"SELECT file, ifnull(model, ''), size, total(cost), {UNPRICED_TOTALS}"
            " FROM rollup GROUP BY 1, 2, 3"
        ):
            costs[file] += recorded
            if any(spent[:4]):
                rates = prices.rates(model, size=size)
                if rates is None:
                    unknown.add(file)
                else:
                    costs[file] += rates.cost(*spent[:5], beyond=spent[5:])
    return {file for file, cost in costs.items() if (cost or file not in unknown) and term.allows(cost)}


class CostEstimate(NamedTuple):
    """The cost of a session."""

    cost: float
    """The recorded cost, plus that of the other tokens at public prices."""
    estimated: bool
    unpriced: float
    """Tokens without a known price."""


def cost_of(documents: Iterable[Document], prices: PriceList) -> CostEstimate:
    """Return the cost of all documents of a session, as in the statistics."""
    cost = unpriced = 0.0
    estimated = False
    for document in documents:
        spent = document.spending
        if spent is None:
            continue
        tokens = (spent.input, spent.output, spent.cache_read, spent.cache_write, spent.cache_write_1h)
        if spent.cost is not None:
            cost += spent.cost
        elif any(tokens):
            size = size_class(spent.input + spent.cache_read + spent.cache_write)
            rates = prices.rates(spent.model, size=size)
            if rates is None:
                unpriced += spent.total
            else:
                estimated = True
                cost += rates.cost(*tokens, beyond=tokens_beyond(*tokens))
    return CostEstimate(cost, estimated, unpriced)


def whole(number: float) -> int | float:
    """Return a sum as an integer if it is one."""
    return int(number) if number.is_integer() else number
