"""Statistics as lines: an overview, or one table with bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from branchline.views.figures import tokens
from branchline.views.humanize import count
from branchline.views.plots import bar, sparkline
from branchline.views.spans import Line, Span, StyleRole, make_line
from branchline.views.stats import Group, OverviewDimension, Stats, StatsTotals
from branchline.views.text import cut, cut_start, one_line, pad, width
from branchline.views.tool_calls import short_path
from branchline.views.wrap import wrap_line

__all__ = ["overview", "table"]

_TOP = 5
_FACT = 8
_TOOLS = 8
_SHORT_NAME = 28
_SHORTEST_NAME = 9
_SHORT_BAR, _LONGEST_BAR = 10, 40
_UNKNOWN = {
    "day": "(no time)",
    "week": "(no time)",
    "month": "(no time)",
    "hour": "(no time)",
    "model": "(not said)",
    "agent": "(not known)",
}
_NONE = "(none)"
_ROLES: dict[str, StyleRole] = {
    "day": "time",
    "week": "time",
    "month": "time",
    "hour": "time",
    "tool": "tool",
    "session": "id",
    "branch": "label",
    "model": "model",
    "agent": "program",
    "directory": "path",
}


_TOLD_BY_THEIR_END = frozenset({"model", "directory"})


class _Column(NamedTuple):
    title: str
    text: Callable[[StatsTotals], str]
    role: StyleRole


_COLUMNS = (
    _Column("sessions", lambda figures: f"{figures.sessions:,}", "number"),
    _Column("messages", lambda figures: f"{figures.messages:,}", "number"),
    _Column("calls", lambda figures: f"{figures.tool_calls:,}", "number"),
    _Column("in", lambda figures: figures.in_words(figures.input), "plain"),
    _Column("out", lambda figures: figures.in_words(figures.output), "plain"),
    _Column("cached", lambda figures: figures.in_words(figures.cache_read), "plain"),
    _Column("cost", lambda figures: str(figures.cost_figure), "cost"),
)
_CHOICES = (
    _COLUMNS,
    (_COLUMNS[0], _COLUMNS[1], _COLUMNS[3], _COLUMNS[4], _COLUMNS[6]),
    (_COLUMNS[1], _COLUMNS[4], _COLUMNS[6]),
)
"""From wide to narrow: the first that leaves room for a name and a bar is used."""
_NARROW = (_CHOICES[-1], (_COLUMNS[1], _COLUMNS[6]), (_COLUMNS[6],))
"""If no bar fits: the first that leaves room for a name. The cost is always shown."""
_OF_TOOLS = (_COLUMNS[0], _COLUMNS[2])
"""What is known of a tool: messages, tokens and cost belong to answers, not to the calls in them."""


def overview(stats: Stats, *, columns: int | None = None, home: str = "") -> list[Line]:
    """Return the totals, the days as a sparkline, and the top of every other table.

    Without ``columns`` nothing is drawn or truncated, for pipes and screen readers.
    """
    total = stats.total
    lines = [
        _fact(
            "said",
            f"{count(total.messages, 'message')} in {count(total.sessions, 'session')}: "
            f"{count(total.prompts, 'prompt')}, {count(total.answers, 'answer')}, "
            f"{count(total.tool_calls, 'tool call')}",
        ),
        _fact(
            "tokens",
            f"{tokens(total.input)} in, {tokens(total.output)} out, "
            f"{tokens(total.cache_read)} from cache, {tokens(total.cache_write)} into cache"
            if total.knows_tokens
            else "unknown",
        ),
        _fact("cost", str(total.cost_figure), "cost"),
    ]
    if columns is not None:
        lines += _days(stats, columns)
    if stats.tools:
        shown = [f"{one_line(tool.name)} {tool.calls:,}" for tool in stats.tools[:_TOOLS]]
        more = len(stats.tools) - _TOOLS
        lines.append(_fact("tools", ", ".join(shown) + (f", {more} more" if more > 0 else "")))
    if columns is not None:
        lines = [part for line in lines for part in wrap_line(line, columns, indent=_FACT)]
    dimensions: tuple[OverviewDimension, ...] = ("model", "agent", "directory")
    for dimension in dimensions:
        groups = stats.by(dimension)
        if groups and (len(groups) > 1 or groups[0].name):
            lines += [(), *table(groups[:_TOP], dimension, columns=columns, home=home)]
            if len(groups) > _TOP:
                lines.append(
                    make_line(Span(f"… {len(groups) - _TOP} more; --by {dimension} shows all", "dim"))
                )
    return lines


def _fact(name: str, text: str, role: StyleRole = "plain") -> Line:
    return make_line(Span(f"{name:<{_FACT}}", "dim"), Span(text, role))


def _days(stats: Stats, columns: int) -> list[Line]:
    """Every day from the first to the last, including days without messages."""
    by_day = {group.name: group.figures for group in stats.day if group.name}
    if not by_day:
        return []
    first, last = date.fromisoformat(min(by_day)), date.fromisoformat(max(by_day))
    measure, what = _measure(list(stats.day))
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    values = [measure(by_day[day.isoformat()]) if day.isoformat() in by_day else 0.0 for day in days]
    drawn = sparkline(values, max(8, columns - 48))
    period = f"  {first} … {last}" if first != last else f"  {first}"
    return [make_line(Span("days    ", "dim"), Span(drawn, "bar"), Span(f"{period}, by {what}", "dim"))]


def table(
    groups: Sequence[Group], dimension: str, *, columns: int | None = None, home: str = ""
) -> list[Line]:
    """Return a table with one line per group; with ``columns``, also a bar if it fits."""
    names = [_name(group, dimension, home) for group in groups]
    longest = max([width(dimension), *map(width, names)])
    of_tools = "tool" in dimension.split(",")
    choices = ((_OF_TOOLS,), (_OF_TOOLS[1:],)) if of_tools else (_CHOICES, _NARROW)
    chosen, cells, widths, left = _grid(groups, choices, columns, min(longest, _SHORT_NAME) + 2 + _SHORT_BAR)
    with_bar = left - 2 - _SHORT_BAR
    name_room = longest
    if columns is not None:
        name_room = min(longest, with_bar if with_bar >= _SHORT_NAME else max(1, left))
    bar_room = min(_LONGEST_BAR, left - name_room - 2)
    measure, _ = _measure(groups)
    largest = max((measure(group.figures) for group in groups), default=0)
    titles = "".join(f"  {column.title:>{room}}" for column, room in zip(chosen, widths, strict=True))
    lines = [make_line(Span(pad(dimension, name_room) + titles, "heading"))]
    for group, name, row in zip(groups, names, cells, strict=True):
        shown = (cut_start if dimension in _TOLD_BY_THEIR_END else cut)(name, name_room)
        spans = [Span(pad(shown, name_room), _ROLES.get(dimension, "plain"))]
        for column, room, text in zip(chosen, widths, row, strict=True):
            spans.append(Span(f"  {pad(text, room, right=True)}", column.role))
        if bar_room >= 4:
            spans.append(Span("  " + bar(measure(group.figures), largest, bar_room), "bar"))
        lines.append(make_line(*spans))
    return lines


class _Grid(NamedTuple):
    """The shown columns, their cells, their widths, and the rest of the line."""

    chosen: Sequence[_Column]
    cells: list[list[str]]
    widths: list[int]
    left: int


def _grid(
    groups: Sequence[Group],
    choices: tuple[Sequence[Sequence[_Column]], Sequence[Sequence[_Column]]],
    columns: int | None,
    wanted: int,
) -> _Grid:
    """As many columns as leave room for name and bar, else for a name; all without a width."""
    grids = []
    for offered, needed in zip(choices, (wanted, _SHORTEST_NAME), strict=True):
        for chosen in offered:
            cells = [[column.text(group.figures) for column in chosen] for group in groups]
            titles = [column.title for column in chosen]
            widths = [max(map(len, texts)) for texts in zip(titles, *cells, strict=True)]
            left = 0 if columns is None else columns - sum(widths) - 2 * len(widths)
            grids.append(_Grid(chosen, cells, widths, left))
            if columns is None or left >= needed:
                return grids[-1]
    return grids[-1]


def _measure(groups: Sequence[Group]) -> tuple[Callable[[StatsTotals], float], str]:
    """What bars show: cost if there is any, else tokens, else messages, else tool calls."""
    if any(group.figures.cost > 0 for group in groups):
        return (lambda figures: figures.cost), "cost"
    if any(group.figures.tokens > 0 for group in groups):
        return (lambda figures: figures.tokens), "tokens"
    if any(group.figures.messages > 0 for group in groups):
        return (lambda figures: figures.messages), "messages"
    return (lambda figures: figures.tool_calls), "tool calls"


def _name(group: Group, dimension: str, home: str) -> str:
    parts = []
    for part, of in zip(group.keys or (group.name,), dimension.split(","), strict=False):
        shown = short_path(part, home) if of == "directory" else part
        parts.append(shown or _UNKNOWN.get(of, _NONE))
    return one_line("  ".join(parts))
