"""What was said and spent, added up by day, model, agent and directory; every entry counts once.

A fork carries the entries of its parent along. They are told by their id and time, so that each is counted
where it was first seen, also when the parent is gone. An answer that an agent writes as several entries is
one answer, and of copies that name different amounts the largest counts. Everything in a file counts,
whatever branch it is on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, tzinfo
from typing import Literal, NamedTuple

import msgspec

from branchline.context.timestamps import milliseconds
from branchline.context.usage import UsageSource, UsageSum, entry_usage, model_name
from branchline.entries import AssistantMessage, Entry, MessageEntry
from branchline.tree import EntrySource
from branchline.views.tool_calls import calls_of

__all__ = ["DIMENSIONS", "Dimension", "Group", "Stats", "StatsSource", "StatsTotals", "Tally", "ToolCount"]

Dimension = Literal["day", "model", "agent", "directory"]
DIMENSIONS: tuple[Dimension, ...] = ("day", "model", "agent", "directory")

_TOGETHER = 512
_QUARTER = 900_000  # milliseconds; no time zone changes in between
_SPENDERS = frozenset({"compaction", "branch_summary", "usage"})
_DECODED = frozenset({"assistant", "toolResult"})


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
    unpriced: int | float = 0
    """How many of the tokens come from agents that do not record what they cost."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one day, model, agent or directory. ``name`` is empty where it is not known."""

    name: str
    figures: StatsTotals


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

    def by(self, dimension: Dimension) -> tuple[Group, ...]:
        """The groups of one dimension."""
        groups: tuple[Group, ...] = getattr(self, dimension)
        return groups


class StatsSource(NamedTuple):
    """Which session entries come from."""

    session: str
    agent: str
    directory: str


class _Sum:
    """Figures that still grow."""

    __slots__ = ("answers", "last", "messages", "prompts", "sessions", "tool_calls", "usage")

    def __init__(self) -> None:
        self.sessions = self.messages = self.prompts = self.answers = self.tool_calls = 0
        self.last = -1  # the session that was counted last
        self.usage = [0.0] * 7

    def figures(self) -> StatsTotals:
        read = [int(value) if value.is_integer() else value for value in self.usage]
        return StatsTotals(
            sessions=self.sessions,
            messages=self.messages,
            prompts=self.prompts,
            answers=self.answers,
            tool_calls=self.tool_calls,
            input=read[0],
            output=read[1],
            cache_read=read[2],
            cache_write=read[3],
            tokens=read[4],
            cost=self.usage[5],
            unpriced=read[6],
        )


