"""``stats``: messages, tokens and cost, by day, model, agent, directory and so on."""

from __future__ import annotations

import os
import shlex
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import click

from branchline.cli.commands.ls import clear_progress, reading_progress, require_one_scope
from branchline.cli.options import command, scope_options
from branchline.cli.output import Output, remark
from branchline.cli.resolver import chosen_library
from branchline.views.figures import tokens
from branchline.views.humanize import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from branchline.library.stats import Statistics
    from branchline.views.stats import Dimension, Group, Stats, StatsTotals

__all__ = ["stats_command"]

_DIGITS = 9
"""Decimals of a cost; more of them come from adding binary fractions."""


@command(
    "stats",
    paged=True,
    examples="""
    branchline stats
    branchline stats --all --by day --since 14d
    branchline stats --all --by model --since 2026-11
    branchline stats --all --by month,model
    branchline stats --all --by tool --csv > tools.csv
    branchline stats --json --all > spent.json
    """,
)
@click.option(
    "--by",
    metavar="KEY[,KEY]",
    help="Print one full table: day, week, month, hour, model, agent, directory, tool, session or branch.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV (by day unless --by is given).")
@click.option("--since", metavar="DAY", help="Start date: 2026-11-01, 2026-11, yesterday, 7d, 2w, 3mo.")
@click.option("--until", metavar="DAY", help="End date, inclusive.")
@scope_options
def stats_command(
    out: Output,
    by: str | None,
    as_csv: bool,  # noqa: FBT001
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
    if as_csv and out.json:
        raise click.UsageError("choose one of --csv and --json")
    keys = _keys(by)
    first, last = _day("--since", since), _day("--until", until)
    if first is not None and last is not None and first > last:
        raise click.UsageError(f"--since {first} is after --until {last}")
    library = chosen_library(directory, agents, everywhere=everywhere)
    progress = reading_progress(then="adding up …")
    with library.statistics(since=first, until=last, progress=progress) as found:
        groups = found.groups(*keys) if keys else ()
        if as_csv:
            groups = groups or found.groups("day")
            clear_progress()
            _print_csv(out, keys or ("day",), groups)
            return
        stats = found.stats()
        clear_progress()
        if out.json:
            out.result("stats", _fields(stats, found, first, last, keys, groups))
            return
        _print(out, stats, keys, groups)
        scope = "" if directory is None else f" --dir {shlex.quote(directory)}"
        _tell(stats, found, f"branchline check{' --all' if everywhere else scope}", directory)


def _keys(by: str | None) -> tuple[Dimension, ...]:
    from branchline.views.stats import DIMENSIONS

    keys = () if by is None else tuple(by.split(","))
    for key in keys:
        if key not in DIMENSIONS:
            raise click.UsageError(f"--by: {key!r} is not one of {', '.join(DIMENSIONS)}")
    if len(keys) > 2 or len(set(keys)) < len(keys):
        raise click.UsageError("--by takes one key, or two different ones as in day,model")
    return keys  # type: ignore[return-value]


def _print(out: Output, stats: Stats, keys: Sequence[Dimension], groups: Sequence[Group]) -> None:
    from branchline.views.stats_lines import overview, table

    home = os.path.expanduser("~")
    if not stats.total.messages and not stats.total.tokens:
        return
    if not keys:
        lines = overview(stats, columns=out.columns, home=home)
    else:
        lines = table(groups, ",".join(keys), columns=out.columns, home=home)
    for line in lines:
        out.row(*line)


def _print_csv(out: Output, keys: Sequence[Dimension], groups: Sequence[Group]) -> None:
    from branchline.views.delimited import csv_line
    from branchline.views.stats import StatsTotals

    out.line(csv_line([*keys, *_figures(StatsTotals())]))
    for group in groups:
        out.line(csv_line([*group.keys, *_figures(group.figures, keys).values()]))


def _figures(figures: StatsTotals, keys: Sequence[Dimension] = ()) -> dict[str, Any]:
    """The figures for other programs. What is unknown is None, not 0."""
    import msgspec

    fields = msgspec.structs.asdict(figures)
    del fields["metered"]  # says what is known, as None does
    if not figures.knows_tokens:
        fields |= dict.fromkeys(("input", "output", "cache_read", "cache_write", "tokens"))
    cost = figures.cost_figure
    estimated = None if cost.amount is None else round(figures.estimated, _DIGITS)
    fields |= {"cost": cost.amount, "estimated": estimated, "cost_state": cost.state}
    if "tool" in keys:  # messages, tokens and cost belong to answers, not to the calls in them
        return dict.fromkeys(fields) | {name: fields[name] for name in ("sessions", "tool_calls")}
    return fields


def _group(group: Group, keys: Sequence[Dimension]) -> dict[str, Any]:
    return {"name": group.name, "figures": _figures(group.figures, keys), "keys": list(group.keys)}


def _tell(stats: Stats, found: Statistics, check: str, directory: str | None) -> None:
    for note in found.notes:
        remark(note)
    if not found.read and not found.unreadable:
        if directory is None:
            remark("no sessions here yet; `branchline stats --all` includes all directories")
        else:
            remark(f"no sessions in {directory}; folders below it are not searched")
        return
    facts = [f"{count(found.read, 'session')} read"]
    if found.subagents:
        facts.append(f"{found.subagents:,} of them of sub-agents")
    if not stats.total.messages:
        facts.append("no messages in this period")
    if stats.repeated:
        facts.append(f"{count(stats.repeated, 'message')} of forks counted once")
    if found.unreadable:
        facts.append(f"{len(found.unreadable)} unreadable; `{check}` says why")
    remark(", ".join(facts))
    if stats.total.estimated:
        remark("≈ marks cost that no agent recorded; it is estimated from public prices")
    if stats.total.unpriced:
        unknown = tokens(stats.total.unpriced)
        remark(f"{unknown} tokens are from models without a known price; set one with the setting `prices`")


def _fields(
    stats: Stats,
    found: Statistics,
    since: date | None,
    until: date | None,
    keys: Sequence[Dimension],
    groups: Sequence[Group],
) -> dict[str, Any]:
    import msgspec

    from branchline.views.stats import OVERVIEW

    return {
        "since": None if since is None else since.isoformat(),
        "until": None if until is None else until.isoformat(),
        "total": _figures(stats.total),
        "by": {
            dimension: [_group(group, (dimension,)) for group in getattr(stats, dimension)]
            for dimension in OVERVIEW
        },
        "keys": list(keys),
        "groups": [_group(group, keys) for group in groups],
        "tools": msgspec.to_builtins(stats.tools),
        "repeated": stats.repeated,
        "read": found.read,
        "unreadable": found.unreadable,
        "notes": found.notes,
    }


def _day(option: str, words: str | None) -> date | None:
    if words is None:
        return None
    from branchline.views.times import day_of

    try:
        return day_of(words, datetime.now().astimezone())
    except ValueError as problem:
        raise click.UsageError(f"{option}: {problem}") from None
