"""The rows of the tree screen: which entries are shown, in which order, how far indented.

An outline is a lazy sequence. Building it handles unbranched stretches in bulk and decodes no payload, so
that the outline of a long conversation is available at once; rows are made on demand. It shows
the tree as it was when the outline was built: after a change, build another one.

Indentation happens only at branches. Entries that a filter or a search hides hand their children to the
nearest shown ancestor, and an outline without a shown ancestor has several roots.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from itertools import compress
from typing import Literal, NamedTuple, overload

from branchline.errors import InvalidArgument
from branchline.tree.index import ROOT, Tree
from branchline.tree.outline_layout import OutlineLayout
from branchline.tree.runs import Runs

__all__ = ["FILTERS", "Filter", "Jump", "Outline", "OutlineRow"]

Filter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
FILTERS: tuple[Filter, ...] = ("default", "no-tools", "user-only", "labeled-only", "all")
"""All filters, in the order in which a screen steps through them."""

Matches = Callable[[int], bool] | Container[int]

_NEVER = ("usage", "leaf")  # the parent of a move is its target: its row would be an empty branch there
_BACKGROUND = (
    *_NEVER,
    "label",
    "context_edit",
    "custom",
    "model_change",
    "thinking_level_change",
    "session_info",
)


class OutlineRow(NamedTuple):
    """One row. ``level`` is how many steps of indentation are drawn, the column of the connector included.

    ``connector`` says that the last step is a connector, ``last`` that no sibling follows. ``foldable``
    rows are open and can be folded; ``folded`` rows hide everything below them.
    """

    position: int
    key: str
    level: int
    connector: bool
    last: bool
    root: bool
    foldable: bool
    folded: bool
    active: bool


class Jump(NamedTuple):
    """What a step along branches does: fold or unfold the entry at this position, or go to it."""

    action: Literal["fold", "unfold", "go"]
    position: int


class Outline(Sequence[OutlineRow]):
    """The rows of a tree, seen from a leaf.

    ``labels`` are keyed by entry id; only the keys matter here. ``matches`` is a search: a set of
    positions, or a function that says whether the entry at a position is found. ``folded`` are positions
    whose descendants are hidden; a fold on an entry that is not shown hides nothing.
    """

    __slots__ = ("_layout", "_runs", "_shown", "filter", "folded", "labels", "leaf", "tree")

    def __init__(
        self,
        tree: Tree,
        leaf: int,
        *,
        filter: Filter = "default",  # noqa: A002
        labels: Mapping[str, object] | None = None,
        matches: Matches | None = None,
        folded: Collection[int] = (),
    ) -> None:
        self.tree = tree
        self.leaf = leaf
        self.filter = filter
        self.labels: Mapping[str, object] = {} if labels is None else labels
        self.folded = frozenset(folded)
        self._runs = Runs(tree, leaf)
        self._shown = _shown(tree, leaf, filter, self.labels, matches)
        self._layout = OutlineLayout(self._runs, self._shown, self.folded)

    def with_folds(self, folded: Collection[int]) -> Outline:
        """The same rows with other folds."""
        other = self._copy()
        other.folded = frozenset(folded)
        other._layout = OutlineLayout(self._runs, self._shown, other.folded)  # noqa: SLF001
        return other

    def with_filter(self, filter: Filter, matches: Matches | None = None) -> Outline:  # noqa: A002
        """The same tree with another filter or search; folds are dropped."""
        other = self._copy()
        other.filter = filter
        other.folded = frozenset()
        other._shown = _shown(self.tree, self.leaf, filter, self.labels, matches)  # noqa: SLF001
        other._layout = OutlineLayout(self._runs, other._shown, other.folded)  # noqa: SLF001
        return other

    def _copy(self) -> Outline:
        other = Outline.__new__(Outline)
        for name in Outline.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    # -- rows -----------------------------------------------------------------------------------------

    @property
    def positions(self) -> Sequence[int]:
        """The positions of all rows, in order. Not to be changed."""
        return self._layout.order

    def __len__(self) -> int:
        return len(self._layout.order)

    @overload
    def __getitem__(self, index: int) -> OutlineRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[OutlineRow]: ...
    def __getitem__(self, index: int | slice) -> OutlineRow | list[OutlineRow]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._row(number) for number in numbers]
        return self._row(numbers)

    def __iter__(self) -> Iterator[OutlineRow]:
        return map(self._row, range(len(self)))

    def _row(self, index: int) -> OutlineRow:
        layout = self._layout
        stretch = layout.segment_at(index)
        position = layout.order[index]
        head = index == layout.rows[stretch]
        active = position <= self._runs.active_end(layout.runs[stretch])
        folded = position in self.folded
        if not head:
            level = layout.inner_levels[stretch]
            key = self.tree.keys[position]
            return OutlineRow(position, key, level, False, True, False, False, folded, active)
        above = layout.above[stretch]
        siblings = layout.siblings(stretch)
        return OutlineRow(
            position=position,
            key=self.tree.keys[position],
            level=layout.levels[stretch],
            connector=above != ROOT and siblings > 1,
            last=layout.is_last[stretch],
            root=above == ROOT,
            foldable=(
                not folded
                and (above == ROOT or siblings > 1)
                and (layout.size(stretch) > 1 or layout.counts[stretch] > 0)
            ),
            folded=folded,
            active=active,
        )

    def gutters(self, index: int) -> list[int]:
        """The columns, from the left, in which the line of an ancestor with later siblings continues."""
        return self._layout.gutters(index)

    # -- finding --------------------------------------------------------------------------------------

    def index_of(self, position: int) -> int | None:
        """The row of an entry, or None when it is not shown."""
        layout = self._layout
        if not 0 <= position < len(self.tree):
            return None
        index = layout.row_at_or_before(self._runs.of(position), position)
        return None if index is None or layout.order[index] != position else index

    def nearest(self, position: int) -> int:
        """The row of an entry or of its nearest shown ancestor, else the last row; -1 without rows."""
        layout, runs = self._layout, self._runs
        while ROOT < position < len(self.tree):
            run = runs.of(position)
            index = layout.row_at_or_before(run, position)
            if index is not None:
                return index
            position = runs.parents[run]
        return len(self) - 1

    # -- moving along branches ------------------------------------------------------------------------

    def segment_start(self, index: int) -> int:
        """The row where this unbranched stretch began, or the one before where this row began one."""
        layout = self._layout
        stretch = layout.segment_at(index)
        while layout.above[stretch] != ROOT:
            if layout.siblings(stretch) > 1 and layout.rows[stretch] < index:
                break
            stretch = layout.above[stretch]
        return layout.rows[stretch]

    def segment_end(self, index: int) -> int:
        """The first row after the next branch, or the last row of a stretch that does not branch again."""
        layout = self._layout
        stretch = layout.segment_at(index)
        while layout.counts[stretch] == 1:
            stretch += 1  # the only child comes next
        end = layout.rows[stretch] + layout.size(stretch) - 1
        return end + 1 if layout.counts[stretch] else end

    def back(self, index: int) -> Jump:
        """Fold what is open and can be folded; else go to the start of the stretch."""
        row = self[index]
        if row.foldable:
            return Jump("fold", row.position)
        return Jump("go", self._layout.order[self.segment_start(index)])

    def forward(self, index: int) -> Jump:
        """Unfold what is folded; else go to where the stretch ends."""
        row = self[index]
        if row.folded:
            return Jump("unfold", row.position)
        return Jump("go", self._layout.order[self.segment_end(index)])


# -- what is shown ----------------------------------------------------------------------------------------


class _AllBut(dict[str | None, int]):
    """0 for the given names, 1 for any other."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(dict.fromkeys(names, 0))

    def __missing__(self, name: str | None) -> int:
        self[name] = 1
        return 1


