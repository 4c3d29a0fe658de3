"""What single sessions did, from the catalog: spending, models, tools, files, errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from branchline.catalog.catalog import Catalog
from branchline.catalog.documents import documents_of
from branchline.catalog.statistics import roll_up
from branchline.context.prices import LONG_CONTEXT, PriceList
from branchline.formats import EntryLog
from branchline.views.session_details import SessionDetails

__all__ = ["CostEstimate", "cost_of", "details_of"]

_MOST_FILES = 200


def details_of(catalog: Catalog, files: Collection[int], prices: PriceList) -> dict[int, SessionDetails]:
    """The details of these files, by their numbers in the catalog."""
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
        for file, model, long, total, recorded, *spent in run(
            "SELECT file, model, long, total(total), total(cost), total(open_input),"
            " total(open_output), total(open_cache_read), total(open_cache_write), total(open_cache_write_1h)"
            " FROM rollup JOIN temp.wanted USING (file) WHERE model IS NOT NULL"
            " GROUP BY file, model, long ORDER BY total(answers) DESC"
        ):
            tokens[file] += total
            cost[file] += recorded
            if model and model not in models[file]:
                models[file].append(model)
            if any(spent[:4]):
                rates = prices.rates(model, long=bool(long))
                if rates is None:
                    unknown.add(file)
                else:
                    estimated.add(file)
                    cost[file] += rates.cost(*spent)
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
            tokens=_whole(tokens[file]),
            cost=None if file in unknown and not cost[file] else cost[file],
            estimated=file in estimated,
            models=tuple(models[file]),
            tools=tools[file],
            files=tuple(touched[file]),
            errors=errors.get(file, 0),
        )
        for file in files
    }


class CostEstimate(NamedTuple):
    """What a session cost."""

    cost: float
    """What was recorded, and what the other tokens cost by public prices."""
    estimated: bool
    unpriced: float
    """Tokens whose price nobody knows."""


def cost_of(transcript: EntryLog, prices: PriceList) -> CostEstimate:
    """The cost of everything in one session that was read, as the statistics would say it."""
    cost = unpriced = 0.0
    estimated = False
    for document in documents_of(transcript):
        spent = document.spending
        if spent is None:
            continue
        tokens = (spent.input, spent.output, spent.cache_read, spent.cache_write)
        if spent.cost is not None:
            cost += spent.cost
        elif any(tokens):
            long = spent.input + spent.cache_read + spent.cache_write > LONG_CONTEXT
            rates = prices.rates(spent.model, long=long)
            if rates is None:
                unpriced += spent.total
            else:
                estimated = True
                cost += rates.cost(*tokens, spent.cache_write_1h)
    return CostEstimate(cost, estimated, unpriced)


def _whole(number: float) -> int | float:
    return int(number) if number.is_integer() else number
