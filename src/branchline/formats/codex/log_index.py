"""Index of a rollout: the tree, the first record, and the results of the replay."""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import Any, NamedTuple

from branchline.formats.codex.replay import TokenTotals
from branchline.formats.log_index import LogIndex

__all__ = ["CodexLogIndex", "HistoryBase", "base_of"]


class HistoryBase(NamedTuple):
    """The part of another rollout that this one begins with."""

    rollout: str
    end_ordinal: int
    end_offset: int


def base_of(meta: dict[str, Any]) -> HistoryBase | None:
    """Return the other rollout that a first record names as its beginning."""
    base = meta.get("history_base")
    if not isinstance(base, dict) or not isinstance(rollout := base.get("thread_id"), str):
        return None
    return HistoryBase(
        rollout, _whole(base.get("end_ordinal_exclusive")), _whole(base.get("end_byte_offset"))
    )


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


class CodexLogIndex(LogIndex):
    """Index of a rollout: the tree, the first record, and the results of the replay."""

    def __init__(self) -> None:
        super().__init__("codex")
        self.thread = ""
        self.rollout = ""
        """The id by which other rollouts refer to this one."""
        self.meta: dict[str, Any] = {}
        self.base: HistoryBase | None = None
        self.copied = 0
        """The number of entries copied from the parent, as far as this file shows."""
        self.turns: list[tuple[int, str]] = []
        """The start positions and ids of turns."""
        self.turn_contexts: set[str] = set()
        self.aborted = 0
        self.rollbacks: dict[int, int] = {}
        """By entry: the number of turns it rolled back."""
        self.prompts: dict[int, str] = {}
        """What the user typed, from events."""
        self.kept: dict[int, tuple[str, ...]] = {}
        """The prompts kept by a compaction that stores no history."""
        self.spent: dict[int, TokenTotals] = {}
        self.totals = TokenTotals()
        self.tool_names: dict[str, str] = {}
        self.numbers: dict[int, int] = {}
        self.foreign = 0
        self.models: list[tuple[int, str]] = []
        """The models of turns, with the first entry that each applies to."""
        self.providers: list[tuple[int, str]] = []
        """Their providers, if branchline recorded them."""
        self.open_turn = ""
        """The turn that has not ended."""
        self.last_answer: tuple[int, str] | None = None
        """Position and text of the last answer."""
        self.converted_from: str | None = None
        """The session that this one was converted from, by path or id."""

    def model_at(self, position: int) -> str | None:
        """Return the model of the turn that an entry belongs to."""
        number = bisect_right(self.models, position, key=itemgetter(0))
        return self.models[number - 1][1] or None if number else None

    def provider_at(self, position: int) -> str | None:
        """Return the provider of that turn's model."""
        number = bisect_right(self.providers, position, key=itemgetter(0))
        if not number and self.converted_from is not None and position < self.copied:
            return None  # another agent's answer
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
        """The number of lines after the first that were copied from the parent."""
        return self.line_of(self.copied - 1) - 1 if self.copied else 0
