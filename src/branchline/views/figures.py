"""What sessions cost and hold: the one place that decides what a figure means and how it is written.

Every interface shows cost, tokens and messages through these functions. A figure that nobody knows is never
zero: it is ``unknown`` to readers and None to programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from branchline.entries import COUNTED_ROLES
from branchline.views.humanize import as_float

if TYPE_CHECKING:
    from branchline.context.usage import UsageBreakdown
    from branchline.tree import Tree

__all__ = [
    "CostFigure",
    "CostState",
    "Spent",
    "are_messages",
    "cost_of",
    "is_usage_known",
    "messages_on",
    "money",
    "short_count",
    "sum_of_costs",
    "tokens",
    "tokens_of",
]

CostState = Literal["recorded", "estimated", "unknown", "elsewhere"]
"""Where a cost comes from: the agent recorded all of it; a part is computed from public prices; nobody knows
it; or everything in the session is a copy, and its cost counts in the session that has the originals."""
_DIGITS = 9
"""Decimals of a cost for programs; more of them come from adding binary fractions."""
_LEAST = 0.001  # dollars
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
_LONGEST_COUNT = 6  # characters of 99,999


class Spent(Protocol):
    """Sums of usage: of a session, of a side of a comparison, of a group of the statistics."""

    @property
    def cost(self) -> float:
        """Recorded and estimated cost together."""
        ...

    @property
    def estimated(self) -> float:
        """The part of the cost that no agent recorded."""
        ...

    @property
    def unpriced(self) -> float:
        """Tokens without a recorded cost and a known price."""
        ...


class CostFigure(msgspec.Struct, frozen=True, gc=False):
    """A cost and what is known about it. As text: ``$1.25``, ``≈$1.25``, ``≈$1.25+``, ``unknown``."""

    amount: float | None
    """In dollars; None if it is unknown or counts elsewhere."""
    state: CostState
    is_partial: bool = False
    """Whether there are also tokens of models without a known price, so that the amount is too low."""

    def __str__(self) -> str:
        if self.amount is None:
            return self.state
        more = "+" if self.is_partial else ""
        # An upper limit is no exact amount anyway: it needs no sign for an estimate.
        sign = "≈" if self.state == "estimated" and not 0 < self.amount < _LEAST else ""
        return f"{sign}{money(self.amount)}{more}"

    @property
    def words(self) -> str:
        """The cost for places without a column heading."""
        match self.state:
            case "unknown":
                return "cost unknown"
            case "elsewhere":
                return "cost counted elsewhere"
            case _:
                return str(self)


def cost_of(spent: Spent, *, is_known: bool = True, is_copied: bool = False) -> CostFigure:
    """Return the cost of these sums.

    ``is_known`` tells whether the usage of answers was recorded at all: some agents record none.
    ``is_copied`` tells that other sessions count everything that was spent here.
    """
    if is_copied:
        return CostFigure(None, "elsewhere")
    if not is_known or (spent.unpriced and not spent.cost):
        return CostFigure(None, "unknown")
    state: CostState = "estimated" if spent.estimated else "recorded"
    return CostFigure(round(as_float(spent.cost), _DIGITS), state, bool(spent.unpriced))


def is_usage_known(spent: UsageBreakdown, answers: int) -> bool:
    """Return whether the usage of so many answers was recorded."""
    return bool(spent.models) or not answers


def sum_of_costs(costs: Iterable[CostFigure]) -> CostFigure:
    """Return the cost of several sessions together."""
    total, known, estimated, missing, elsewhere = 0.0, False, False, False, False
    for one in costs:
        missing = missing or one.state == "unknown" or one.is_partial
        elsewhere = elsewhere or one.state == "elsewhere"
        estimated = estimated or one.state == "estimated"
        if one.amount is not None:
            known, total = True, total + one.amount
    if missing and not total:
        return CostFigure(None, "unknown")
    if elsewhere and not known:
        return CostFigure(None, "elsewhere")
    return CostFigure(round(total, _DIGITS), "estimated" if estimated else "recorded", missing)


def money(amount: float) -> str:
    """``$0``, ``<$0.001``, ``$0.004``, ``$1.25``, ``$1,575``: cents, unless they say nothing or too much."""
    amount = as_float(amount)
    if amount < 0:
        return f"-{money(-amount)}"
    if not amount:
        return "$0"
    if amount < _LEAST:
        return f"<${_LEAST}"
    if amount < 999.995:
        return f"${amount:.{2 if amount >= 0.0095 else 3}f}"
    return f"${amount:,.0f}"


def tokens(number: float) -> str:
    """``840``, ``12.3k``, ``1.2M``, ``2.4B``."""
    number = as_float(number)
    for size, unit in _UNITS:
        if abs(number) >= size * 0.99995:  # what would be rounded to 1000 of the next smaller unit
            return f"{number / size:,.1f}{unit}"
    return f"{number:.6g}"


def tokens_of(number: float, *, is_known: bool) -> str:
    """Return some tokens as text: ``unknown`` if the agent records none."""
    return tokens(number) if is_known else "unknown"


def short_count(number: int) -> str:
    """Return a number for a narrow column: ``13,668``, ``137.2k``. It is never longer than six characters."""
    text = f"{number:,}"
    return text if len(text) <= _LONGEST_COUNT else tokens(number)


def messages_on(tree: Tree, path: Sequence[int]) -> int:
    """Return the number of messages on a path: what every interface calls the messages of a session."""
    return sum(are_messages(tree, path))


def are_messages(tree: Tree, path: Sequence[int]) -> list[bool]:
    """Return for each entry of a path whether it is a message of the user, the model or a tool.

    An answer that its agent wrote in several pieces is one message: the first.
    """
    # Entries of other types may have a field named message; they do not count.
    roles, types, continuations = tree.roles, tree.types, tree.continuations
    return [
        roles[place] in COUNTED_ROLES and types[place] == "message" and place not in continuations
        for place in path
    ]
