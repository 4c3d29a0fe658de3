"""Questions in SQL, for people: four views, read-only, for a few seconds at most.

The tables behind the views may change with any version; the views and their columns are documented.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any, NamedTuple

from branchline.catalog.catalog import Catalog
from branchline.catalog.statistics import roll_up

__all__ = ["VIEWS", "SqlProblem", "SqlResult", "ask"]

VIEWS = ("sessions", "messages", "spending", "tools")
_STEPS = 10_000  # of SQLite's virtual machine between two looks at the clock
_MOST = 100_000
_LONGEST = 1 << 24  # bytes of one value
_REFUSED = ("prohibited", "not authorized", "vtable constructor failed")


class SqlProblem(ValueError):
    """A statement that is refused, wrong, or takes too long."""


class SqlResult(NamedTuple):
    """The answer; ``cut`` where there are more rows than anybody reads."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    cut: bool
    note: str = ""
    """What was not done as usual, as a sentence."""


def ask(catalog: Catalog, statement: str, *, seconds: float) -> SqlResult:
    """The answer to one SELECT statement over the views. SqlProblem says what is wrong with it."""
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
        raise SqlProblem(str(problem)) from None
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
        connection.execute("PRAGMA query_only = OFF")
    columns = tuple(name for name, *_rest in cursor.description or ())
    if not columns:
        raise SqlProblem(f"only SELECT over {', '.join(VIEWS)} is allowed")
    return SqlResult(columns, rows[:_MOST], len(rows) > _MOST)


def _authorize(
    action: int, first: str | None, second: str | None, database: str | None, source: str | None
) -> int:
    """Whether a step of a statement is allowed. Counts and common table expressions have no database."""
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if second == "load_extension" else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ and (database is None or first in VIEWS or source in VIEWS):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
