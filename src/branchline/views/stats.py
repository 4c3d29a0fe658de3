"""Messages and usage by day, model, agent and directory; every entry counts once.

Entries that a fork copied are recognized by id and time (by time and text if their ids are new) and count
where they were first seen, even if the parent is gone. An answer in several entries is one answer; of copies
with different amounts the largest counts. All branches of a file count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

import msgspec

from branchline.views.figures import CostFigure, cost_of, tokens_of

__all__ = [
    "DIMENSIONS",
    "OVERVIEW",
    "Dimension",
    "Group",
    "OverviewDimension",
    "Stats",
    "StatsTotals",
    "ToolCount",
    "by_weight",
    "sum_of_groups",
]

Dimension = Literal[
    "day", "week", "month", "hour", "model", "agent", "directory", "tool", "session", "branch"
]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
OverviewDimension = Literal["day", "model", "agent", "directory"]
OVERVIEW: tuple[OverviewDimension, ...] = get_args(OverviewDimension)


class StatsTotals(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Totals of messages and usage."""

    sessions: int = 0
    messages: int = 0
    prompts: int = 0
    answers: int = 0
    tool_calls: int = 0
    input: int | float = 0
    output: int | float = 0
    cache_read: int | float = 0
    cache_write: int | float = 0
    tokens: int | float = 0
    cost: int | float = 0
    """Recorded and estimated cost together; ``cost_figure`` tells whether it is known."""
    estimated: int | float = 0
    """The part of it that no agent recorded."""
    unpriced: int | float = 0
    """Tokens without a recorded cost and a known price."""
    metered: int = 0
    """The number of calls whose tokens were recorded; some agents record those of none."""

    @property
    def cost_figure(self) -> CostFigure:
        """The cost and what is known about it."""
        return cost_of(self, is_known=self.knows_tokens)

    def in_words(self, tokens: float) -> str:
        """Return some of the tokens as text; ``unknown`` if they were not recorded."""
        return tokens_of(tokens, is_known=self.knows_tokens)

    @property
    def knows_tokens(self) -> bool:
        """Whether the tokens of answers were recorded at all."""
        return bool(self.metered or not self.answers)


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one day, model, agent … or a pair of these. Unknown names are empty."""

    name: str
    figures: StatsTotals
    keys: tuple[str, ...] = ()
    """The names, in the order of the dimensions."""


class ToolCount(msgspec.Struct, frozen=True, kw_only=True):
    """The number of calls of a tool."""

    name: str
    calls: int


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """All totals. Days are in order, everything else by cost, then tokens, then messages."""

    total: StatsTotals
    day: tuple[Group, ...] = ()
    model: tuple[Group, ...] = ()
    agent: tuple[Group, ...] = ()
    directory: tuple[Group, ...] = ()
    tools: tuple[ToolCount, ...] = ()
    repeated: int = 0
    """The number of messages left out because another session counts them."""

    def by(self, dimension: OverviewDimension) -> tuple[Group, ...]:
        groups: tuple[Group, ...] = getattr(self, dimension)
        return groups


def by_weight(group: Group) -> tuple[float, float, int, int, str]:
    """Sort key: the most cost first, then tokens, then messages, then calls."""
    figures = group.figures
    return -figures.cost, -figures.tokens, -figures.messages, -figures.tool_calls, group.name


def sum_of_groups(groups: Iterable[Group], *, sessions: int) -> StatsTotals:
    """Return the sums of several groups. One session may be in several, so ``sessions`` is their number."""
    fields = [name for name in StatsTotals.__struct_fields__ if name != "sessions"]
    listed = list(groups)
    totals: dict[str, Any] = {name: sum(getattr(group.figures, name) for group in listed) for name in fields}
    return StatsTotals(sessions=sessions, **totals)
