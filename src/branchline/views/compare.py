"""Compare two branches or two sessions turn by turn from their common ancestor on: text, tools, files, usage.

A turn is a prompt and everything up to the next prompt. The turns after the common beginning are paired in
order. Texts are compared by lines; if they are too long for that, everything between their common ends counts
as replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal

import msgspec

from branchline.context.prices import PriceList
from branchline.context.usage import UsageSource, UsageSum, entry_usage
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessage,
    Entry,
    MessageEntry,
    ToolResult,
    UserMessage,
    blocks_text,
    message_text,
)
from branchline.tree import ROOT, EntrySource, compare_paths, compare_sessions
from branchline.views.figures import CostFigure, cost_of, messages_on, tokens_of
from branchline.views.text_difference import Difference, text_difference
from branchline.views.tool_calls import Call, calls_of
from branchline.views.tool_views import call_files, tool_kind

__all__ = ["CompareView", "ComparedTurn", "Side", "TurnPair", "compare_view"]


class _Totals(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn, or one side with all its turns, amounts to."""

    messages: int
    """The messages of user, model and tools, as in lists."""
    answers: int
    tools: tuple[tuple[str, int], ...]
    """The called tools with their number of calls, most often first."""
    errors: int
    read: tuple[str, ...]
    """Files that were read but not changed."""
    changed: tuple[str, ...]
    usage: UsageSum
    knows_usage: bool
    """Whether the usage of the answers was recorded; some agents record none."""

    @property
    def cost(self) -> CostFigure:
        return cost_of(self.usage, is_known=self.knows_usage)

    @property
    def tokens(self) -> str:
        return tokens_of(self.usage.total_tokens, is_known=self.knows_usage)


class ComparedTurn(_Totals, frozen=True, kw_only=True):
    """A prompt and the entries up to the next; ``prompt`` is empty if a side begins within a turn."""

    ids: tuple[str, ...]
    prompt: str
    answer: str
    """The text of answers and summaries, in order."""
    timestamp: str
    models: tuple[str, ...]


class Side(_Totals, frozen=True, kw_only=True):
    """One side: its turns after the common beginning, and their totals."""

    leaf: str | None
    turns: tuple[ComparedTurn, ...]


class TurnPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two turns side by side; one is None if its side has no more."""

    left: ComparedTurn | None
    right: ComparedTurn | None
    prompt: Difference
    answer: Difference

    @property
    def same_words(self) -> bool:
        return all(mark == " " for mark, _ in (*self.prompt, *self.answer))


class CompareView(msgspec.Struct, frozen=True, kw_only=True):
    """The common beginning of two paths, and how they continue."""

    common_ancestor: str | None
    """The last shared entry, by its id on the left side."""
    shared: int
    """The number of common entries."""
    by: Literal["id", "text"]
    """How common entries were recognised."""
    left: Side
    right: Side
    pairs: tuple[TurnPair, ...]


def compare_view(
    one: UsageSource,
    one_leaf: int,
    other: UsageSource,
    other_leaf: int,
    *,
    prices: PriceList | None = None,
) -> CompareView:
    """Compare the paths to two positions, of one session or of two.

    ``prices`` estimate the cost that agents do not record.
    """
    prices = prices or PriceList()
    if one is other:
        found = compare_paths(one.tree, one_leaf, other_leaf)
    else:
        found = compare_sessions(one, one_leaf, other, other_leaf)
    left = _side(one, one_leaf, found.left, prices)
    right = _side(other, other_leaf, found.right, prices)
    return CompareView(
        common_ancestor=found.common_ancestor,
        shared=len(found.shared),
        by=found.by,
        left=left,
        right=right,
        pairs=tuple(_pair(*turns) for turns in zip_longest(left.turns, right.turns)),
    )


def _pair(left: ComparedTurn | None, right: ComparedTurn | None) -> TurnPair:
    return TurnPair(
        left=left,
        right=right,
        prompt=text_difference(left.prompt if left else "", right.prompt if right else ""),
        answer=text_difference(left.answer if left else "", right.answer if right else ""),
    )


# -- turns ------------------------------------------------------------------------------------------------


def _side(source: UsageSource, leaf: int, keys: Sequence[str], prices: PriceList) -> Side:
    turns = tuple(_turns(source, keys, prices))
    tools: Counter[str] = Counter()
    for turn in turns:
        tools.update(dict(turn.tools))
    changed = dict.fromkeys(path for turn in turns for path in turn.changed)
    read = dict.fromkeys(path for turn in turns for path in turn.read if path not in changed)
    return Side(
        leaf=None if leaf == ROOT else source.tree.keys[leaf],
        turns=turns,
        messages=sum(turn.messages for turn in turns),
        answers=sum(turn.answers for turn in turns),
        tools=tuple(tools.most_common()),
        errors=sum(turn.errors for turn in turns),
        read=tuple(read),
        changed=tuple(changed),
        usage=sum((turn.usage for turn in turns), UsageSum()),
        knows_usage=any(turn.knows_usage for turn in turns if turn.answers)
        or not any(turn.answers for turn in turns),
    )


def _turns(source: UsageSource, keys: Sequence[str], prices: PriceList) -> Iterator[ComparedTurn]:
    collected = _Collected(source, prices)
    spent = _spent_beside(source)
    for entry in _read(source, keys):
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage) and collected.spoken:
            yield collected.turn()
            collected = _Collected(source, prices)
        collected.add(entry)
        if entry.id in spent:
            collected.add_spent(source.entries(spent[entry.id]))
    if collected.ids:
        yield collected.turn()


def _spent_beside(source: EntrySource) -> dict[str, list[int]]:
    """Usage records beside the path, by the conversation entry that they follow.

    zot and others write the tokens of an answer into a separate record.
    """
    tree = source.tree
    found: dict[str, list[int]] = {}
    if "usage" not in tree.types:
        return found
    for position, kind in enumerate(tree.types):
        if kind == "usage" and (above := tree.parents[position]) != ROOT:
            above = tree.nearest_conversation_entry(above)
            if above != ROOT:
                found.setdefault(tree.keys[above], []).append(position)
    return found


def _read(source: EntrySource, keys: Sequence[str]) -> Iterator[Entry]:
    return source.iter_entries([source.tree.position(key) for key in keys])


class _Collected:
    """A turn while its entries are read."""

    def __init__(self, source: UsageSource, prices: PriceList) -> None:
        self._source = source
        self._prices = prices
        self.ids: list[str] = []
        self.prompt = ""
        self.spoken = False  # settings before the first message belong to the next turn
        self._time = ""
        self._answers: list[str] = []
        self._errors = 0
        self._tools: Counter[str] = Counter()
        self._read: dict[str, None] = {}
        self._changed: dict[str, None] = {}
        self._models: dict[str, None] = {}
        self._usage = UsageSum()
        self._is_metered = False

    def add(self, entry: Entry) -> None:
        self.ids.append(entry.id)
        self._time = self._time or entry.timestamp
        for model, usage in self._spent(entry):
            self._usage += usage
            if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
                self._models[model.strip("/")] = None
        for call in calls_of(entry):
            self._call(call)
        match entry:
            case MessageEntry(message=UserMessage() as message):
                self.prompt = blocks_text(message.content, "\n\n")
            case MessageEntry(message=AssistantMessage() as message):
                self._say(message_text(message, "\n\n"))
                self._errors += message.stop_reason == "error"
                if message.error_message:
                    self._say(message.error_message)
            case MessageEntry(message=ToolResult() as message):
                self._errors += message.is_error is True
            case MessageEntry(message=BashExecution() as message):
                self._say(f"$ {message.command}")
                self._errors += bool(message.exit_code)
            case Compaction() | BranchSummary():
                self._say(entry.summary)
            case CustomMessage():
                self._say(blocks_text(entry.content))
            case _:
                pass
        if isinstance(entry, MessageEntry):
            self.spoken = True

    def _spent(self, entry: Entry) -> list[tuple[str, UsageSum]]:
        spent = list(entry_usage(entry, priced=self._source.records_cost, prices=self._prices))
        self._is_metered = self._is_metered or bool(spent)
        return spent

    def add_spent(self, entries: Iterable[Entry]) -> None:
        """Add the usage from records beside the path."""
        for entry in entries:
            for model, usage in self._spent(entry):
                self._usage += usage
                if model.strip("/"):
                    self._models[model.strip("/")] = None

    def _say(self, text: str) -> None:
        if text.strip():
            self._answers.append(text.strip("\n"))
            self.spoken = True

    def _call(self, call: Call) -> None:
        self._tools[call.name] += 1
        touched = self._read if tool_kind(call.name) == "read" else self._changed
        touched.update(dict.fromkeys(call_files(call)))

    def turn(self) -> ComparedTurn:
        tree = self._source.tree
        positions = [tree.position(key) for key in self.ids]
        answers = sum(tree.roles[position] == "assistant" for position in positions)
        return ComparedTurn(
            ids=tuple(self.ids),
            prompt=self.prompt,
            answer="\n\n".join(self._answers),
            timestamp=self._time,
            messages=messages_on(tree, positions),
            answers=answers,
            tools=tuple(self._tools.most_common()),
            errors=self._errors,
            read=tuple(path for path in self._read if path not in self._changed),
            changed=tuple(self._changed),
            models=tuple(self._models),
            usage=self._usage,
            knows_usage=self._is_metered or not answers,
        )
