"""The statistics screen as lines: figures, days with models stacked, tables, hours, a calendar."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate, zip_longest
from typing import Literal, NamedTuple, get_args

import msgspec

from branchline.views.browser.source import SpendingSource
from branchline.views.figures import money, tokens
from branchline.views.humanize import count
from branchline.views.plots import sparkline
from branchline.views.spans import Line, Piece, Span, StyleRole, line_width, make_line, pad_line
from branchline.views.stats import Group, OverviewDimension, StatsTotals, by_weight, sum_of_groups
from branchline.views.text import cut_start, one_line, width
from branchline.views.tool_calls import short_path

__all__ = ["MEASURES", "Measure", "StatisticsData", "read_statistics", "statistics_lines"]

Measure = Literal["cost", "tokens", "messages"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

_STACKED = 4
"""Models with a shade of their own in the chart; the others share one."""
_SHADES: tuple[StyleRole, ...] = ("heat4", "heat3", "heat2", "heat1", "dim")
_AXIS = 7
_ROWS = 8
_MOST_DAYS = 365
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_HEAT = "·▂▄▆█"
_HEAT_ROLES: tuple[StyleRole, ...] = ("dim", "heat1", "heat2", "heat3", "heat4")
_TWO_TABLES, _THREE_TABLES = 104, 158
_NAME = 24
"""Columns of a name in a table, at every width."""
_GAP = 4
_TOP = 6
_RANKED: tuple[OverviewDimension, ...] = ("model", "directory", "agent")


class StatisticsData(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of the statistics screen."""

    total: StatsTotals
    days: tuple[Group, ...] = ()
    model_days: tuple[Group, ...] = ()
    """By day and model."""
    models: tuple[Group, ...] = ()
    directories: tuple[Group, ...] = ()
    agents: tuple[Group, ...] = ()
    tools: tuple[Group, ...] = ()
    hours: tuple[Group, ...] = ()
    subagents: int = 0
    """How many of the sessions are of sub-agents."""
    others: Mapping[tuple[OverviewDimension, Measure], int] = {}
    """The number of sessions in the groups that a table adds up, for each table and measure."""
    notes: tuple[str, ...] = ()


def read_statistics(sums: SpendingSource) -> StatisticsData:
    """Read all figures. Waits for the disk."""
    ranked: dict[OverviewDimension, tuple[Group, ...]] = {
        dimension: sums.groups(dimension) for dimension in _RANKED
    }
    others = {
        (dimension, measure): sums.sessions_beside(dimension, [group.name for group in first])
        for dimension, groups in ranked.items()
        for measure in MEASURES
        if len(groups) > len(first := _largest(groups, measure))
    }
    return StatisticsData(
        total=sums.total(),
        days=sums.groups("day"),
        model_days=sums.groups("day", "model"),
        models=ranked["model"],
        directories=ranked["directory"],
        agents=ranked["agent"],
        subagents=sums.subagents,
        others=others,
        tools=sums.groups("tool"),
        hours=sums.groups("hour"),
        notes=tuple(sums.notes),
    )


def _model_name(name: str) -> str:
    return name.rpartition("/")[2]


def _value(measure: Measure) -> Callable[[StatsTotals], float]:
    return lambda figures: float(getattr(figures, measure))


def _words(measure: Measure, value: float) -> str:
    if measure == "cost":
        return money(value)
    return tokens(value) if measure == "tokens" else f"{value:,.0f}"


