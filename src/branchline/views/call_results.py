"""Which result answers which tool call, for every screen and page.

A result answers the nearest call with its id above it, whatever stands between the two: other calls and their
results, answers, prompts, notes. Calls of one answer that share an id are answered in their order. The pair
depends only on the ancestors of the result, so it is the same in every window of a session and on every path.

On one path a call has one result: the first. Others are shown where they are. On each branch between the call
and the end of a path it may have its own.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, TypeGuard

from branchline.entries import AssistantMessage, Entry, MessageEntry, ToolResult, UnknownBlock
from branchline.tree import ROOT, EntrySource
from branchline.views.tool_calls import Call, call_of, calls_of

__all__ = [
    "AnsweredCall",
    "CallPairs",
    "PathCalls",
    "ResultPlace",
    "is_result",
    "pair_path",
    "results_of",
]

_ABOVE = 1000
"""The most entries above a result that are read before the whole session is paired at once."""
_BELOW = 256
"""The same below a call."""
_ROLES = frozenset({"assistant", "toolResult"})


class ResultPlace(NamedTuple):
    """A result: its entry, and which of the results in that entry it is."""

    position: int
    number: int


class AnsweredCall(NamedTuple):
    """The call that a result answers: its entry, and which of the calls in that entry it is."""

    position: int
    number: int
    repeated: bool
    """Whether another result above this one answered the call before."""


def results_of(entry: Entry) -> list[ToolResult | UnknownBlock]:
    """Return the results in an entry: a message, or blocks of an answer, if the provider ran the tool."""
    if not isinstance(entry, MessageEntry):
        return []
    message = entry.message
    if isinstance(message, ToolResult):
        return [message]
    if not isinstance(message, AssistantMessage) or isinstance(message.content, str):
        return []
    return [block for block in message.content if is_result(block)]


def is_result(block: object) -> TypeGuard[UnknownBlock]:
    """Return whether a block of an answer is the result of a tool that the provider ran."""
    return (
        isinstance(block, UnknownBlock)
        and block.type.endswith("_tool_result")
        and isinstance(block.fields.get("tool_use_id"), str)
    )


class Pairs(Protocol):
    """Answers by position."""

    def call(self, position: int, number: int = 0, /) -> AnsweredCall | None:
        """Return the call that a result answers; None if there is no such call above it."""
        ...

    def results(self, position: int, /) -> Sequence[Sequence[ResultPlace]]:
        """Return for each call of an entry its results: at most one on each path."""
        ...


class _Ids(NamedTuple):
    """The ids of the calls of an entry, and those that its results name."""

    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


_NOTHING = _Ids()


def _ids(entry: Entry) -> _Ids:
    message = entry.message if isinstance(entry, MessageEntry) else None
    if isinstance(message, ToolResult):
        return _Ids((), (message.tool_call_id,))
    if not isinstance(message, AssistantMessage) or isinstance(message.content, str):
        return _NOTHING
    calls, results = [], []
    for block in message.content:
        if (call := call_of(block)) is not None:
            calls.append(call.id)
        elif is_result(block):
            results.append(str(block.fields["tool_use_id"]))
    return _Ids(tuple(calls), tuple(results)) if calls or results else _NOTHING


class _Asked:
    """The calls with one id in one entry, and how many results they have on the current path."""

    __slots__ = ("numbers", "position", "taken")

    def __init__(self, position: int) -> None:
        self.position = position
        self.numbers: list[int] = []
        self.taken = 0


class _Scope:
    """Pairs along a path: entered entry by entry downwards, and left in the opposite order."""

    def __init__(self) -> None:
        self.answered: dict[ResultPlace, AnsweredCall] = {}
        self._asked: dict[str, list[_Asked]] = {}

    def enter(self, position: int, ids: _Ids) -> Iterable[AnsweredCall]:
        """Return the calls that the results of this entry answer."""
        for number, call in enumerate(ids.calls):
            waiting = self._asked.setdefault(call, [])
            if not waiting or waiting[-1].position != position:
                waiting.append(_Asked(position))
            waiting[-1].numbers.append(number)
        found = []
        for number, call in enumerate(ids.results):
            if not (waiting := self._asked.get(call, [])):
                continue
            asked = waiting[-1]
            last = len(asked.numbers) - 1
            answered = AnsweredCall(asked.position, asked.numbers[min(asked.taken, last)], asked.taken > last)
            asked.taken += 1
            self.answered[ResultPlace(position, number)] = answered
            found.append(answered)
        return found

    def leave(self, position: int, ids: _Ids) -> None:
        for call in ids.results:
            if waiting := self._asked.get(call):
                waiting[-1].taken -= 1
        for call in ids.calls:
            if (waiting := self._asked[call]) and waiting[-1].position == position:
                waiting.pop()


class _Paired:
    """All pairs of some entries."""

    def __init__(self, scope: _Scope, ids: Callable[[int], _Ids]) -> None:
        self._answered = scope.answered
        self._ids = ids
        self._results: dict[tuple[int, int], list[ResultPlace]] = {}
        for place, call in scope.answered.items():
            if not call.repeated:
                self._results.setdefault((call.position, call.number), []).append(place)

    def call(self, position: int, number: int = 0, /) -> AnsweredCall | None:
        return self._answered.get(ResultPlace(position, number))

    def results(self, position: int, /) -> Sequence[Sequence[ResultPlace]]:
        calls = range(len(self._ids(position).calls))
        return [self._results.get((position, number), ()) for number in calls]


def pair_path(entries: Sequence[Entry]) -> Pairs:
    """Return the pairs of a whole path; positions are places in it."""
    ids = list(map(_ids, entries))
    scope = _Scope()
    for position, one in enumerate(ids):
        scope.enter(position, one)
    return _Paired(scope, ids.__getitem__)


class CallPairs:
    """The pairs of a session, found when they are asked for; the session may grow meanwhile.

    Usually a result follows its call closely, and a few entries are read. Only where it does not, or where
    there is none, is the whole session read, once.
    """

    def __init__(self, source: EntrySource) -> None:
        self.source = source
        self._known: dict[int, _Ids] = {}
        self._called: set[str] = set()
        self._counted = 0
        self._found: dict[ResultPlace, AnsweredCall] = {}
        """The calls of results that were found below them: most are asked for next."""
        self._all: _Paired | None = None
        self._size = 0

    def note(self, positions: Iterable[int], entries: Iterable[Entry]) -> None:
        """Take entries that were read, so that they are not read again."""
        roles, known = self.source.tree.roles, self._known
        for position, entry in zip(positions, entries, strict=True):
            if roles[position] in _ROLES and position not in known:
                known[position] = _ids(entry)

    def call(self, position: int, number: int = 0, /) -> AnsweredCall | None:
        if (whole := self._whole()) is not None:
            return whole.call(position, number)
        if (found := self._found.pop(ResultPlace(position, number), None)) is not None:
            return found
        tree = self.source.tree
        wanted = self._ids(position).results[number : number + 1]
        if not wanted:
            return None
        above, stretch = position, [position]
        for _ in range(_ABOVE):
            if tree.roles[above] == "assistant" and wanted[0] in self._ids(above).calls:
                scope = _Scope()
                for at in reversed(stretch):
                    scope.enter(at, self._ids(at))
                return scope.answered[ResultPlace(position, number)]
            above = tree.parent_position(above)
            if above == ROOT:
                return None
            stretch.append(above)
        return self._pair_all().call(position, number) if self._is_called(wanted[0]) else None

    def call_at(self, position: int) -> Call | None:
        """Return the call that the result at a position answers; None if there is no such call above it."""
        found = self.call(position)
        if found is None:
            return None
        return next(islice(calls_of(self.source.entry(found.position)), found.number, None))

    def results(self, position: int, /) -> Sequence[Sequence[ResultPlace]]:
        calls = self._ids(position).calls
        if not calls:
            return ()
        if (whole := self._whole()) is not None:
            return whole.results(position)
        scope = _Scope()
        left = _BELOW
        for _ in self._walk(scope, [position], len(calls)):
            left -= 1
            if not left:
                return self._pair_all().results(position)
        found: list[list[ResultPlace]] = [[] for _ in calls]
        for place, call in scope.answered.items():
            if call.position == position:
                self._found[place] = call
                if not call.repeated:
                    found[call.number].append(place)
        return found

    def _walk(self, scope: _Scope, starts: list[int], calls: int = 0) -> Iterator[int]:
        """Enter all entries at and below some, one branch after the other, and yield them.

        With ``calls``, a branch ends where all so many calls of the first entry have results.
        """
        tree, first, answered = self.source.tree, starts[0] if starts else ROOT, 0
        waiting = starts[::-1]
        open_entries: list[tuple[int, _Ids, int]] = []
        while waiting:
            position = waiting.pop()
            if position < 0:  # everything below this entry was visited
                at, ids, here = open_entries.pop()
                scope.leave(at, ids)
                answered -= here
                continue
            ids = self._ids(position)
            if ids is not _NOTHING:
                found = scope.enter(position, ids)
                here = sum(call.position == first and not call.repeated for call in found) if calls else 0
                answered += here
                open_entries.append((position, ids, here))
                waiting.append(-1)
            yield position
            if not calls or answered < calls:
                waiting += tree.child_positions(position)[::-1]

    def _ids(self, position: int) -> _Ids:
        ids = self._known.get(position)
        if ids is None:
            if self.source.tree.roles[position] not in _ROLES:
                return _NOTHING
            ids = self._known[position] = _ids(self.source.entry(position))
        return ids

    def _is_called(self, wanted: str) -> bool:
        """Whether any answer of the session has a call with this id."""
        size = len(self.source.tree)
        answers = [at for at in range(self._counted, size) if self.source.tree.roles[at] == "assistant"]
        self._read(answers)
        for at in answers:
            self._called.update(self._known[at].calls)
        self._counted = size
        return wanted in self._called

    def _read(self, positions: Iterable[int]) -> None:
        unread = [position for position in positions if position not in self._known]
        for position, entry in zip(unread, self.source.iter_entries(unread), strict=True):
            self._known[position] = _ids(entry)

    def _whole(self) -> _Paired | None:
        """The pairs of the whole session, if it was paired already."""
        if self._all is None or self._size == len(self.source.tree):
            return self._all
        return self._pair_all()

    def _pair_all(self) -> _Paired:
        tree = self.source.tree
        size = len(tree)
        self._read(at for at, role in enumerate(tree.roles) if role in _ROLES)
        scope = _Scope()
        for _ in self._walk(scope, tree.root_positions()):
            pass
        self._all, self._size = _Paired(scope, self._ids), size
        return self._all


class PathCalls:
    """The calls and results of a path, or of a part of it.

    ``positions`` are those of the shown entries, ``path`` those of the whole path. A result on the path is
    found wherever it is, also outside of what is shown.
    """

    def __init__(
        self,
        pairs: Pairs,
        positions: Sequence[int],
        path: Container[int],
        entry: Callable[[int], Entry],
    ) -> None:
        self.positions = positions
        self._pairs = pairs
        self._path = path
        self._entry = entry
        self._read: tuple[int, list[ToolResult | UnknownBlock]] = ROOT, []

    def results(self, position: int) -> list[ToolResult | UnknownBlock | None]:
        """Return for each call of an entry its result on the path; None if there is none."""
        return [
            next((self._result(place) for place in places if place.position in self._path), None)
            for places in self._pairs.results(position)
        ]

    def _result(self, place: ResultPlace) -> ToolResult | UnknownBlock:
        if self._read[0] != place.position:
            self._read = place.position, results_of(self._entry(place.position))
        return self._read[1][place.number]

    def is_shown(self, position: int, number: int = 0) -> bool:
        """Return whether a result is shown with its call, and not where it is."""
        found = self._pairs.call(position, number)
        return found is not None and not found.repeated
