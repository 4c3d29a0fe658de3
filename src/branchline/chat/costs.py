"""The cost of a conversation: recorded, estimated from the price list, or unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from branchline.context import UsageSum, usage_rows
from branchline.context.prices import PriceList
from branchline.library.turns import prior_turns
from branchline.settings import price_list
from branchline.views.figures import cost_of, tokens
from branchline.views.spans import Line, Span, make_line
from branchline.views.text import cut, one_line, pad

if TYPE_CHECKING:
    from branchline.chat.chat import Chat
    from branchline.session import Session

__all__ = ["cost"]

_COLUMN, _COST = 8, 11
_PROMPT, _NARROW = 40, 12
_SHOWN = 50


async def cost(chat: Chat, words: str) -> None:
    """Show tokens and cost of each turn and in total."""
    del words
    session, prices = chat.conductor.session, price_list(chat.services.settings)
    turns = _turns(session, prices)
    if not turns:
        chat.front.notice("nothing was spent: no messages yet")
        return
    columns = chat.front.columns
    room = _PROMPT if columns is None else max(_NARROW, min(_PROMPT, columns - _FIGURES - 1))
    chat.front.line(Span(f"{'turn':>5}  {'prompt':<{room}}", "heading"), Span(_HEAD, "heading"))
    first = max(0, len(turns) - _SHOWN)
    if first:
        chat.front.line(Span(f"{'':>5}  {first:,} earlier turns", "dim"))
    for number, (prompt, spent) in enumerate(turns[first:], first + 1):
        chat.front.line(*_row(str(number), prompt, spent, room))
    branch = sum((spent for _, spent in turns), UsageSum())
    chat.front.line(*_row("", "this branch", branch, room, total=True))
    whole = chat.conductor.usage.all
    chat.front.line(*_row("", "the session, all branches", whole.total, room, total=True))
    for model, usage in whole.models.items():
        name = one_line(model) if model.strip("/") else "unknown model"
        chat.front.line(*_row("", f"  {name}", usage, room))


_HEAD = "".join(f"{name:>{_COLUMN}}" for name in ("input", "output", "cached")) + f"{'cost':>{_COST}}"
_FIGURES = 7 + len(_HEAD)


def _row(number: str, prompt: str, used: UsageSum, room: int, *, total: bool = False) -> Line:
    figures = [used.input, used.output, used.cache_read + used.cache_write]
    return make_line(
        Span(f"{number:>5}  ", "number"),
        Span(pad(cut(prompt, room), room), "title" if total else "plain"),
        Span("".join(f"{tokens(figure):>{_COLUMN}}" for figure in figures), "number"),
        Span(f"{cost_of(used)!s:>{_COST}}", "title" if total else "cost"),
    )


def _turns(session: Session, prices: PriceList) -> list[tuple[str, UsageSum]]:
    """Return each prompt of the path with the cost until the next one."""
    tree = session.index
    prompts = {tree.position(turn.id): turn.preview for turn in prior_turns(session)}
    positions = [tree.position(entry) for entry in session.path()]
    spent: dict[int, UsageSum] = {}
    for row in usage_rows(session.transcript, positions, prices=prices):
        spent[row.position] = spent.get(row.position, UsageSum()) + row.usage
    turns: list[tuple[str, UsageSum]] = []
    for position in positions:
        if position in prompts:
            turns.append((prompts[position], UsageSum()))
        if position in spent:
            if not turns:
                turns.append(("(before the first prompt)", UsageSum()))
            turns[-1] = (turns[-1][0], turns[-1][1] + spent[position])
    return turns
