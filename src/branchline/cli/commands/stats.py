"""``stats``: messages, tokens and cost, per day, model, agent and directory."""

from __future__ import annotations

import os
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import click

from branchline.cli.commands.ls import reading_progress, require_one_scope
from branchline.cli.options import agent_option, command, names_of
from branchline.cli.output import Output, remark
from branchline.cli.resolver import everywhere_library, local_library
from branchline.cli.words import count

if TYPE_CHECKING:
    from branchline.library import SessionRow
    from branchline.library.stats import StatsRun
    from branchline.views.stats import Dimension, Stats

__all__ = ["stats_command"]

_BY = ["day", "model", "agent", "directory"]


@command(
    "stats",
    examples="""
    branchline stats
    branchline stats --all --by day --since 14d
    branchline stats --all --by model --since 2026-11
    branchline stats --json --all > spent.json
    """,
)
@click.option("--by", "by", type=click.Choice(_BY), help="Print one full table.")
@click.option("--since", metavar="DAY", help="Start date: 2026-11-01, 2026-11, yesterday, 7d, 2w, 3m.")
@click.option("--until", metavar="DAY", help="End date, inclusive.")
@click.option("--all", "everywhere", is_flag=True, help="Include the sessions of all working directories.")
@click.option("--dir", "directory", metavar="DIR", help="Use the .jsonl files of DIR.")
@agent_option
def stats_command(
    out: Output,
    by: Dimension | None,
    since: str | None,
    until: str | None,
    everywhere: bool,  # noqa: FBT001
    directory: str | None,
    agents: tuple[str, ...],
) -> None:
    """Show totals of messages, tokens, cost and tools.

    Every message counts once: entries that a fork copied from its parent are counted in the parent. All
    branches count, because all were paid for. Days are in the local time zone. Bars show cost, or tokens
    where there is no cost.
    """
    require_one_scope(directory, everywhere=everywhere, agents=agents)
    from branchline.library.stats import collect_stats
    from branchline.views.stats import Tally

    first, last = _day("--since", since), _day("--until", until)
    tally = Tally(since=first, until=last)
    rows = _rows(directory, agents, everywhere=everywhere)
    counted = collect_stats(rows, tally, progress=reading_progress())
    stats = tally.stats()
    if out.json:
        out.result("stats", _fields(stats, counted, first, last))
        return
    _print(out, stats, by)
    _tell(stats, counted)


def _print(out: Output, stats: Stats, dimension: Dimension | None) -> None:
    from branchline.views.stats_lines import overview, table

    home = os.path.expanduser("~")
    if not stats.total.messages and not stats.total.tokens:
        return
    if dimension is None:
        lines = overview(stats, columns=out.columns, home=home)
    else:
        lines = table(stats.by(dimension), dimension, columns=out.columns, home=home)
    for line in lines:
        out.row(*line)


def _tell(stats: Stats, counted: StatsRun) -> None:
    if not counted.read and not counted.unreadable:
        remark("no sessions here yet; `branchline stats --all` includes all directories")
        return
    facts = [f"{count(counted.read, 'session')} read"]
    if not stats.total.messages:
        facts.append("no messages in this period")
    if stats.repeated:
        facts.append(f"{count(stats.repeated, 'message')} of forks counted once")
    if counted.unreadable:
        facts.append(f"{len(counted.unreadable)} unreadable; `branchline check` says why")
    remark(", ".join(facts))


def _fields(stats: Stats, counted: StatsRun, since: date | None, until: date | None) -> dict[str, Any]:
    import msgspec

    fields = msgspec.to_builtins(stats)
    return {
        "since": None if since is None else since.isoformat(),
        "until": None if until is None else until.isoformat(),
        "total": fields["total"],
        "by": {dimension: fields[dimension] for dimension in _BY},
        "tools": fields["tools"],
        "repeated": stats.repeated,
        "read": counted.read,
        "unreadable": [row.path or row.key for row in counted.unreadable],
    }


def _rows(directory: str | None, agents: tuple[str, ...], *, everywhere: bool) -> list[SessionRow]:
    """The sessions that count, those of sub-agents among them: they were paid for as well."""
    if directory is not None:
        return list(local_library(directory).list())
    return list(everywhere_library(names_of(agents), everywhere=everywhere, subagents=True).list(deep=False))


def _day(option: str, words: str | None) -> date | None:
    if words is None:
        return None
    from branchline.views.times import day_of

    try:
        return day_of(words, datetime.now().astimezone().date())
    except ValueError as problem:
        raise click.UsageError(f"{option}: {problem}") from None
