"""A comparison as lines: unified, or side by side in two columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal

from branchline.views.compare import ComparedTurn, CompareView, Side, TurnPair
from branchline.views.humanize import cost_words, count, money, tokens
from branchline.views.spans import Line, Span, StyleRole, make_line, pad_line
from branchline.views.text import clusters, one_line, safe, width
from branchline.views.text_difference import Difference
from branchline.views.tool_calls import short_path

__all__ = ["head_lines", "near", "shared_words", "side_by_side", "totals_table", "unified"]

_ROLES: dict[Literal[" ", "-", "+"], StyleRole] = {" ": "plain", "-": "removed", "+": "added"}
_AROUND = 2  # context lines around a difference
_FILES = 6


def head_lines(
    view: CompareView, left: str, right: str, common: str = "", *, plain: bool = False
) -> Iterator[Line]:
    """Yield the two ends and what they share, up to the entry ``common``; ``plain`` names the sides."""
    first, second = ("first:", "second:") if plain else ("---", "+++")
    yield make_line(Span(f"{first} {left}", "removed"))
    yield make_line(Span(f"{second} {right}", "added"))
    yield make_line(Span(shared_words(view) + (f", up to {common}" if common else ""), "dim"))
    yield ()


def shared_words(view: CompareView) -> str:
    """Say how much two paths share."""
    if not view.shared:
        return "nothing shared"
    how = ", matched by text" if view.by == "text" else ""
    return f"{count(view.shared, 'entry', 'entries')} shared{how}"


def unified(view: CompareView, *, home: str = "") -> Iterator[Line]:
    """Yield the turns one below the other: ``-`` is only on the left side, ``+`` only on the right."""
    for number, pair in enumerate(view.pairs, 1):
        yield make_line(Span(f"Turn {number}", "heading"), Span(_turn_note(pair), "dim"))
        for title, difference in (("user", pair.prompt), ("assistant", pair.answer)):
            if difference:
                yield make_line(Span(f"  {title}", "user" if title == "user" else "heading"))
                yield from _difference(difference)
        left, right = _facts(pair.left, home), _facts(pair.right, home)
        if left == right:
            yield from (make_line(Span(f"    {fact}", "dim")) for fact in left)
        else:
            yield from (make_line(Span(f"  - {fact}", "removed")) for fact in left)
            yield from (make_line(Span(f"  + {fact}", "added")) for fact in right)
        yield ()


def side_by_side(view: CompareView, columns: int, *, home: str = "") -> Iterator[Line]:
    """Yield two columns, the turns of the left side beside those of the right."""
    half = max(10, (columns - 3) // 2)
    for number, pair in enumerate(view.pairs, 1):
        yield make_line(Span(f"Turn {number}", "heading"), Span(_turn_note(pair), "dim"))
        left, right = list(_column(pair, "-", half, home)), list(_column(pair, "+", half, home))
        for one, other in zip_longest(left, right, fillvalue=()):
            yield make_line(*pad_line(one, half), Span(" │ ", "dim"), *pad_line(other, half))
        yield ()


def totals_table(view: CompareView, names: tuple[str, str], *, home: str = "") -> list[Line]:
    """Return a table with the totals of both sides after the common beginning."""
    sides = (view.left, view.right)
    rows: list[tuple[str, tuple[str, str]]] = [
        ("", names),
        ("turns", _both(sides, lambda side: f"{len(side.turns):,}")),
        ("messages", _both(sides, lambda side: f"{side.messages:,}")),
        ("tools", _both(sides, lambda side: _tool_words(side.tools) or "none")),
        ("failures", _both(sides, lambda side: f"{side.errors:,}")),
        ("changed", _both(sides, lambda side: _file_words(side.changed, home) or "nothing")),
        ("read", _both(sides, lambda side: _file_words(side.read, home) or "nothing")),
        ("tokens", _both(sides, lambda side: tokens(side.usage.total_tokens))),
        ("cost", _both(sides, lambda side: money(side.usage.cost, side.usage.unpriced))),
    ]
    room = min(60, max(width(one_line(texts[0])) for _, texts in rows))
    lines = []
    for title, (left, right) in rows:
        role: StyleRole = "removed" if not title else "cost" if title == "cost" else "plain"
        other: StyleRole = role if title else "added"  # in the colours of the turns below
        cell = pad_line([Span(one_line(left), role)], room)
        lines.append(make_line(Span(f"{title:<10}", "dim"), *cell, "  ", Span(one_line(right), other)))
    return lines


def _both(sides: tuple[Side, Side], text: Callable[[Side], str]) -> tuple[str, str]:
    return text(sides[0]), text(sides[1])


def _turn_note(pair: TurnPair) -> str:
    if pair.left is None:
        return "  only on the right"
    if pair.right is None:
        return "  only on the left"
    return "  same text" if pair.same_words else ""


def _difference(difference: Difference) -> Iterator[Line]:
    """The lines that differ with their context, and the number of lines left out between."""
    shown = near(difference)
    hidden = 0
    for place, (mark, text) in enumerate(difference):
        if place not in shown:
            hidden += 1
            continue
        if hidden:
            yield _left_out(hidden)
            hidden = 0
        yield make_line(Span(f"  {mark} {safe(text)}", _ROLES[mark]))
    if hidden:
        yield _left_out(hidden)


def near(difference: Difference) -> set[int]:
    """Return the lines that differ with their context; of equal texts, the first lines."""
    changed = [place for place, (mark, _) in enumerate(difference) if mark != " "]
    if not changed:
        return set(range(min(_AROUND, len(difference))))
    return {around for place in changed for around in range(place - _AROUND, place + _AROUND + 1)}


def _left_out(number: int) -> Line:
    return make_line(Span(f"    ⋯ {count(number, 'line')} of both", "dim"))


def _column(pair: TurnPair, mark: Literal["-", "+"], room: int, home: str) -> Iterator[Line]:
    turn = pair.left if mark == "-" else pair.right
    if turn is None:
        return
    for title, difference in (("user", pair.prompt), ("assistant", pair.answer)):
        own = [(kind, text) for kind, text in difference if kind in (" ", mark)]
        if own:
            yield make_line(Span(title, "user" if title == "user" else "heading"))
        for kind, text in own:
            for part in _wrapped(safe(text), room - 2):
                yield make_line(Span(f"{kind} {part}", _ROLES[kind]))
    for fact in _facts(turn, home):
        yield make_line(Span(fact, "dim"))


def _wrapped(text: str, room: int) -> Iterator[str]:
    """Wrap a line, at spaces if possible, in one pass."""
    start = used = 0
    blank = -1  # the last one in the part that is being filled
    for cluster in clusters(text):
        is_blank = text[cluster.start] == " "
        if used + cluster.columns > room and cluster.start > start:
            if is_blank:
                blank = cluster.start
            end = blank if blank > start else cluster.start
            yield text[start:end]
            start = end + 1 if end == blank else end
            used = width(text[start : cluster.start])
            blank = -1
            if start > cluster.start:
                continue
        if is_blank:
            blank = cluster.start
        used += cluster.columns
    yield text[start:]


def _facts(turn: ComparedTurn | None, home: str) -> list[str]:
    if turn is None:
        return []
    facts = []
    if turn.tools:
        failed = f", {count(turn.errors, 'failure')}" if turn.errors else ""
        facts.append(f"tools: {_tool_words(turn.tools)}{failed}")
    if turn.changed:
        facts.append(f"changed: {_file_words(turn.changed, home)}")
    if turn.read:
        facts.append(f"read: {_file_words(turn.read, home)}")
    usage = turn.usage
    if usage.total_tokens or usage.cost:
        model = f" · {', '.join(map(one_line, turn.models))}" if turn.models else ""
        facts.append(f"{tokens(usage.total_tokens)} tokens · {cost_words(usage.cost, usage.unpriced)}{model}")
    return facts


def _tool_words(tools: Sequence[tuple[str, int]]) -> str:
    return ", ".join(one_line(name) + (f" ×{calls}" if calls > 1 else "") for name, calls in tools)


def _file_words(paths: Sequence[str], home: str) -> str:
    shown = ", ".join(one_line(short_path(path, home)) for path in paths[:_FILES])
    return shown + (f" and {len(paths) - _FILES} more" if len(paths) > _FILES else "")
