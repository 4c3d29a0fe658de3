"""What was said and spent, added up by day, model, agent and directory; every entry counts once.

A fork carries the entries of its parent along. They are told by their id and time, so that each is counted
where it was first seen, also when the parent is gone. An answer that an agent writes as several entries is
one answer, and of copies that name different amounts the largest counts. Everything in a file counts,
whatever branch it is on.
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

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
]

Dimension = Literal[
    "day", "week", "month", "hour", "model", "agent", "directory", "tool", "session", "branch"
]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
OverviewDimension = Literal["day", "model", "agent", "directory"]
OVERVIEW: tuple[OverviewDimension, ...] = get_args(OverviewDimension)


class StatsTotals(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What was said and spent."""

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
    """Recorded and estimated cost together."""
    estimated: int | float = 0
    """The part of it that no program recorded."""
    unpriced: int | float = 0
    """Tokens whose cost nobody recorded and whose price nobody knows."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one day, model, agent … or of a pair of these. Names are empty where not known."""

    name: str
    figures: StatsTotals
    keys: tuple[str, ...] = ()
    """The names one by one, in the order of the dimensions."""


class ToolCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often a tool was called."""

    name: str
    calls: int


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """All sums. Days are in order, everything else by cost, then tokens, then messages."""

    total: StatsTotals
    day: tuple[Group, ...] = ()
    model: tuple[Group, ...] = ()
    agent: tuple[Group, ...] = ()
    directory: tuple[Group, ...] = ()
    tools: tuple[ToolCount, ...] = ()
    repeated: int = 0
    """Messages that were left out because they had been counted in another session."""

    def by(self, dimension: OverviewDimension) -> tuple[Group, ...]:
        """The groups of one dimension."""
        groups: tuple[Group, ...] = getattr(self, dimension)
        return groups


def by_weight(group: Group) -> tuple[float, float, int, int, str]:
    """Sort key: the most cost first, then tokens, then messages, then calls."""
    figures = group.figures
    return -figures.cost, -figures.tokens, -figures.messages, -figures.tool_calls, group.name