def statistics_lines(
    data: StatisticsData,
    columns: int,
    *,
    today: date,
    measure: Measure = "cost",
    day: date | None = None,
    home: str = "",
) -> list[Line]:
    """Return all lines for a width; ``day`` is the selected day."""
    if not data.total.messages and not data.total.tokens:
        return [make_line(Span(" No messages yet.", "dim"))]
    lines = [*_figures(data, columns, today), (), *_chart(data, columns, today, measure, day or today), ()]
    tables: list[tuple[str, str, list[_Row]]] = [
        ("Models", measure, _ranked(data, "model", measure, _model_name)),
        ("Projects", measure, _ranked(data, "directory", measure, lambda name: short_path(name, home))),
        ("Agents", measure, _ranked(data, "agent", measure, lambda name: name)),
        ("Tools", "calls", _calls(data.tools)),
    ]
    across = 3 if columns >= _THREE_TABLES else 2 if columns >= _TWO_TABLES else 1
    room = (columns - 2 - _GAP * (across - 1)) // across
    for start in range(0, len(tables), across):
        drawn = [_table(*table, room) for table in tables[start : start + across]]
        for parts in zip_longest(*drawn, fillvalue=()):
            pieces: list[Piece] = [" "]
            for number, part in enumerate(parts):
                pieces += [" " * _GAP if number else "", *pad_line(part, room)]
            lines.append(make_line(*pieces))
        lines.append(())
    lines += [*_hours(data, measure), (), *_calendar(data, columns, today)]
    return [*lines, *(make_line(Span(f" {note}", "dim")) for note in data.notes)]


# -- figures ----------------------------------------------------------------------------------------------


def _figures(data: StatisticsData, columns: int, today: date) -> list[Line]:
    total = data.total
    sent = total.input + total.cache_read + total.cache_write
    cached = f", {total.cache_read / sent:.0%} of the input from cache" if sent else ""
    active = sum(bool(group.name) for group in data.days)
    first = min((group.name for group in data.days if group.name), default="")
    span = (today - date.fromisoformat(first)).days + 1 if first else 0
    of_subagents = f", {data.subagents:,} of sub-agents" if data.subagents else ""
    figures = [
        (str(total.cost_figure), f"{'estimated in part, ' if total.estimated else ''}forks counted once"),
        (total.in_words(total.tokens), f"tokens{cached}"),
        (f"{total.sessions:,}", f"sessions{of_subagents}, {count(total.prompts, 'prompt')}"),
        (f"{active:,}", f"active {'day' if active == 1 else 'days'} of {span:,}"),
        (f"{total.tool_calls:,}", "tool calls"),
    ]
    if total.unpriced:
        figures.append((tokens(total.unpriced), "tokens without a price"))
    lines: list[Line] = []
    row: list[Piece] = []
    for number, words in figures:
        piece = make_line("    " if row else " ", Span(number, "title"), Span(f" {words}", "dim"))
        if row and line_width(make_line(*row, *piece)) > columns - 1:
            lines.append(make_line(*row))
            row, piece = [], make_line(" ", *piece[1:])
        row += piece
    return [*lines, make_line(*row)]


# -- the chart --------------------------------------------------------------------------------------------