class _Only(dict[str | None, int]):
    """1 for the given name, 0 for any other."""

    def __missing__(self, name: str | None) -> int:
        self[name] = 0
        return 0


def _shown(
    tree: Tree,
    leaf: int,
    kind: Filter,
    labels: Mapping[str, object],
    matches: Matches | None,
) -> Sequence[int]:
    """The positions that pass filter and search, in file order."""
    size = len(tree)
    hidden = _NEVER if kind in ("all", "labeled-only") else _BACKGROUND
    mask = bytearray(map(_AllBut(hidden).__getitem__, tree.types))
    for position in tree.textless:
        if position != leaf:
            mask[position] = 0
    match kind:
        case "default" | "all":
            pass
        case "no-tools":
            mask = _both(mask, bytes(map(_AllBut(("toolResult",)).__getitem__, tree.roles)))
        case "user-only":
            mask = _both(mask, bytes(map(_Only(user=1).__getitem__, tree.roles)))
            mask = _both(mask, bytes(map(_Only(message=1).__getitem__, tree.types)))
        case "labeled-only":
            labeled = bytearray(size)
            for key in labels:
                position = tree.positions.get(key, ROOT)
                if position != ROOT:
                    labeled[position] = 1
            mask = _both(mask, labeled)
        case _:
            raise InvalidArgument(f"unknown filter {kind!r}; choose from {', '.join(FILTERS)}")
    shown = list(compress(range(size), mask))
    if matches is None:
        return shown
    if callable(matches):
        return list(filter(matches, shown))
    return [position for position in shown if position in matches]


def _both(one: bytes | bytearray, other: bytes | bytearray) -> bytearray:
    both = int.from_bytes(one, "little") & int.from_bytes(other, "little")
    return bytearray(both.to_bytes(len(one), "little"))
