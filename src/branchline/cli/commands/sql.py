"""``sql``: SQL queries on documented views of all sessions."""

from __future__ import annotations

from collections.abc import Sequence

import click

from branchline.cli.commands.ls import reading_progress
from branchline.cli.options import TEXT, command
from branchline.cli.output import Output, remark
from branchline.cli.resolver import everywhere_library
from branchline.views.text import one_line, pad, width

__all__ = ["sql_command"]

_SECONDS = 5.0
_WIDEST = 40
"""Columns of a cell; what is behind a longer one is not aligned."""


@command(
    "sql",
    paged=True,
    examples="""
    branchline sql "select agent, count(*) from sessions group by agent"
    branchline sql "select model, sum(tokens) from spending where counted group by 1 order by 2 desc" --csv
    branchline sql "select tool, sum(calls) as calls from tools group by tool order by calls desc limit 5"
    """,
)
@click.argument("statement", type=TEXT)
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
def sql_command(out: Output, statement: str, as_csv: bool) -> None:  # noqa: FBT001
    """Query all sessions in SQL: the views sessions, messages, spending and tools.

    One SELECT statement, read-only, for five seconds at most. `select * from VIEW limit 1`
    shows the columns of a view; the guide about statistics describes them.
    """
    from branchline.catalog.sql import SqlProblem
    from branchline.views.delimited import csv_line

    if as_csv and out.json:
        raise click.UsageError("choose one of --csv and --json")
    library = everywhere_library(everywhere=True, subagents=True)
    try:
        found = library.sql(statement, seconds=_SECONDS, progress=reading_progress())
    except SqlProblem as problem:
        raise click.UsageError(str(problem)) from None
    if found.note:
        remark(found.note)
    rows = [[_plain(value) for value in row] for row in found.rows]
    if out.json:
        columns = _different(found.columns)
        fields = [dict(zip(columns, row, strict=True)) for row in rows]
        out.result("sql", {"columns": columns, "rows": fields, "cut": found.cut})
        return
    if as_csv:
        for row in (found.columns, *rows):
            out.line(csv_line(row))
    else:
        _print_table(out, [found.columns, *rows])
    if found.cut:
        remark(f"only the first {len(found.rows):,} rows are shown")


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


def _different(columns: Sequence[str]) -> list[str]:
    """The names of columns, with a number after one that is repeated."""
    names: list[str] = []
    for name in columns:
        number, unique = 1, name
        while unique in names:
            number += 1
            unique = f"{name}:{number}"
        names.append(unique)
    return names


def _print_table(out: Output, rows: Sequence[Sequence[object]]) -> None:
    """Print rows with aligned columns, those of numbers to the right."""
    cells = [["" if value is None else one_line(str(value)) for value in row] for row in rows]
    widths = [min(_WIDEST, max(map(width, column))) for column in zip(*cells, strict=True)]
    right = [any(map(_is_number, column)) for column in zip(*rows, strict=True)]
    for row in cells:
        columns = zip(row, widths, right, strict=True)
        out.line("  ".join(pad(cell, room, right=is_number) for cell, room, is_number in columns))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
