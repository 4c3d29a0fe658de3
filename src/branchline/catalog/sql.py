"""SQL queries over four views, read-only and with a time limit.

The tables behind the views may change with any version; the views and their columns are documented.
"""

from __future__ import annotations

import re
import sqlite3
import time
from typing import Any, NamedTuple

from branchline.catalog.catalog import Catalog
from branchline.catalog.statistics import roll_up
from branchline.errors import InvalidArgument

__all__ = ["VIEWS", "SqlProblem", "SqlResult", "ask"]

VIEWS = ("sessions", "messages", "spending", "tools")
_STEPS = 10_000  # of SQLite's virtual machine between two looks at the clock
_MOST = 100_000
_LONGEST = 1 << 24  # bytes of one value
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


def ask(catalog: Catalog, statement: str, *, seconds: float) -> SqlResult:
    """Run one SELECT statement over the views. Raises SqlProblem if that fails."""
    with catalog.guarded():
        roll_up(catalog)
    connection = catalog.connection
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
    """Authorize a step of a statement. Counts and common table expressions have no database."""
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if second == "load_extension" else sqlite3.SQLITE_OK
    named = {name.lower() for name in (first, source) if name is not None}  # as the statement writes them
    if action == sqlite3.SQLITE_READ and (database is None or named.intersection(VIEWS)):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
