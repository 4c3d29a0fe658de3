"""SQL queries over four views, read-only and with a time limit.

The views hold the sessions that statistics count, with the same figures. The tables behind them may change
with any version; the views and their columns are documented.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from branchline.catalog.catalog import Catalog
from branchline.catalog.details import figures_of
from branchline.catalog.statistics import ScopeFile, in_scope
from branchline.context.prices import PriceList
from branchline.errors import InvalidArgument

__all__ = ["VIEWS", "SqlProblem", "SqlResult", "ask"]

VIEWS = ("sessions", "messages", "spending", "tools")
_STEPS = 10_000  # of SQLite's virtual machine between two looks at the clock
_MOST = 100_000
_LONGEST = 1 << 24  # bytes of one value
_VIEWS = """
CREATE TEMP VIEW IF NOT EXISTS sessions AS SELECT
    known.*,
    CASE WHEN scope.row = scope.file THEN figures.tokens END AS tokens,
    CASE WHEN scope.row = scope.file THEN figures.cost END AS cost,
    CASE WHEN scope.row = scope.file THEN figures.cost_state ELSE 'elsewhere' END AS cost_state
FROM main.sessions AS known JOIN temp.scope ON scope.file = known.number
JOIN temp.figures ON figures.row = scope.row;
CREATE TEMP VIEW IF NOT EXISTS messages AS SELECT
    file AS session, entry, position, type, role, tool, model, datetime(ms / 1000, 'unixepoch') AS time,
    on_path, counted = 1 OR id IN (SELECT id FROM temp.extra) AS counted, failed
FROM main.doc WHERE file IN (SELECT file FROM temp.scope);
CREATE TEMP VIEW IF NOT EXISTS spending AS SELECT
    doc.file AS session, doc.entry, datetime(doc.ms / 1000, 'unixepoch') AS time, usage.model, usage.input,
    usage.output, usage.cache_read, usage.cache_write, usage.total AS tokens,
    ifnull(usage.cost, price(usage.model, usage.input, usage.output, usage.cache_read, usage.cache_write,
                             usage.cache_write_1h)) AS cost,
    usage.cost AS recorded_cost, usage.counted OR usage.doc IN (SELECT id FROM temp.extra) AS counted
FROM main.usage JOIN main.doc ON doc.id = usage.doc WHERE doc.file IN (SELECT file FROM temp.scope);
CREATE TEMP VIEW IF NOT EXISTS tools AS SELECT
    file AS session, datetime(quarter * 900, 'unixepoch') AS time, tool, model, calls
FROM temp.rolled_tool WHERE file IN (SELECT file FROM temp.scope)
"""
"""The views of the catalog, with what only the scope and the prices tell."""
_INNER = ("rolled_tool",)
"""Views below these, which a statement cannot name itself."""
_REFUSED = ("prohibited", "not authorized", "vtable constructor failed")


class SqlProblem(InvalidArgument):
    """A statement that is refused, invalid or too slow."""


class SqlResult(NamedTuple):
    """The rows; ``cut`` if there are more than are returned."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    cut: bool
    note: str = ""
    """What was not done as usual, as a sentence."""


def ask(
    catalog: Catalog, statement: str, *, scope: Sequence[ScopeFile], prices: PriceList, seconds: float
) -> SqlResult:
    """Run one SELECT statement over the views of these files. Raises SqlProblem if that fails."""
    connection = catalog.connection
    figures = figures_of(catalog, scope, prices)
    with catalog.guarded():
        in_scope(catalog, scope)
        connection.create_function("price", 6, _price(prices), deterministic=True)
        run = connection.execute
        run("CREATE TEMP TABLE IF NOT EXISTS figures (row INTEGER PRIMARY KEY, tokens, cost, cost_state)")
        run("DELETE FROM temp.figures")
        connection.executemany(
            "INSERT INTO temp.figures VALUES (?, ?, ?, ?)",
            [
                (row, one.totals.tokens if one.totals.knows_tokens else None, one.cost.amount, one.cost.state)
                for row, one in figures.items()
            ],
        )
        for view in _VIEWS.split(";"):
            run(view)
    end = time.monotonic() + seconds
    connection.execute("PRAGMA query_only = ON")
    longest = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        cursor = connection.execute(statement)
        rows = cursor.fetchmany(_MOST + 1)
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as problem:
        if "interrupted" in str(problem):
            raise SqlProblem(f"the statement took longer than {seconds:g} s and was stopped") from None
        if any(sign in str(problem) for sign in _REFUSED):
            raise SqlProblem(f"only SELECT over {', '.join(VIEWS)} is allowed: {problem}") from None
        raise SqlProblem(f"{problem}{_hint(connection, statement, str(problem))}") from None
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
        connection.execute("PRAGMA query_only = OFF")
    columns = tuple(name for name, *_rest in cursor.description or ())
    if not columns:
        raise SqlProblem(f"only SELECT over {', '.join(VIEWS)} is allowed")
    return SqlResult(columns, rows[:_MOST], len(rows) > _MOST)


def _price(prices: PriceList) -> Callable[..., float | None]:
    """Return the price of a call as a function of SQL; NULL if it is unknown."""
    return lambda model, *tokens: prices.of_call(model, tokens)


def _hint(connection: sqlite3.Connection, statement: str, problem: str) -> str:
    """What there is, where a statement names a table or a column that there is not."""
    if problem.startswith("no such table"):
        return f"; the views are {', '.join(VIEWS)}"
    if not problem.startswith("no such column"):
        return ""
    named = [view for view in VIEWS if re.search(rf"\b{view}\b", statement, re.IGNORECASE)]
    hints = []
    for view in named:
        columns = connection.execute(f"SELECT * FROM {view} LIMIT 0").description
        hints.append(f"; {view} has {', '.join(name for name, *_rest in columns)}")
    return "".join(hints)


def _authorize(
    action: int, first: str | None, second: str | None, database: str | None, source: str | None
) -> int:
    """Authorize a step of a statement. Common table expressions have no database, counts no column."""
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if second == "load_extension" else sqlite3.SQLITE_OK
    reader = "" if source is None else source.lower()  # as the statement writes it
    wanted = "" if first is None else first.lower()
    is_known = wanted in VIEWS or reader in (*VIEWS, *_INNER)
    is_count = second == "" and database == "temp"
    if action == sqlite3.SQLITE_READ and (database is None or is_known or is_count):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
