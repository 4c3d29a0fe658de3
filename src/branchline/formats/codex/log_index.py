"""Index of a rollout: the tree, the first record, and the results of the replay."""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import Any, NamedTuple

from branchline.entries import json_codec
from branchline.formats.codex.replay import TokenTotals
from branchline.formats.codex.rows import Row, item_text, row_from
from branchline.formats.json_values import dict_of, optional_text, whole_number
from branchline.formats.log_index import LogIndex

__all__ = ["CodexLogIndex", "HistoryBase", "base_of"]


class HistoryBase(NamedTuple):
    """The part of another rollout that this one begins with."""

    rollout: str
    end_ordinal: int
    end_offset: int


def base_of(meta: dict[str, Any]) -> HistoryBase | None:
    """Return the other rollout that a first record names as its beginning."""
    base = dict_of(meta.get("history_base"))
    if (rollout := optional_text(base.get("thread_id"))) is None:
        return None
    ends = (whole_number(base.get(name)) for name in ("end_ordinal_exclusive", "end_byte_offset"))
    return HistoryBase(rollout, *ends)


class CodexLogIndex(LogIndex):
    """Index of a rollout: the tree, the first record, and the results of the replay."""

    renames_copies = True

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
        self.prompts: set[int] = set()
        """The entries with what the user typed, from events."""
        self.kept: dict[int, tuple[str, ...]] = {}
        """The prompts kept by a compaction that stores no history."""
        self.spent: dict[int, TokenTotals] = {}
        self.totals = TokenTotals()
        self.tool_names: dict[str, str] = {}
        self.numbers: dict[int, int] = {}
        self.models: list[tuple[int, str]] = []
        """The models of turns, with the first entry that each applies to."""
        self.providers: list[tuple[int, str]] = []
        """Their providers, if branchline recorded them."""
        self.open_turn = ""
        """The turn that has not ended."""
        self._last_answer: tuple[int, str | None] | None = None
        self.converted_from: str | None = None
        """The session that this one was converted from, by path or id."""

    @property
    def last_answer(self) -> tuple[int, str] | None:
        """Position and text of the last answer."""
        if self._last_answer is None:
            return None
        position, text = self._last_answer
        if text is None:  # restored without its text
            payload = self.row_at(position).payload
            text = "" if payload is None else item_text(payload)
            self._last_answer = (position, text)
        return position, text

    @last_answer.setter
    def last_answer(self, found: tuple[int, str | None] | None) -> None:
        self._last_answer = found

    def row_at(self, position: int) -> Row:
        """Read the line of an entry again. Raises ValueError if it no longer is a line of JSON."""
        fields = json_codec.loads(self.read(*self.span(position)))
        if not isinstance(fields, dict):
            raise ValueError(f"the line of entry {position} is not an object")
        return row_from(fields)

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
        return next(iter(source), None) if isinstance(source, dict) else optional_text(source)

    @property
    def forked_from(self) -> str | None:
        return optional_text(self.meta.get("forked_from_id"))

    @property
    def parent_thread(self) -> str | None:
        """The thread that started this one as a sub-agent."""
        subagent = dict_of(dict_of(self.meta.get("source")).get("subagent"))
        spawn = dict_of(subagent.get("thread_spawn"))
        return optional_text(spawn.get("parent_thread_id") or self.meta.get("parent_thread_id"))

    @property
    def is_revert(self) -> bool:
        """Whether an earlier rollout of the same thread holds the beginning."""
        return self.base is not None and self.forked_from is None and self.parent_thread is None

    @property
    def inherited_entries(self) -> int:
        return self.copied
