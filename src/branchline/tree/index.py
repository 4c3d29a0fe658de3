"""The tree of a session: parent and child links by position in the file.

Entries are numbered in file order, and everything about the shape is kept in plain columns of numbers and
shared strings, so that a session of a million entries is a few lists, every walk is a loop, and adding an
entry costs the same at any size. Names (ids) come in and go out at the edge.

The parents in these columns never form a cycle and always exist: :mod:`branchline.tree.linker` ensures it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cmp_to_key
from itertools import chain, compress, islice
from operator import ne
from typing import Any, Protocol

from branchline.entries import SIDE_TYPES
from branchline.errors import EntryNotFound, InvalidType

__all__ = ["ROOT", "Tree", "TreeColumns"]

ROOT = -1
"""The parent position of an entry without a parent."""


class TreeColumns(Protocol):
    """Columns of a tree that are stored elsewhere and loaded when they are first needed."""

    def keys(self) -> list[str]: ...

    def types(self) -> list[str]: ...

    def roles(self) -> list[str | None]: ...

    def times(self) -> Iterable[str]: ...

    def textless(self) -> set[int]: ...

    def find(self, key: str) -> int | None:
        """The position of a key, without loading all of them; None where that is not possible."""
        ...

    def __len__(self) -> int: ...


class Tree:
    """An index over entries: by id, by parent, by child.

    ``keys`` are unique: the id of the entry, or ``id#2``, ``id#3`` for later holders of the same id.
    ``textless`` holds the answers without text (only tool calls or thoughts, completed normally),
    ``continuations`` the entries that continue the answer of an earlier one, where an agent writes one answer
    as several entries: they are messages, but not answers of their own.

    ``parents`` is built on demand: nearly every entry is a child of the one before it, and
    :meth:`parent_position` is enough for paths and outlines.
    """

    __slots__ = (
        "_columns",
        "_first_child",
        "_heads",
        "_last_child",
        "_next_sibling",
        "_odd_parents",
        "_parents",
        "_quiet",
        "_seen",
        "_times",
        "_times_ahead",
        "continuations",
        "keys",
        "placeholders",
        "positions",
        "roles",
        "types",
    )

    def __init__(self) -> None:
        self._columns: TreeColumns | None = None
        self.keys: list[str] = []
        self.positions: dict[str, int] = {}
        self.types: list[str] = []
        self.roles: list[str | None] = []
        self._times: list[str] = []  # of the first entries; of those behind them:
        self._times_ahead: list[Iterable[str]] = []
        self._parents: list[int] = []  # of the first entries; of those behind them:
        self._odd_parents: dict[int, int] = {}  # parents that differ from position - 1
        self._quiet: set[int] = set()
        self.placeholders: set[int] = set()
        self.continuations: set[int] = set()
        self._first_child: list[int] | None = None
        self._last_child: dict[int, int] = {}
        self._next_sibling: list[int] = []
        self._heads: list[int] = []
        self._seen = 0  # entries that were checked for run starts

    def restore(self, columns: TreeColumns, odd_parents: dict[int, int]) -> None:
        """Become a tree with these columns; ``odd_parents`` are of entries not below the one before them."""
        self._columns = columns
        del self.keys, self.types, self.roles, self.positions, self._quiet
        # A class that fills unset slots: with `__getattr__` every attribute takes twice as long to read.
        self.__class__ = _StoredTree
        self._times_ahead.append(_Times(columns))
        self._odd_parents = odd_parents
        self._heads, self._seen = sorted(odd_parents), len(columns)

    # -- asking by position ---------------------------------------------------------------------------

    @property
    def parents(self) -> list[int]:
        column = self._parents
        if len(column) != len(self.types):
            column += range(len(column) - 1, len(self.types) - 1)
            for position, parent in self._odd_parents.items():
                column[position] = parent
            self._odd_parents.clear()
        return column

    def parent_position(self, position: int) -> int:
        """The position of the parent, or ROOT."""
        if position < len(self._parents):
            return self._parents[position]
        return self._odd_parents.get(position, position - 1)

    @property
    def textless(self) -> set[int]:
        return self._quiet

    @property
    def times(self) -> list[str]:
        """One for each entry. What was added as an iterable is iterated when this is first read."""
        if self._times_ahead:
            self._times += chain.from_iterable(self._times_ahead)
            self._times_ahead.clear()
        return self._times

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: object) -> bool:
        return key in self.positions

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)

    def position(self, key: str) -> int:
        """The position of an entry in file order."""
        try:
            if self._columns is not None and (found := self._columns.find(key)) is not None:
                return found
            return self.positions[key]
        except (KeyError, TypeError, AttributeError) as problem:
            if not isinstance(key, str | None):
                raise InvalidType(f"the id of an entry is a text, not {type(key).__name__}") from None
            if not isinstance(problem, KeyError):
                raise
            raise EntryNotFound(f"no entry named {key!r} in this session") from None

    def path_positions(self, position: int) -> list[int]:
        """The positions from a root down to this one."""
        walk: list[int] = []
        for stretch in reversed(self._stretches(position)):
            walk += stretch
        return walk

    def run_starts(self) -> list[int]:
        """The entries that are not children of the one before them, in file order. Not to be changed.

        Between two of them every entry is the child of the one before it.
        """
        size = len(self.types)
        if self._seen != size:
            new = range(self._seen, size)
            self._heads += compress(new, map(ne, self.parents[self._seen :], range(self._seen - 1, size - 1)))
            self._seen = size
        return self._heads

    def odd_parents(self) -> dict[int, int]:
        """The parents of the entries that are not children of the one before them, in file order."""
        return {position: self.parent_position(position) for position in self.run_starts()}

    def _stretches(self, position: int) -> list[range]:
        """The path to this position as stretches of neighbours, from its end to its root."""
        heads = self.run_starts()
        found = []
        while position != ROOT:
            # The parent of entry 0 is ROOT, which is 0 - 1, so that it is not a run start.
            number = bisect_right(heads, position)
            head = heads[number - 1] if number else 0
            found.append(range(head, position + 1))
            position = self.parent_position(head)
        return found

    def nearest_conversation_entry(self, position: int) -> int:
        """The nearest entry at or above that is part of the conversation; ROOT when there is none."""
        types, placeholders = self.types, self.placeholders
        while position != ROOT and (types[position] in SIDE_TYPES or position in placeholders):
            position = self.parent_position(position)
        return position

    def child_positions(self, position: int) -> list[int]:
        """The children oldest first: by time, in file order where times are equal or unreadable."""
        first = self._children()
        found = []
        child = first[position]
        while child != ROOT:
            found.append(child)
            child = self._next_sibling[child]
        if len(found) > 1:
            return self.oldest_first(found)
        return found

    def oldest_first(self, positions: list[int]) -> list[int]:
        """Sort siblings by time, keeping file order where times are equal or unreadable."""
        instants = [_instant(self.times[position]) for position in positions]
        if None in instants:
            # An unreadable time compares equal to every other, as in pi; as a key it would move to an end.
            by_time = cmp_to_key(_difference)
            order = sorted(range(len(positions)), key=lambda number: by_time(instants[number]))
        else:
            order = sorted(range(len(positions)), key=instants.__getitem__)  # type: ignore[arg-type]
        return [positions[number] for number in order]

    def root_positions(self) -> list[int]:
        """Every entry without a parent, in file order."""
        self._children()
        return [position for position, parent in enumerate(self.parents) if parent == ROOT]

    def tip_positions(self) -> list[int]:
        """Every entry without children, in file order."""
        first = self._children()
        return [position for position in range(len(self.keys)) if first[position] == ROOT]

    def newest_below(self, position: int) -> int:
        """The youngest conversation entry below a position (ROOT: of all); ROOT if there is none."""
        waiting = list(self.root_positions() if position == ROOT else self.child_positions(position))
        newest = ROOT
        while waiting:
            below = waiting.pop()
            if below > newest and self.nearest_conversation_entry(below) == below:
                newest = below
            waiting += self.child_positions(below)
        return newest

    # -- asking by id ---------------------------------------------------------------------------------

    def parent(self, key: str) -> str | None:
        """The id of the parent."""
        parent = self.parent_position(self.position(key))
        return None if parent == ROOT else self.keys[parent]

    def children(self, key: str | None) -> list[str]:
        """The ids of the children oldest first; of ``None`` the roots, in file order."""
        found = self.root_positions() if key is None else self.child_positions(self.position(key))
        return [self.keys[position] for position in found]

    def conversation_children(self, key: str | None) -> list[str]:
        """The nearest conversation entries below this one (or of the file, for None), oldest first."""
        found: list[int] = []
        waiting = self.root_positions() if key is None else self.child_positions(self.position(key))
        while waiting:
            position = waiting.pop()
            if self.types[position] in SIDE_TYPES:
                waiting += self.child_positions(position)
            else:
                found.append(position)
        return [self.keys[position] for position in self.oldest_first(sorted(found))]

    def roots(self) -> list[str]:
        return self.children(None)

    def path(self, key: str | None) -> list[str]:
        """The ids from a root to this entry, side records included."""
        if key is None:
            return []
        return [self.keys[position] for position in self.path_positions(self.position(key))]

    def conversation_path(self, key: str | None, limit: int | None = None) -> list[str]:
        """The ids from a root to this entry, side records left out; with a ``limit`` the last so many."""
        if key is None:
            return []
        if limit is not None:
            return list(islice(self._conversation_above(key), limit))[::-1]
        keys, types = self.keys, self.types
        path: list[str] = []
        for stretch in reversed(self._stretches(self.position(key))):
            part = slice(stretch.start, stretch.stop)
            # Most sessions begin with their longest stretch: its columns are copied once, or not at all.
            if SIDE_TYPES.isdisjoint(types[part] if stretch.start else islice(types, stretch.stop)):
                if path:
                    path += keys[part]
                else:
                    path = keys[part]
            else:
                beside = zip(keys[part], types[part], strict=True)
                path += [key for key, kind in beside if kind not in SIDE_TYPES]
        return path

    def _conversation_above(self, key: str) -> Iterator[str]:
        """The ids from this entry up to a root, side records left out."""
        position = self.position(key)
        while position != ROOT:
            if self.types[position] not in SIDE_TYPES:
                yield self.keys[position]
            position = self.parent_position(position)

    def ancestors(self, key: str) -> Iterator[str]:
        """From the parent up to the root."""
        position = self.parent_position(self.position(key))
        while position != ROOT:
            yield self.keys[position]
            position = self.parent_position(position)

    def common_ancestor(self, one: str | None, other: str | None) -> str | None:
        """The deepest entry on both paths, or None when they share nothing."""
        if one is None or other is None:
            return None
        on_path = set(self.path_positions(self.position(one)))
        position = self.position(other)
        while position != ROOT and position not in on_path:
            position = self.parent_position(position)
        return None if position == ROOT else self.keys[position]

    # -- growing --------------------------------------------------------------------------------------

    def add(
        self,
        key: str,
        parent: int,
        type: str,  # noqa: A002
        time: str | None = "",
        role: str | None = None,
        *,
        quiet: bool = False,
        placeholder: bool = False,
    ) -> int:
        """Append one entry and return its position. The parent must be in the tree already, or ROOT.

        Without a time (None), :meth:`extend_times` must follow before anything else asks for times.
        """
        position = len(self.keys)
        if parent != position - 1:
            self._odd_parents[position] = parent
        self.keys.append(key)
        self.positions[key] = position
        self.types.append(type)
        if time is None:
            pass
        elif self._times_ahead:
            self._times_ahead.append((time,))
        else:
            self._times.append(time)
        self.roles.append(role)
        if quiet:
            self._quiet.add(position)
        if placeholder:
            self.placeholders.add(position)
        if self._first_child is not None:
            self._hang(position, parent)
        return position

    def register_keys(self, keys: list[str]) -> bool:
        """Give many new keys their positions; False, and nothing done, when one is taken or repeated.

        :meth:`fill` must follow with the rest of these entries.
        """
        first = len(self.keys)
        self.keys += keys
        if self.register_pending_keys():
            return True
        del self.keys[first:]
        return False

    def register_pending_keys(self) -> bool:
        """Give the keys at the end that have none their positions; False, and nothing done, as above.

        Putting many at once into a large dictionary takes half the time of putting a few now and a few then.
        """
        first, size = len(self.positions), len(self.keys)
        self.positions.update(zip(self.keys[first:], range(first, size), strict=True))
        if len(self.positions) == size:
            return True
        self.positions = dict(zip(self.keys[:first], range(first), strict=True))
        return False

    def extend_columns(
        self,
        parents: list[int] | None,
        types: list[str],
        times: Iterable[str],
        roles: list[str | None],
        quiet: Iterable[int],
    ) -> None:
        """Add the columns of the last keys; without ``parents`` each is a child of the one before."""
        first = len(self.types)
        if parents is not None:
            self.parents.extend(parents)
        elif self._seen == first:
            self._seen += len(types)
        self.types += types
        self._times_ahead.append(times)
        self.roles += roles
        self._quiet.update(quiet)
        if self._first_child is not None:
            for position in range(first, len(self.types)):
                self._hang(position, self.parent_position(position))

    def link(self, first: int, odd_parents: dict[int, int]) -> None:
        """Link the entries from ``first`` on, whose keys, positions, types and roles are there already.

        Each is a child of the one before it, unless ``odd_parents`` says otherwise.
        """
        if first and len(self._parents) == first:
            self._parents += range(first - 1, len(self.keys) - 1)
            for position, parent in odd_parents.items():
                self._parents[position] = parent
        else:
            self._odd_parents.update(odd_parents)
        if self._first_child is not None:
            for position in range(first, len(self.keys)):
                self._hang(position, self.parent_position(position))

    def extend_times(self, times: Iterable[str]) -> None:
        """The times of the last entries, which were added without one; iterated when they are needed."""
        self._times_ahead.append(times)

    def rename(self, position: int, key: str) -> None:
        """Give an entry another key; its old one is free."""
        del self.positions[self.keys[position]]
        self.keys[position] = key
        self.positions[key] = position

    def relink(self, position: int, parent: int) -> None:
        """Change the parent of an entry whose parent appeared later in the file."""
        self.parents[position] = parent
        self._first_child = None
        self._heads, self._seen = [], 0

    def relink_all(self, parents: dict[int, int]) -> None:
        """Change the parents of many entries, given by position."""
        if not parents:
            return
        column, seen = self._parents, self._seen
        for position, parent in parents.items():
            if position < len(column):
                column[position] = parent
            else:
                self._odd_parents[position] = parent
        self._first_child = None
        heads = set(self._heads).difference(parents)
        heads.update(at for at, parent in parents.items() if at < seen and parent != at - 1)
        self._heads = sorted(heads)

    def relinked(self, parents: dict[int, int]) -> Tree:
        """Return a tree of the same entries in which these have other parents, given by position."""
        tree = Tree()
        tree.keys, tree.positions, tree.types, tree.roles = self.keys, self.positions, self.types, self.roles
        tree._times, tree._quiet = self.times, self.textless
        tree.placeholders, tree.continuations = self.placeholders, self.continuations
        tree._parents = list(self.parents)
        for position, parent in parents.items():
            tree._parents[position] = parent
        return tree

    def _hang(self, position: int, parent: int) -> None:
        assert self._first_child is not None
        self._first_child.append(ROOT)
        self._next_sibling.append(ROOT)
        if parent == ROOT:
            return
        if self._first_child[parent] == ROOT:
            self._first_child[parent] = position
            return
        last = self._last_child.get(parent)
        if last is None:
            last = self._first_child[parent]
            while (following := self._next_sibling[last]) != ROOT:
                last = following
        self._next_sibling[last] = self._last_child[parent] = position

    def _children(self) -> list[int]:
        """Child links, built on first use: most sessions are opened to append or to read a path."""
        if self._first_child is None:
            size = len(self.keys)
            first = [ROOT] * (size + 1)  # one more, so that parent ROOT (-1) needs no test
            following = [ROOT] * size
            parents = self.parents
            for position in range(size - 1, -1, -1):
                parent = parents[position]
                following[position] = first[parent]
                first[parent] = position
            first.pop()
            self._last_child.clear()
            self._first_child, self._next_sibling = first, following
        return self._first_child


class _StoredTree(Tree):
    """A tree whose columns are loaded when they are first read."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        columns = self._columns
        assert columns is not None
        match name:
            case "keys" | "types" | "roles":
                loaded: Any = getattr(columns, name)()
            case "_quiet":
                loaded = columns.textless()
            case "positions":
                loaded = dict(zip(self.keys, range(len(columns)), strict=False))  # later keys may wait
            case _:
                raise AttributeError(f"Tree has no attribute {name!r}")
        setattr(self, name, loaded)
        return loaded


class _Times:
    """The times of stored columns, loaded when they are iterated over."""

    def __init__(self, columns: TreeColumns) -> None:
        self._columns = columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.times())


def _instant(time: str) -> float | None:
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError):
        return None


def _difference(one: float | None, other: float | None) -> int:
    if one is None or other is None:
        return 0
    return (one > other) - (one < other)
