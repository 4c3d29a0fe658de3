"""Usage (tokens and cost) of a session, per model and per turn, and the part inherited by a fork.

Everything in the file counts, on any branch: it was paid for. Only entries that can have usage are decoded,
a few hundred at a time, so memory use does not grow with the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import msgspec

from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    Compaction,
    Entry,
    MessageEntry,
    ToolResult,
    Usage,
    UsageEntry,
    amount,
)
from branchline.tree import EntrySource

__all__ = [
    "TOOLS_AND_SUMMARIES",
    "UsageBreakdown",
    "UsageRow",
    "UsageSource",
    "UsageSum",
    "UsageTotals",
    "entry_usage",
    "model_name",
    "totals",
    "usage_rows",
    "usage_sum",
]

TOOLS_AND_SUMMARIES = "tools and summaries"
"""The row of the breakdown for usage by tools and summaries."""

_TYPES = frozenset({"compaction", "branch_summary", "usage"})
_ROLES = frozenset({"assistant", "toolResult"})


class UsageSource(EntrySource, Protocol):
    """Entries, and whether the agent that wrote them records cost."""

    @property
    def records_cost(self) -> bool: ...


class UsageSum(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Tokens by kind, their total, and cost. Sums can be added with ``+``.

    ``unpriced`` is the number of tokens from agents that do not record cost.
    """

    input: int | float = 0
    output: int | float = 0
    cache_read: int | float = 0
    cache_write: int | float = 0
    total_tokens: int | float = 0
    cost: int | float = 0
    unpriced: int | float = 0

    def __add__(self, other: UsageSum) -> UsageSum:
        return UsageSum(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            total_tokens=self.total_tokens + other.total_tokens,
            cost=self.cost + other.cost,
            unpriced=self.unpriced + other.unpriced,
        )


class UsageBreakdown(msgspec.Struct, frozen=True, kw_only=True):
    """A sum and its parts by ``provider/model``."""

    total: UsageSum = UsageSum()
    models: dict[str, UsageSum] = {}

    def __add__(self, other: UsageBreakdown) -> UsageBreakdown:
        models = dict(self.models)
        for model, spent in other.models.items():
            models[model] = models.get(model, UsageSum()) + spent
        return UsageBreakdown(total=self.total + other.total, models=models)


class UsageTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of a session itself, and of the entries that a fork inherited.

    Adding ``own`` over the sessions of a library counts everything once.
    """

    own: UsageBreakdown = UsageBreakdown()
    inherited: UsageBreakdown = UsageBreakdown()

    @property
    def all(self) -> UsageBreakdown:
        return self.inherited + self.own


class UsageRow(NamedTuple):
    """One entry with usage, and the running total including it."""

    position: int
    entry: str
    model: str
    usage: UsageSum
    cumulative: UsageSum


def totals(source: UsageSource, *, inherited_entries: int = 0) -> UsageTotals:
    """Return the totals of all entries; the first ``inherited_entries`` of them came with a fork."""
    own: dict[str, UsageSum] = {}
    inherited: dict[str, UsageSum] = {}
    for position, entry in _entries_with_usage(source, range(len(source.tree))):
        models = inherited if position < inherited_entries else own
        for model, spent in entry_usage(entry, priced=source.records_cost):
            models[model] = models[model] + spent if model in models else spent
    return UsageTotals(own=_breakdown(own), inherited=_breakdown(inherited))


def usage_rows(source: UsageSource, positions: Iterable[int] | None = None) -> Iterator[UsageRow]:
    """Yield a row for every entry with usage, in file order or along the given positions."""
    cumulative = UsageSum()
    wanted = range(len(source.tree)) if positions is None else positions
    for position, entry in _entries_with_usage(source, wanted):
        for model, spent in entry_usage(entry, priced=source.records_cost):
            cumulative += spent
            yield UsageRow(position, entry.id, model, spent, cumulative)


def _entries_with_usage(source: EntrySource, positions: Iterable[int]) -> Iterator[tuple[int, Entry]]:
    types, roles = source.tree.types, source.tree.roles
    wanted = [
        position
        for position in positions
        if types[position] in _TYPES or (types[position] == "message" and roles[position] in _ROLES)
    ]
    return zip(wanted, source.iter_entries(wanted), strict=True)


def model_name(message: AssistantMessage) -> str:
    """Return ``provider/model`` of an answer; either may be empty."""
    return f"{message.provider or ''}/{message.response_model or message.model or ''}"


def entry_usage(entry: Entry, *, priced: bool = True) -> Iterator[tuple[str, UsageSum]]:
    """Yield the usage of one entry, each part with its model."""
    match entry:
        case MessageEntry(message=AssistantMessage() as message) if message.usage is not None:
            if not message.usage.is_recorded:
                return
            yield model_name(message), usage_sum(message.usage, priced=priced)
        case MessageEntry(message=ToolResult(usage=Usage() as usage)):
            yield TOOLS_AND_SUMMARIES, usage_sum(usage, priced=priced)
        case Compaction() | BranchSummary() if entry.usage is not None:
            yield TOOLS_AND_SUMMARIES, usage_sum(entry.usage, priced=priced)
        case UsageEntry() if entry.usage is not None:
            yield f"{entry.provider or ''}/{entry.model or ''}", usage_sum(entry.usage, priced=priced)
        case _:
            pass


def usage_sum(usage: Usage, *, priced: bool = True) -> UsageSum:
    """Convert usage to a sum; ``priced`` means that its cost was recorded."""
    return UsageSum(
        input=amount(usage.input),
        output=amount(usage.output),
        cache_read=amount(usage.cache_read),
        cache_write=amount(usage.cache_write),
        total_tokens=usage.context_tokens,
        cost=amount(usage.cost.total),
        unpriced=0 if priced and usage.cost.known is not False else usage.context_tokens,
    )


def _breakdown(models: dict[str, UsageSum]) -> UsageBreakdown:
    return UsageBreakdown(total=sum(models.values(), UsageSum()), models=models)