def _chart(data: StatisticsData, columns: int, today: date, measure: Measure, day: date) -> list[Line]:
    """One column per day, as many as fit; the largest models are stacked."""
    number = max(7, min(_MOST_DAYS, columns - _AXIS - 2))
    end = max(today, day)
    days = [end - timedelta(days=back) for back in range(number - 1, -1, -1)]
    value = _value(measure)
    ranked = [group.keys[0] for group in sorted(data.models, key=lambda group: -value(group.figures))]
    shades = {name: min(place, _STACKED) for place, name in enumerate(ranked)}
    stacks: dict[str, list[float]] = {}
    for group in data.model_days:
        stack = stacks.setdefault(group.keys[0], [0.0] * (_STACKED + 1))
        stack[shades.get(group.keys[1], _STACKED)] += value(group.figures)
    for group in data.days:  # figures without a model, such as prompts
        stack = stacks.setdefault(group.name, [0.0] * (_STACKED + 1))
        stack[_STACKED] += max(0.0, value(group.figures) - sum(stack))
    heights = [stacks.get(one.isoformat(), [0.0] * (_STACKED + 1)) for one in days]
    top = _round_up(max(map(sum, heights), default=0.0))
    figures = next((group.figures for group in data.days if group.name == day.isoformat()), StatsTotals())
    told = f"{_figure(measure, figures)}, {day.day} {day:%b} {day.year}"
    title = {"cost": "Cost", "tokens": "Tokens", "messages": "Messages"}[measure]
    head = make_line(
        Span(f" {title} per day", "title"),
        Span(f"  the last {number} days", "dim"),
        Span(f"    {told}", "tool"),
    )
    lines: list[Line] = [head]
    for level in range(_ROWS - 1, -1, -1):
        label = (
            _words(measure, top * (level + 1) / _ROWS) if top and level in (_ROWS - 1, _ROWS // 2 - 1) else ""
        )
        spans: list[Piece] = [Span(f" {label:>{_AXIS - 2}} ", "dim")]
        for one, stack in zip(days, heights, strict=True):
            letter, role = _cell(stack, top, level)
            if one == day:
                letter, role = (letter if letter != " " else "┊"), "active"
            spans.append(Span(letter, role))
        lines.append(make_line(*spans))
    lines.append(_months(days))
    legend: list[Piece] = [" " * _AXIS]
    for place, name in enumerate(ranked[:_STACKED]):
        legend.append(Span("■ ", _SHADES[place]))
        legend.append(Span(f"{one_line(_model_name(name)) or '(not said)'}   ", "dim"))
    if len(ranked) > _STACKED:
        legend += [Span("■ ", "dim"), Span(count(len(ranked) - _STACKED, "other"), "dim")]
    return [*lines, make_line(*legend)]


def _cell(stack: Sequence[float], top: float, level: int) -> tuple[str, StyleRole]:
    """One cell of a column; the largest model is at the bottom."""
    total = sum(stack)
    if not top or not total or not math.isfinite(total):
        return " ", "dim"
    filled = max(1, round(total / top * _ROWS * 8)) - level * 8
    if filled <= 0:
        return " ", "dim"
    middle = (level + min(filled, 8) / 16) * top / _ROWS
    place = next((at for at, reached in enumerate(accumulate(stack)) if middle < reached), _STACKED)
    return _EIGHTHS[min(8, filled)], _SHADES[place]


def _round_up(value: float) -> float:
    if value <= 0 or not math.isfinite(value):
        return 0.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(step * unit for step in (1, 2, 2.5, 5, 10) if step * unit >= value * 0.999)


def _months(days: Sequence[date]) -> Line:
    firsts = {place: day for place, day in enumerate(days) if day.day == 1}
    return make_line(" " * _AXIS, Span(_month_names(firsts, len(days)), "dim"))


def _month_names(months: Mapping[int, date], columns: int) -> str:
    """The names of months at these columns, as far as they fit."""
    letters = [" "] * columns
    free = 0
    for place, day in months.items():
        if place >= free and place + 3 <= columns:
            letters[place : place + 3] = f"{day:%b}"
            free = place + 4
    return "".join(letters)


# -- tables -----------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """A row of a table; its bar shows ``amount``."""

    name: str
    amount: float
    sessions: int
    words: str


def _largest(groups: Sequence[Group], measure: Measure) -> list[Group]:
    value = _value(measure)
    return sorted(groups, key=lambda group: (-value(group.figures), by_weight(group)))[:_TOP]


def _ranked(
    data: StatisticsData, dimension: OverviewDimension, measure: Measure, shown: Callable[[str], str]
) -> list[_Row]:
    """The largest groups, and one row for all others."""
    groups = {"model": data.models, "directory": data.directories, "agent": data.agents, "day": data.days}[
        dimension
    ]

    def row(name: str, figures: StatsTotals) -> _Row:
        return _Row(name, _value(measure)(figures), figures.sessions, _figure(measure, figures))

    first = _largest(groups, measure)
    rows = [row(shown(group.name), group.figures) for group in first]
    others = [group for group in groups if group not in first]
    if others:
        sessions = data.others.get((dimension, measure), 0)
        rows.append(row(count(len(others), "other"), sum_of_groups(others, sessions=sessions)))
    return rows


def _figure(measure: Measure, figures: StatsTotals) -> str:
    match measure:
        case "cost":
            return str(figures.cost_figure)
        case "tokens":
            return figures.in_words(figures.tokens)
        case "messages":
            return f"{figures.messages:,}"


def _calls(groups: Sequence[Group]) -> list[_Row]:
    ranked = sorted(groups, key=lambda group: -group.figures.tool_calls)[: _TOP + 1]
    figures = [(group.name, group.figures.tool_calls, group.figures.sessions) for group in ranked]
    return [_Row(name, calls, sessions, f"{calls:,}") for name, calls, sessions in figures]


def _table(title: str, head: str, rows: Sequence[_Row], columns: int) -> list[Line]:
    """A table of names, bars and two numbers."""
    names = [one_line(row.name or "(not said)") for row in rows]
    longest = max(map(width, names), default=0)
    # Names come before bars: a wider screen with three tables cuts no name that a narrow one shows.
    name_room = max(10, min(_NAME, columns - 34), min(longest, _NAME, columns - 24))
    bar_room = max(0, columns - name_room - 24)
    largest = max((row.amount for row in rows), default=0.0)
    heads = Span(f"{'sessions':>10}{head:>11}", "dim")
    lines = [make_line(*pad_line((Span(title, "title"),), columns - 22), heads)]
    for name, (_name, amount, sessions, words) in zip(names, rows, strict=True):
        halves = max(1, round(amount / largest * bar_room * 2)) if amount > 0 and largest > 0 else 0
        bar = "━" * (halves // 2) + "╸" * (halves % 2)
        lines.append(
            make_line(
                *pad_line((Span(cut_start(name, name_room)),), name_room),
                " ",
                *pad_line((Span(bar, "bar"),), bar_room),
                " ",
                Span(f"{sessions:>10,}", "dim"),
                Span(f"{words:>11}", "tool"),
            )
        )
    return lines


# -- hours and days ---------------------------------------------------------------------------------------


def _hours(data: StatisticsData, measure: Measure) -> list[Line]:
    value = _value(measure)
    by_hour = {group.name[:2]: value(group.figures) for group in data.hours if group.name[:2].isdigit()}
    values = [by_hour.get(f"{hour:02}", 0.0) for hour in range(24)]
    if not any(values):
        return []
    busiest = max(range(24), key=values.__getitem__)
    drawn = "".join(letter * 2 for letter in sparkline(values))
    marks = "".join(f"{hour:02}" if hour % 3 == 0 else "  " for hour in range(24))
    return [
        make_line(
            Span(" Hours", "title"), Span(f"  busiest {busiest:02}:00 to {(busiest + 1) % 24:02}:00", "dim")
        ),
        make_line(" ", Span(drawn, "bar")),
        make_line(" ", Span(marks, "dim")),
    ]


def _calendar(data: StatisticsData, columns: int, today: date) -> list[Line]:
    """A year of weeks, Monday on top; heights and shades show the number of messages."""
    weeks = max(4, min(53, (columns - 6) // 2))
    messages = {group.name: group.figures.messages for group in data.days if group.name}
    monday = today - timedelta(days=today.weekday()) - timedelta(weeks=weeks - 1)
    largest = max(messages.values(), default=0)
    legend: list[Piece] = [Span(" Days", "title"), Span("  messages per day    fewer ", "dim")]
    for letter, role in zip(_HEAT, _HEAT_ROLES, strict=True):
        legend += [Span(letter, role), " "]
    lines = [make_line(*legend, Span("more", "dim"))]
    mondays = {week * 2: monday + timedelta(weeks=week) for week in range(weeks)}
    firsts = {place: day for place, day in mondays.items() if day.day <= 7}
    lines.append(make_line("     ", Span(_month_names(firsts, weeks * 2), "dim")))
    for weekday, name in enumerate(("Mon", "", "Wed", "", "Fri", "", "Sun")):
        pieces: list[Piece] = [Span(f" {name:<4}", "dim")]
        for week in range(weeks):
            one = monday + timedelta(weeks=week, days=weekday)
            if one > today:
                break
            said = messages.get(one.isoformat(), 0)
            level = min(4, math.ceil(4 * math.sqrt(said / largest))) if said and largest else 0
            pieces += [Span(_HEAT[level], _HEAT_ROLES[level]), " "]
        lines.append(make_line(*pieces))
    return lines
