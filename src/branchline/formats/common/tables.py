"""Tables of other agents' SQLite databases, whose versions differ in tables and columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from operator import eq

from branchline.formats.protocol import Query

__all__ = ["columns", "shared_beginning", "tables", "text_of"]


def tables(query: Query) -> frozenset[str]:
    """Return the names of the tables."""
    rows = query("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(text_of(name) for (name,) in rows)


def columns(query: Query, table: str) -> frozenset[str]:
    """Return the names of a table's columns."""
    ((names,),) = query("SELECT group_concat(name, char(10)) FROM pragma_table_info(?)", table)
    return frozenset(text_of(names).split("\n")) if names else frozenset()


def text_of(value: object) -> str:
    """Return the text of a column, which SQLite may hold as another type."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else "" if value is None else str(value)


def shared_beginning(some: Sequence[object], others: Sequence[object]) -> int:
    """Return how many values two columns have in common at their beginning."""
    return sum(takewhile(bool, map(eq, some, others)))
