"""A comparison as lines: unified, side by side in two columns, or in words for screen readers.

In words there are no columns and no symbols: every line names its side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal

from branchline.views.compare import ComparedTurn, CompareView, Side, TurnPair
from branchline.views.humanize import count
from branchline.views.spans import Line, Span, StyleRole, make_line, pad_line
from branchline.views.text import one_line, safe, width
from branchline.views.text_difference import Difference
from branchline.views.tool_calls import short_path
from branchline.views.wrap import text_lines

__all__ = [
    "head_lines",
    "shared_words",
    "side_by_side",
    "totals_in_words",
    "totals_table",
    "turns_in_words",
    "unified",
]

_ROLES: dict[Literal[" ", "-", "+"], StyleRole] = {" ": "plain", "-": "removed", "+": "added"}
_WHOSE = {" ": "both", "-": "first", "+": "second"}
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
        yield make_line(Span(f"Turn {number}", "heading"), Span(f"  {_turn_note(pair)}".rstrip(), "dim"))
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
        yield make_line(Span(f"Turn {number}", "heading"), Span(f"  {_turn_note(pair)}".rstrip(), "dim"))
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
        ("tokens", _both(sides, lambda side: side.tokens)),
        ("cost", _both(sides, lambda side: str(side.cost))),
    ]
    room = min(60, max(width(one_line(texts[0])) for _, texts in rows))
    lines = []
    for title, (left, right) in rows:
        role: StyleRole = "removed" if not title else "cost" if title == "cost" else "plain"
        other: StyleRole = role if title else "added"  # in the colours of the turns below
        cell = pad_line([Span(one_line(left), role)], room)
        lines.append(make_line(Span(f"{title:<10}", "dim"), *cell, "  ", Span(one_line(right), other)))
    return lines


def turns_in_words(view: CompareView, *, home: str = "") -> Iterator[Line]:
    """Yield the turns one after the other, with the text of the first, of the second, and of both."""
    for number, pair in enumerate(view.pairs, 1):
        note = _turn_note(pair, "in the first", "in the second")
        yield make_line(Span(f"turn {number}{', ' if note else ''}{note}", "heading"))
        for title, difference in (("user", pair.prompt), ("assistant", pair.answer)):
            if difference:
                yield make_line(Span(f"  {title}", "heading"))
            for part in _shortened(difference):
                if isinstance(part, int):
                    yield make_line(f"    {count(part, 'line')} the same in both")
                else:
                    yield make_line(f"    {_WHOSE[part[0]]}: {safe(part[1])}")
        for whose, turn in (("first", pair.left), ("second", pair.right)):
            if turn is not None and (facts := _facts_in_words(turn, home)):
                yield make_line(f"  {whose}: {facts}")
        yield ()


def _facts_in_words(turn: ComparedTurn, home: str) -> str:
    facts = []
    if turn.tools:
        facts.append(f"tools {_tool_words(turn.tools, ' {} times')}")
    if turn.errors:
        facts.append(count(turn.errors, "failure"))
    if turn.changed:
        facts.append(f"changed {_file_words(turn.changed, home, None)}")
    if turn.read:
        facts.append(f"read {_file_words(turn.read, home, None)}")
    if turn.answers:
        facts.append(f"{turn.tokens} tokens, {turn.cost.words}")
        facts += [f"with {', '.join(map(one_line, turn.models))}"] if turn.models else []
    return "; ".join(facts)


def totals_in_words(view: CompareView, names: tuple[str, str], *, home: str = "") -> Iterator[Line]:
    """Yield the totals of both sides after the common beginning, one paragraph per side."""
    for whose, name, side in zip(("first", "second"), names, (view.left, view.right), strict=True):
        yield make_line(Span(f"{whose}, {one_line(name)}", "heading"))
        for fact in (
            f"{count(len(side.turns), 'turn')}, {count(side.messages, 'message')}",
            f"tools: {_tool_words(side.tools, ' {} times') or 'none'}, {count(side.errors, 'failure')}",
            f"changed: {_file_words(side.changed, home, None) or 'nothing'}",
            f"read: {_file_words(side.read, home, None) or 'nothing'}",
            f"{side.tokens} tokens, {side.cost.words}",
        ):
            yield make_line(f"  {fact}")


def _both(sides: tuple[Side, Side], text: Callable[[Side], str]) -> tuple[str, str]:
    return text(sides[0]), text(sides[1])


def _turn_note(pair: TurnPair, left: str = "on the left", right: str = "on the right") -> str:
    if pair.left is None:
        return f"only {right}"
    if pair.right is None:
        return f"only {left}"
    return "same text" if pair.same_words else ""


def _difference(difference: Difference) -> Iterator[Line]:
    for part in _shortened(difference):
        if isinstance(part, int):
            yield make_line(Span(f"    ⋯ {count(part, 'line')} of both", "dim"))
        else:
            yield make_line(Span(f"  {part[0]} {safe(part[1])}", _ROLES[part[0]]))


def _shortened(difference: Difference) -> Iterator[tuple[Literal[" ", "-", "+"], str] | int]:
    """Yield the lines that differ with their context, and the number of lines left out between."""
    shown = _near(difference)
    hidden = 0
    for place, line in enumerate(difference):
        if place not in shown:
            hidden += 1
            continue
        if hidden:
            yield hidden
            hidden = 0
        yield line
    if hidden:
        yield hidden


def _near(difference: Difference) -> set[int]:
    """The lines that differ with their context; of equal texts, the first lines."""
    changed = [place for place, (mark, _) in enumerate(difference) if mark != " "]
    if not changed:
        return set(range(min(_AROUND, len(difference))))
    return {around for place in changed for around in range(place - _AROUND, place + _AROUND + 1)}


def _column(pair: TurnPair, mark: Literal["-", "+"], room: int, home: str) -> Iterator[Line]:
    turn = pair.left if mark == "-" else pair.right
    if turn is None:
        return
    for title, difference in (("user", pair.prompt), ("assistant", pair.answer)):
        own = [(kind, text) for kind, text in difference if kind in (" ", mark)]
        if own:
            yield make_line(Span(title, "user" if title == "user" else "heading"))
        for kind, text in own:
            for part in text_lines(text, room - 2, _ROLES[kind]):
                yield make_line(Span(f"{kind} ", _ROLES[kind]), *part)
    for fact in _facts(turn, home):
        yield make_line(Span(fact, "dim"))


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
    if turn.answers:
        model = f" · {', '.join(map(one_line, turn.models))}" if turn.models else ""
        facts.append(f"{turn.tokens} tokens · {turn.cost.words}{model}")
    return facts


def _tool_words(tools: Sequence[tuple[str, int]], times: str = " ×{}") -> str:
    return ", ".join(one_line(name) + (times.format(calls) if calls > 1 else "") for name, calls in tools)


def _file_words(paths: Sequence[str], home: str, most: int | None = _FILES) -> str:
    shown = ", ".join(one_line(short_path(path, home)) for path in paths[:most])
    return shown + (f" and {len(paths) - most} more" if most is not None and len(paths) > most else "")
