"""The cost of a conversation: recorded, estimated from the price list, or unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from branchline.context import UsageSum, usage_rows
from branchline.context.prices import PriceList, is_price
from branchline.context.usage import TOOLS_AND_SUMMARIES
from branchline.library.turns import prior_turns
from branchline.models.providers import OFFLINE
from branchline.settings import Settings
from branchline.views.humanize import money, tokens
from branchline.views.spans import Line, Span, make_line
from branchline.views.text import cut, one_line, pad

if TYPE_CHECKING:
    from branchline.chat.chat import Chat
    from branchline.session import Session

__all__ = ["CostSum", "cost", "price_list", "spent_on"]

_COLUMN, _COST = 8, 11
_PROMPT, _NARROW = 40, 12
_SHOWN = 50


class CostSum(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and their cost. ``estimated`` is part of ``cost``; ``unpriced`` tokens have no known price."""

    tokens: UsageSum = UsageSum()
    cost: float = 0
    estimated: float = 0
    unpriced: float = 0

    def __add__(self, other: CostSum) -> CostSum:
        return CostSum(
            tokens=self.tokens + other.tokens,
            cost=self.cost + other.cost,
            estimated=self.estimated + other.estimated,
            unpriced=self.unpriced + other.unpriced,
        )

    def __str__(self) -> str:
        return ("≈" if self.estimated else "") + money(self.cost, self.unpriced)

    @property
    def words(self) -> str:
        """The cost for places without a column heading."""
        return f"cost {self}" if self.unpriced and not self.cost else str(self)


def price_list(settings: Settings) -> PriceList:
    return PriceList(text for text in settings.prices if is_price(text))


def spent_on(models: Mapping[str, UsageSum] | Iterable[tuple[str, UsageSum]], prices: PriceList) -> CostSum:
    """Return the total cost of the tokens of each model, named ``provider/model``."""
    spent = list(models.items() if isinstance(models, Mapping) else models)
    # The model of a summary is not recorded: if only the offline model answered, it was that one.
    offline = all(model == TOOLS_AND_SUMMARIES or _is_offline(model) for model, _ in spent)
    total = CostSum()
    for model, usage in spent:
        total += _cost_of(model, usage, prices, free=offline)
    return total


def _is_offline(model: str) -> bool:
    return model.partition("/")[0] == OFFLINE


def _cost_of(model: str, usage: UsageSum, prices: PriceList, *, free: bool = False) -> CostSum:
    free = free or _is_offline(model)
    if usage.cost or free or not usage.total_tokens:
        return CostSum(tokens=usage, cost=float(usage.cost), unpriced=0 if free else usage.unpriced)
    rates = prices.rates(model)
    if rates is None:
        return CostSum(tokens=usage, unpriced=usage.total_tokens)
    estimate = rates.cost(usage.input, usage.output, usage.cache_read, usage.cache_write)
    return CostSum(tokens=usage, cost=estimate, estimated=estimate)


# -- the command ------------------------------------------------------------------------------------------


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
    branch = sum((spent for _, spent in turns), CostSum())
    chat.front.line(*_row("", "this branch", branch, room, total=True))
    whole = chat.conductor.usage.all.models
    chat.front.line(*_row("", "the session, all branches", spent_on(whole, prices), room, total=True))
    for model, usage in whole.items():
        name = one_line(model) if model.strip("/") else "unknown model"
        chat.front.line(*_row("", f"  {name}", _cost_of(model, usage, prices), room))


_HEAD = "".join(f"{name:>{_COLUMN}}" for name in ("input", "output", "cached")) + f"{'cost':>{_COST}}"
_FIGURES = 7 + len(_HEAD)


def _row(number: str, prompt: str, spent: CostSum, room: int, *, total: bool = False) -> Line:
    used = spent.tokens
    figures = [used.input, used.output, used.cache_read + used.cache_write]
    return make_line(
        Span(f"{number:>5}  ", "number"),
        Span(pad(cut(prompt, room), room), "title" if total else "plain"),
        Span("".join(f"{tokens(figure):>{_COLUMN}}" for figure in figures), "number"),
        Span(f"{spent!s:>{_COST}}", "title" if total else "cost"),
    )


def _turns(session: Session, prices: PriceList) -> list[tuple[str, CostSum]]:
    """Return each prompt of the path with the cost until the next one."""
    tree = session.index
    prompts = {tree.position(turn.id): turn.preview for turn in prior_turns(session)}
    positions = [tree.position(entry) for entry in session.path()]
    spent: dict[int, CostSum] = {}
    for row in usage_rows(session.transcript, positions):
        spent[row.position] = spent.get(row.position, CostSum()) + _cost_of(row.model, row.usage, prices)
    turns: list[tuple[str, CostSum]] = []
    for position in positions:
        if position in prompts:
            turns.append((prompts[position], CostSum()))
        if position in spent:
            if not turns:
                turns.append(("(before the first prompt)", CostSum()))
            turns[-1] = (turns[-1][0], turns[-1][1] + spent[position])
    return turns
