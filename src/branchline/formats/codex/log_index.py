"""A rollout as it was read: beside the tree, what its first record says and what the replay found."""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import Any, NamedTuple

from branchline.formats.codex.replay import TokenTotals
from branchline.formats.log_index import LogIndex

__all__ = ["CodexReading", "HistoryBase", "base_of"]


class HistoryBase(NamedTuple):
    """The part of another rollout that this one begins with."""

    rollout: str
    end_ordinal: int
    end_offset: int


def base_of(meta: dict[str, Any]) -> HistoryBase | None:
    """What the first record of a rollout says about where it begins."""
    base = meta.get("history_base")
    if not isinstance(base, dict) or not isinstance(rollout := base.get("thread_id"), str):
        return None
    return HistoryBase(
        rollout, _whole(base.get("end_ordinal_exclusive")), _whole(base.get("end_byte_offset"))
    )


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


class CodexReading(LogIndex):
    """A rollout: beside the tree, what its first record says and what the replay found."""

    def __init__(self) -> None:
        super().__init__("codex")
        self.thread = ""
        self.rollout = ""
        """The id that other rollouts name this one by."""
        self.meta: dict[str, Any] = {}
        self.base: HistoryBase | None = None
        self.copied = 0
        """How many entries were copied from the parent, as far as this file tells."""
        self.turns: list[tuple[int, str]] = []
        """Where turns start, and their ids."""
        self.turn_contexts: set[str] = set()
        self.aborted = 0
        self.rollbacks: dict[int, int] = {}
        """How many turns an entry took back."""
        self.prompts: dict[int, str] = {}
        """What people typed, as events tell it."""
        self.kept: dict[int, tuple[str, ...]] = {}
        """The prompts that a compaction without a history of its own keeps."""
        self.spent: dict[int, TokenTotals] = {}
        self.totals = TokenTotals()
        self.tool_names: dict[str, str] = {}
        self.numbers: dict[int, int] = {}
        self.foreign = 0
        self.models: list[tuple[int, str]] = []
        """The models that turns were given, each from which entry on."""
        self.providers: list[tuple[int, str]] = []
        """Their providers, where branchline wrote them."""
        self.open_turn = ""
        """The turn that has not ended."""
        self.last_answer: tuple[int, str] | None = None
        """Where the model spoke last, and what it said."""
        self.converted_from: str | None = None
        """The session that this one was converted from, by its path or its id."""

    def model_at(self, position: int) -> str | None:
        """The model of the turn that an entry belongs to."""
        number = bisect_right(self.models, position, key=itemgetter(0))
        return self.models[number - 1][1] or None if number else None

    def provider_at(self, position: int) -> str | None:
        """The provider of the model of that turn."""
        number = bisect_right(self.providers, position, key=itemgetter(0))
        found = self.providers[number - 1][1] if number else self.meta.get("model_provider")
        return found if isinstance(found, str) and found else None

    @property
    def source(self) -> str | None:
        """How the thread was started, in one word."""
        source = self.meta.get("source")
        if isinstance(source, dict):
            return next(iter(source), None)
        return source if isinstance(source, str) else None

    @property
    def forked_from(self) -> str | None:
        found = self.meta.get("forked_from_id")
        return found if isinstance(found, str) else None

    @property
    def parent_thread(self) -> str | None:
        """The thread that started this one as a sub-agent."""
        source = self.meta.get("source")
        spawn: Any = source.get("subagent") if isinstance(source, dict) else None
        spawn = spawn.get("thread_spawn") if isinstance(spawn, dict) else None
        named = spawn.get("parent_thread_id") if isinstance(spawn, dict) else None
        named = named or self.meta.get("parent_thread_id")
        return named if isinstance(named, str) else None

    @property
    def is_revert(self) -> bool:
        """Whether an earlier rollout of the same thread holds the beginning."""
        return self.base is not None and self.forked_from is None and self.parent_thread is None

    @property
    def counted_elsewhere(self) -> int:
        return self.copied

    @property
    def inherited_entries(self) -> int:
        return self.copied

    @property
    def copied_lines(self) -> int:
        """How many lines behind the first were copied from the parent."""
        return self.line_of(self.copied - 1) - 1 if self.copied else 0
