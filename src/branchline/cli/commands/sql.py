"""``sql``: SQL queries on documented views of all sessions."""

from __future__ import annotations

import click

from branchline.cli.options import TEXT, command
from branchline.cli.output import Output, remark
from branchline.cli.resolver import everywhere_library

__all__ = ["sql_command"]

_SECONDS = 5.0


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
        found = library.sql(statement, seconds=_SECONDS)
    except SqlProblem as problem:
        raise click.UsageError(str(problem)) from None
    if found.note:
        remark(found.note)
    if out.json:
        rows = [dict(zip(found.columns, map(_plain, row), strict=True)) for row in found.rows]
        out.result("sql", {"columns": list(found.columns), "rows": rows, "cut": found.cut})
        return
    for row in (found.columns, *found.rows):
        values = [_plain(value) for value in row]
        out.line(
            csv_line(values) if as_csv else "  ".join("" if value is None else str(value) for value in values)
        )
    if found.cut:
        remark(f"only the first {len(found.rows):,} rows are shown")


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value
