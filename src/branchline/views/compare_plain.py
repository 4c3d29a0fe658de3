"""A comparison for screen readers: no columns and no symbols; every line names its side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from branchline.views.compare import ComparedTurn, CompareView, Side, TurnPair
from branchline.views.compare_lines import near
from branchline.views.humanize import cost_words, count, tokens
from branchline.views.spans import Line, Span, make_line
from branchline.views.text import one_line, safe
from branchline.views.tool_calls import short_path

__all__ = ["plain_totals", "plain_turns"]

_WHOSE = {" ": "both", "-": "first", "+": "second"}


def plain_turns(view: CompareView, *, home: str = "") -> Iterator[Line]:
    """Yield the turns one after the other, with the text of the first, of the second, and of both."""
    for number, pair in enumerate(view.pairs, 1):
        yield make_line(Span(f"turn {number}{_turn_note(pair)}", "heading"))
        for title, difference in (("user", pair.prompt), ("assistant", pair.answer)):
            shown = near(difference)
            same = 0
            if difference:
                yield make_line(Span(f"  {title}", "heading"))
            for place, (mark, text) in enumerate(difference):
                if place in shown:
                    yield from _same(same)
                    same = 0
                    yield make_line(f"    {_WHOSE[mark]}: {safe(text)}")
                else:
                    same += 1
            yield from _same(same)
        for whose, turn in (("first", pair.left), ("second", pair.right)):
            if turn is not None and (facts := _facts(turn, home)):
                yield make_line(f"  {whose}: {facts}")
        yield ()


def _same(lines: int) -> Iterator[Line]:
    if lines:
        yield make_line(f"    {count(lines, 'line')} the same in both")


def plain_totals(view: CompareView, names: tuple[str, str], *, home: str = "") -> list[Line]:
    """Return the totals of both sides after the common beginning, one paragraph per side."""
    lines: list[Line] = []
    for whose, name, side in zip(("first", "second"), names, (view.left, view.right), strict=True):
        lines.append(make_line(Span(f"{whose}, {one_line(name)}", "heading")))
        lines += [make_line(f"  {fact}") for fact in _side_facts(side, home)]
    return lines


def _side_facts(side: Side, home: str) -> list[str]:
    return [
        f"{count(len(side.turns), 'turn')}, {count(side.messages, 'message')}",
        f"tools: {_tools(side.tools) or 'none'}, {count(side.errors, 'failure')}",
        f"changed: {_files(side.changed, home) or 'nothing'}",
        f"read: {_files(side.read, home) or 'nothing'}",
        f"{tokens(side.usage.total_tokens)} tokens, {cost_words(side.usage.cost, side.usage.unpriced)}",
    ]


def _turn_note(pair: TurnPair) -> str:
    if pair.left is None:
        return ", only in the second"
    if pair.right is None:
        return ", only in the first"
    return ", same text" if pair.same_words else ""


def _facts(turn: ComparedTurn, home: str) -> str:
    facts = []
    if turn.tools:
        facts.append(f"tools {_tools(turn.tools)}")
    if turn.errors:
        facts.append(count(turn.errors, "failure"))
    if turn.changed:
        facts.append(f"changed {_files(turn.changed, home)}")
    if turn.read:
        facts.append(f"read {_files(turn.read, home)}")
    if turn.usage.total_tokens or turn.usage.cost:
        facts.append(
            f"{tokens(turn.usage.total_tokens)} tokens, {cost_words(turn.usage.cost, turn.usage.unpriced)}"
        )
        facts += [f"with {', '.join(map(one_line, turn.models))}"] if turn.models else []
    return "; ".join(facts)


def _tools(tools: Sequence[tuple[str, int]]) -> str:
    return ", ".join(one_line(name) + (f" {calls} times" if calls > 1 else "") for name, calls in tools)


def _files(paths: Sequence[str], home: str) -> str:
    return ", ".join(one_line(short_path(path, home)) for path in paths)
