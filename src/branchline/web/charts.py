"""Server-side SVG charts of the statistics page: bars per day, a calendar, ranked bars.

Colours and text styles are CSS classes, because the page's content security policy forbids inline styles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from branchline.views.figures import money
from branchline.views.html.markup import Html, join, template

__all__ = ["calendar", "daily_bars", "ranked_bars"]

_WIDTH = 1168
_HEIGHT = 210
_LEFT = 44
_BOTTOM = 24
_TOP = 18
_SERIES = 5
_WEEKS = 53
_CELL = 17
_GAP = 4

_FIGURE = template('<svg class="chart {}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>')
_RECT = template('<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="{}"><title>{}</title></rect>')
_TEXT = template('<text class="{}" x="{}" y="{}">{}</text>')
_LINE = template('<line class="gridline" x1="{}" x2="{}" y1="{}" y2="{}"/>')
_RANKED = template(
    '<div class="rank"><span class="rank-name" title="{}">{}</span>'
    '<svg class="rank-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
    '<rect class="s0" width="{}" height="8" rx="1"/></svg>'
    '<span class="rank-value num">{}</span></div>'
)


def daily_bars(days: Mapping[date, Sequence[float]], names: Sequence[str], first: date, last: date) -> Html:
    """Draw stacked bars, one per day; the values of a day belong to the series in ``names``, in order."""
    count = (last - first).days + 1
    highest = max((sum(values) for values in days.values()), default=0.0)
    step = _step(highest)
    top = max(step * math.ceil(highest / step), step) if highest else 1.0
    room = _WIDTH - _LEFT
    width = room / count
    base = _HEIGHT - _BOTTOM
    scale = (base - _TOP) / top
    parts: list[Html] = []
    value = step
    while highest and value <= top + step / 2:
        y = base - value * scale
        parts += [
            _rule(y),
            _TEXT("tick end", _LEFT - 8, _number(y + 4), money(value)),
        ]
        value += step
    parts.append(_rule(base))
    for number in range(count):
        day = first + timedelta(days=number)
        if day.day == 1 and count > 20 and number < count - 8:
            x = _number(_LEFT + number * width)
            parts.append(_TEXT("tick", x, _HEIGHT - 6, f"{day:%b}"))
        values = days.get(day)
        if not values:
            continue
        title = f"{day.isoformat()}: " + ", ".join(
            f"{name} {money(spent)}" for name, spent in zip(names, values, strict=True) if spent
        )
        y = float(base)
        for series, spent in enumerate(values):
            height = spent * scale
            if height <= 0:
                continue
            y -= height
            parts.append(
                _RECT(
                    f"s{min(series, _SERIES - 1)}",
                    _number(_LEFT + number * width + width * 0.12),
                    _number(y),
                    _number(max(width * 0.76, 0.6)),
                    _number(max(height, 0.5)),
                    0 if width < 4 else 1,
                    title,
                )
            )
    return _FIGURE("bars", _WIDTH, _HEIGHT, "Cost per day", join(parts))


def calendar(counts: Mapping[date, int], last: date) -> Html:
    """Draw a square per day of the last year, Monday at the top; darker days have more sessions."""
    start = last - timedelta(days=last.weekday(), weeks=_WEEKS - 1)
    pitch = _CELL + _GAP
    left, top = 40, 22
    levels = sorted(count for count in counts.values() if count)
    parts: list[Html] = []
    for row, name in ((0, "Mon"), (2, "Wed"), (4, "Fri")):
        parts.append(_TEXT("tick end", left - 8, top + row * pitch + 13, name))
    for week in range(_WEEKS):
        monday = start + timedelta(weeks=week)
        if monday.day <= 7 and week < _WEEKS - 1:
            x = left + week * pitch
            parts.append(_TEXT("tick", x, top - 8, f"{monday:%b}"))
        for weekday in range(7):
            day = monday + timedelta(days=weekday)
            if day > last:
                break
            count = counts.get(day, 0)
            parts.append(
                _RECT(
                    f"h{_heat(count, levels)}",
                    left + week * pitch,
                    top + weekday * pitch,
                    _CELL,
                    _CELL,
                    3,
                    f"{day.isoformat()}: {count} session{'' if count == 1 else 's'}",
                )
            )
    width, height = left + _WEEKS * pitch, top + 7 * pitch
    return _FIGURE("calendar", width, height, "Sessions per day in the last year", join(parts))


def ranked_bars(rows: Sequence[tuple[str, str, float, str]]) -> Html:
    """Draw a bar per row: short name, full name, weight, and the text after the bar."""
    highest = max((weight for _, _, weight, _ in rows), default=0) or 1
    return join(
        _RANKED(full, name, _number(100 * weight / highest), value) for name, full, weight, value in rows
    )


def _rule(y: float) -> Html:
    return _LINE(_LEFT, _WIDTH, _number(y), _number(y))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _step(highest: float) -> float:
    """Return a round distance between grid lines that gives two to five of them."""
    if highest <= 0:
        return 1.0
    power = 10 ** math.floor(math.log10(highest))
    for factor in (0.2, 0.25, 0.5, 1.0, 2.0):
        if highest / (power * factor) <= 5:
            return float(power * factor)
    return float(power * 5)


def _heat(count: int, levels: Sequence[int]) -> int:
    if not count:
        return 0
    below = sum(1 for level in levels if level < count)
    return 1 + min(3, 4 * below // max(1, len(levels)))