class Tally:
    """Adds up sessions one after the other; add parents before their forks where the order is known.

    Days are those of ``zone``. With ``since`` or ``until`` (both included) only entries of these days count;
    those without a readable time then count nowhere.
    """

    def __init__(
        self, *, zone: tzinfo | None = None, since: date | None = None, until: date | None = None
    ) -> None:
        self._zone = zone
        self._since = "" if since is None else since.isoformat()
        self._until = "" if until is None else until.isoformat()
        self._days: dict[int, str] = {}
        self._seen: set[int] = set()
        self._spent: dict[int, float] = {}  # the output of answers that other files may have copies of
        self._session = -1
        self._priced = True
        self._repeated = 0
        self._total = _Sum()
        self._groups: dict[Dimension, dict[str, _Sum]] = {dimension: {} for dimension in DIMENSIONS}
        self._tools: Counter[str] = Counter()

    def add(
        self,
        source: UsageSource,
        origin: StatsSource,
        *,
        inherited: int = 0,
        skipped: int = 0,
        answers: Mapping[int, str] | None = None,
    ) -> None:
        """Count a session; the first ``inherited`` of its entries came with a fork.

        The first ``skipped`` entries are another session's and count there. ``answers`` are ids that copies
        of an answer share in all sessions, by the entry that says what it spent.
        """
        self._session += 1
        self._priced = source.records_cost
        answers = {} if answers is None else answers
        chunk: list[int] = []
        tree = source.tree
        types, roles = tree.types, tree.roles
        for position in range(skipped):
            self._repeated += types[position] == "message" and position not in tree.continuations
        for position in range(skipped, len(tree)):
            kind = types[position]
            if (kind != "message" and kind not in _SPENDERS) or position in tree.placeholders:
                continue
            day = self._day(tree.times[position])
            if not self._fresh(source, position, origin, inherited) or not self._wanted(day):
                continue
            if kind in _SPENDERS or roles[position] in _DECODED:
                chunk.append(position)
                if len(chunk) == _TOGETHER:
                    self._count_decoded(source, chunk, origin, answers)
                    chunk = []
            else:
                self._message(self._sums(origin, day), roles[position])
        self._count_decoded(source, chunk, origin, answers)

    def _fresh(self, source: EntrySource, position: int, origin: StatsSource, inherited: int) -> bool:
        """Whether an entry was not counted before, here or in the session that it was copied from."""
        tree = source.tree
        key, time, role = tree.keys[position], tree.times[position], tree.roles[position]
        if not time and position < inherited:
            return False
        mark = hash((key, time, role)) if time else hash((origin.session, key, role))
        if mark in self._seen:
            self._repeated += tree.types[position] == "message" and position not in tree.continuations
            return False
        self._seen.add(mark)
        return True

    def _wanted(self, day: str) -> bool:
        if not self._since and not self._until:
            return True
        return bool(day) and self._since <= day and (not self._until or day <= self._until)

    def _day(self, time: str) -> str:
        moment = milliseconds(time)
        if moment is None:
            return ""
        quarter = moment // _QUARTER
        day = self._days.get(quarter)
        if day is None:
            try:
                day = datetime.fromtimestamp(quarter * _QUARTER / 1000, self._zone).date().isoformat()
            except (ValueError, OverflowError, OSError):
                day = ""
            self._days[quarter] = day
        return day

    def _count_decoded(
        self, source: EntrySource, positions: Sequence[int], origin: StatsSource, answers: Mapping[int, str]
    ) -> None:
        tree = source.tree
        for position, entry in zip(positions, source.entries(positions), strict=True):
            sums = self._sums(origin, self._day(tree.times[position]))
            role = tree.roles[position] if tree.types[position] == "message" else None
            tools = [call.name for call in calls_of(entry)] if role == "assistant" else []
            self._tools.update(tools)
            models = self._spend(sums, entry, len(tools), answers.get(position))
            if role is not None and position not in tree.continuations:
                self._message(sums, role)
                for model in models if role == "assistant" else ():
                    self._message((model,), role)

    def _spend(self, sums: tuple[_Sum, ...], entry: Entry, tools: int, answer: str | None) -> list[_Sum]:
        """Add what an entry spent; give the sums of the models that it spent it on."""
        models: list[_Sum] = []
        for number, (name, spent) in enumerate(entry_usage(entry, priced=self._priced)):
            usage = spent if answer is None else self._uncounted(answer, spent)
            model = self._group("model", name.strip("/"))
            models.append(model)
            for one in (*sums, model):
                _add(one.usage, usage)
            model.tool_calls += tools if number == 0 else 0
        if not models and isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            models = [self._group("model", model_name(entry.message).strip("/"))]
            models[0].tool_calls += tools
        for one in sums:
            one.tool_calls += tools
        return models

    def _uncounted(self, answer: str, usage: UsageSum) -> UsageSum:
        """What a copy of this answer in another session has not said yet: only its output grows."""
        mark, output = hash(answer), _finite(usage.output)
        known = self._spent.get(mark)
        self._spent[mark] = output if known is None else max(known, output)
        if known is None:
            return usage
        more = max(output - known, 0.0)
        return UsageSum(output=more, total_tokens=more, unpriced=0 if self._priced else more)

    @staticmethod
    def _message(sums: Iterable[_Sum], role: str | None) -> None:
        for one in sums:
            one.messages += 1
            one.prompts += role == "user"
            one.answers += role == "assistant"

    def _sums(self, origin: StatsSource, day: str) -> tuple[_Sum, ...]:
        return (
            self._touched(self._total),
            self._group("day", day),
            self._group("agent", origin.agent),
            self._group("directory", origin.directory),
        )

    def _group(self, dimension: Dimension, name: str) -> _Sum:
        groups = self._groups[dimension]
        found = groups.get(name)
        if found is None:
            found = groups[name] = _Sum()
        return self._touched(found)

    def _touched(self, one: _Sum) -> _Sum:
        if one.last != self._session:
            one.last = self._session
            one.sessions += 1
        return one

    def stats(self) -> Stats:
        """The sums so far."""
        groups = {dimension: self._sorted(dimension) for dimension in DIMENSIONS}
        return Stats(
            total=self._total.figures(),
            **groups,
            tools=tuple(ToolCount(name=name, calls=calls) for name, calls in self._tools.most_common()),
            repeated=self._repeated,
        )

    def _sorted(self, dimension: Dimension) -> tuple[Group, ...]:
        groups = [Group(name=name, figures=one.figures()) for name, one in self._groups[dimension].items()]
        if dimension == "day":
            return tuple(sorted(groups, key=lambda group: group.name))
        return tuple(sorted(groups, key=_weight))


def _weight(group: Group) -> tuple[float, float, int, str]:
    figures = group.figures
    return -figures.cost, -figures.tokens, -figures.messages, group.name


def _add(totals: list[float], usage: UsageSum) -> None:
    for place, value in enumerate(
        (
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.total_tokens,
            usage.cost,
            usage.unpriced,
        )
    ):
        totals[place] += _finite(value)


def _finite(value: float) -> float:
    """A number that can be added up; what no program can have spent counts as nothing."""
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0
