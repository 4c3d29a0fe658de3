"""A path in parts: an entry and the tool results that follow it.

The parts are computed from the tree alone; the text of a part is read when it is shown. A result is shown
with its call, which may be in another part.
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Generic, Literal, NamedTuple, TypeVar, overload

from branchline.entries import SIDE_TYPES, CustomMessage, Entry, Image, MessageEntry, UnknownMessage
from branchline.errors import BranchlineError
from branchline.tree import ROOT
from branchline.views.call_results import CallPairs, PathCalls
from branchline.views.cards import Card, cards
from branchline.views.entry_rows import RowTexts
from branchline.views.figures import are_messages
from branchline.views.hits import matches_all
from branchline.views.session_source import SessionSource

__all__ = ["Branch", "Conversation", "branch_end", "images_of"]

_Session = TypeVar("_Session", bound=SessionSource)
_NEAR = 200
"""Parts that are checked for a fork point while a screen is drawn."""


class Branch(NamedTuple):
    """One branch of a fork point: its first entry, its newest end, and its first text."""

    first: int
    end: int
    words: str
    entries: int
    current: bool


class _Parts(Sequence[list[int]]):
    """The positions of each part, sliced on demand: one list per part is slow for large sessions."""

    def __init__(self, path: list[int], starts: list[int]) -> None:
        self._path = path
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, part: int, /) -> list[int]: ...
    @overload
    def __getitem__(self, part: slice, /) -> list[list[int]]: ...
    def __getitem__(self, part: int | slice, /) -> list[int] | list[list[int]]:
        if isinstance(part, slice):
            return [self[number] for number in range(*part.indices(len(self)))]
        start = self._starts[part]
        following = part % len(self._starts) + 1
        end = self._starts[following] if following < len(self._starts) else len(self._path)
        return self._path[start:end]

    def at(self, place: int) -> int:
        """The part that contains an index of the path."""
        return bisect_right(self._starts, place) - 1

    def start(self, part: int) -> int:
        """The place of the path at which a part begins."""
        return self._starts[part]


class Conversation(Generic[_Session]):
    """The parts of the path to a leaf, by number."""

    def __init__(
        self, session: _Session, leaf: str | None, *, home: str = "", pairs: CallPairs | None = None
    ) -> None:
        self.session = session
        self.leaf = leaf
        self.home = home
        known = pairs is not None and pairs.source is session.transcript
        self.pairs = pairs if pairs is not None and known else CallPairs(session.transcript)
        tree = session.index
        types, roles = tree.types, tree.roles
        chain = [] if leaf is None else tree.path_positions(tree.position(leaf))
        self.path = [position for position in chain if types[position] not in SIDE_TYPES]
        self.parts = _Parts(
            self.path,
            [
                place
                for place, position in enumerate(self.path)
                if not place or roles[position] != "toolResult"
            ],
        )

    def __len__(self) -> int:
        return len(self.parts)

    @cached_property
    def _messages(self) -> list[int]:
        """For each entry of the path, the number of messages up to it."""
        return list(accumulate(are_messages(self.session.index, self.path)))

    @property
    def messages(self) -> int:
        """The number of messages on the path."""
        return self._messages[-1] if self._messages else 0

    def messages_until(self, part: int) -> int:
        """Return the number of messages up to the end of a part."""
        end = self.parts.start(part) + len(self.parts[part])
        return self._messages[end - 1]

    @cached_property
    def place(self) -> Literal["leaf", "above", "elsewhere"]:
        """Where the path ends: at the leaf, above it on the current branch, or on another branch."""
        if self.leaf == self.session.leaf:
            return "leaf"
        return "above" if self.leaf in self.session.path() else "elsewhere"

    def cards(self, part: int) -> list[Card]:
        return self.window(part, part + 1)

    def window(self, first: int, end: int) -> list[Card]:
        """Return the cards of some parts that follow each other."""
        transcript, parts = self.session.transcript, range(*slice(first, end).indices(len(self)))
        positions = [position for part in parts for position in self.parts[part]]
        try:
            entries = transcript.entries(positions)
            self.pairs.note(positions, entries)
            calls = PathCalls(self.pairs, positions, self.on_path, transcript.entry)
            return cards(entries, labels=transcript.reading.labels, home=self.home, calls=calls)
        except (BranchlineError, OSError, ValueError) as problem:
            # The file changed while it is shown.
            key = transcript.tree.keys[positions[0]]
            return [Card(kind="damage", id=key, title="Damaged", body=str(problem), error=True)]

    def entries(self, part: int) -> list[Entry]:
        """Return the entries that a part shows: those of the results of its calls too, wherever they are."""
        shown: dict[int, None] = {}
        for position in self.parts[part]:
            if (answered := self.pairs.call(position)) is None or answered.repeated:
                shown[position] = None
            for places in self.pairs.results(position):
                shown |= dict.fromkeys(place.position for place in places if place.position in self.on_path)
        return self.session.transcript.entries(list(shown))

    def part_of(self, key: str | None) -> int | None:
        """The part that shows an entry or its nearest ancestor; None if it is on another path.

        A result is shown in the part of its call.
        """
        if key is None or key not in self.session.index:
            return None
        tree = self.session.index
        wanted = tree.position(key)
        while wanted != ROOT and wanted not in self.on_path:
            wanted = tree.parent_position(wanted)
        if wanted == ROOT:
            return None
        answered = self.pairs.call(wanted)
        if answered is not None and not answered.repeated:
            wanted = answered.position
        return self.parts.at(self.path.index(wanted))

    @cached_property
    def on_path(self) -> frozenset[int]:
        """The positions of the path."""
        return frozenset(self.path)

    def place_of(self, part: int) -> int:
        """The place of the path at which a part begins; -1 where there are none."""
        return self.parts.start(part) if part < len(self.parts) else -1

    # -- going through it -----------------------------------------------------------------------------

    def prompts(self, start: int, by: int) -> Iterator[int]:
        """The parts with prompts from here on, in one direction."""
        roles = self.session.index.roles
        return (part for part in self._onward(start, by) if roles[self.parts[part][0]] == "user")

    def labelled(self, start: int, by: int) -> Iterator[int]:
        tree, labels = self.session.index, self.session.transcript.reading.labels
        return (
            part
            for part in self._onward(start, by)
            if any(tree.keys[position] in labels for position in self.parts[part])
        )

    def errors(self, start: int, by: int) -> Iterator[int]:
        """The parts with an error or damage; reads the text of the parts on the way."""
        return (part for part in self._onward(start, by) if any(card.error for card in self.cards(part)))

    def found(self, words: str, start: int, by: int) -> Iterator[int | None]:
        """Yield the parts that contain all words, and None for every other part that was read."""
        wanted = words.split()
        for part in self._onward(start, by):
            text = "\n".join(f"{card.title}\n{card.body}\n{card.label or ''}" for card in self.cards(part))
            yield part if wanted and matches_all(text, wanted) else None

    def _onward(self, start: int, by: int) -> range:
        return range(start + by, len(self.parts) if by > 0 else -1, by)

    # -- branches -------------------------------------------------------------------------------------

    def other_branches(self, part: int) -> int:
        """The number of sibling branches of a part."""
        return len(self._ways(part)) - 1

    def way(self, part: int) -> tuple[int, int]:
        """The number of this branch among its siblings, and how many there are."""
        ways = self._ways(part)
        own = self.session.index.keys[self.parts[part][0]]
        return (ways.index(own) + 1 if own in ways else 1), len(ways)

    def _ways(self, part: int) -> list[str]:
        own, tree = self.parts[part][0], self.session.index
        parent = tree.nearest_conversation_entry(tree.parent_position(own))
        if parent not in self.forks:
            return [tree.keys[own]]
        return self.session.children(None if parent == ROOT else tree.keys[parent])

    @cached_property
    def forks(self) -> frozenset[int]:
        """The entries of the tree, ROOT included, that may have several children in the conversation."""
        tree = self.session.index
        return frozenset(map(tree.nearest_conversation_entry, set(tree.odd_parents().values())))

    def branches_above(self, part: int) -> bool:
        """Whether the nearest fork point at or above a part has other branches."""
        return 0 <= part < len(self.parts) and any(
            self.other_branches(at) > 0 for at in range(part, max(-1, part - _NEAR), -1)
        )

    def neighbour(self, part: int, by: int) -> str | None:
        """The first entry of the next or previous branch of the nearest fork point at or above a part."""
        if (part := self._forked(part)) < 0:
            return None
        ways = self._ways(part)
        at, _number = self.way(part)
        return ways[(at - 1 + by) % len(ways)]

    def _forked(self, part: int) -> int:
        """The nearest part, this one or above it, that has sibling branches; -1 if there is none."""
        while part >= 0 and self.other_branches(part) < 1:
            part -= 1
        return part

    def branches(self, part: int) -> list[Branch]:
        """The branches of the nearest fork point at or above a part; empty if there is none."""
        if (part := self._forked(part)) < 0:
            return []
        session, tree = self.session, self.session.index
        own = self.parts[part][0]
        firsts = [tree.position(key) for key in self._ways(part)]
        under = [ROOT] * len(tree)  # for each entry, which of the branches it is on
        for first in firsts:
            under[first] = first
        ends = {first: first for first in firsts}
        sizes = dict.fromkeys(firsts, 1)
        speaks = {first: first for first in firsts if self._speaks(first)}
        # In repaired files a parent may come after its child; such entries are not counted.
        for position, above in enumerate(tree.parents):
            if above != ROOT and under[position] == ROOT and under[above] != ROOT:
                branch = under[position] = under[above]
                if tree.types[position] not in SIDE_TYPES and position not in tree.placeholders:
                    ends[branch] = position
                    sizes[branch] += 1
                    if branch not in speaks and self._speaks(position):
                        speaks[branch] = position
        texts = RowTexts(session.transcript, home=self.home)
        return [
            Branch(first, ends[first], texts(speaks.get(first, first)), sizes[first], first == own)
            for first in firsts
        ]

    def _speaks(self, position: int) -> bool:
        """Whether the text of an entry describes a branch: a message or a summary."""
        tree = self.session.index
        if tree.types[position] in ("branch_summary", "compaction", "custom_message"):
            return True
        return tree.roles[position] in ("user", "assistant") and position not in tree.textless


def branch_end(session: SessionSource, entry: str) -> str:
    """Return the leaf if the entry is on the active path, otherwise the end of its newest continuation."""
    tree = session.index
    position = tree.position(entry)
    leaf = session.leaf
    if leaf is not None and position in set(tree.path_positions(tree.position(leaf))):
        return leaf
    end = entry
    for _ in range(len(tree)):  # a tree has no cycles; damage is not trusted
        following = tree.conversation_children(end)
        if not following:
            break
        end = following[-1]
    return end


def images_of(entries: list[Entry]) -> list[tuple[str, bytes]]:
    """Return the images of entries as type and bytes, without those that are not valid base64."""
    found = []
    for entry in entries:
        match entry:
            case MessageEntry(message=UnknownMessage()):
                continue
            case MessageEntry():
                content = getattr(entry.message, "content", ())
            case CustomMessage():
                content = entry.content
            case _:
                continue
        for block in () if isinstance(content, str) else content:
            if isinstance(block, Image):
                try:
                    found.append((block.mime_type, base64.b64decode(block.data, validate=True)))
                except (binascii.Error, ValueError):
                    continue
    return found
