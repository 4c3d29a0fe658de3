"""The forest of sessions: each session below the one it was forked from, exactly once.

The sessions may come from several agents. A parent is named by a path or an id, which may be wrong: the
parent may be missing or moved, share its id with others, or be a descendant. A session with a missing parent
becomes a root; a cycle is cut at its oldest session.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import overload

import msgspec

from branchline.formats.suffixes import without_suffix
from branchline.tree import ROOT, Linker, Tree
from branchline.views.session_row import SessionRow, latest_first

__all__ = ["Forest", "ForestRow", "build_forest", "drawn_branches"]


_UNIQUE = 32  # least length of a random id
_SELF = "it names itself as its parent"
_RING = "part of a parent cycle; the cycle is cut here"


class ForestRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A session in the forest. ``note`` explains an unusual position."""

    row: SessionRow
    depth: int
    parent: str | None = None
    """The key of the session above."""
    children: int = 0
    last: bool = True
    """Whether it is the last of its siblings."""
    active_ms: int = 0
    """The latest activity in this session and those below it."""
    note: str | None = None
    parent_path: str | None = None
    """The path of the session above; unlike keys, paths are unique across agents."""


class Forest(Sequence[ForestRow]):
    """The rows depth first; siblings, and roots, by the latest activity anywhere below them."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Iterable[ForestRow] = ()) -> None:
        self._rows = tuple(rows)

    @property
    def roots(self) -> tuple[ForestRow, ...]:
        return tuple(row for row in self._rows if row.depth == 0)

    def children(self, key: str) -> tuple[ForestRow, ...]:
        return tuple(row for row in self._rows if row.parent == key)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[ForestRow]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> ForestRow: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ForestRow, ...]: ...
    def __getitem__(self, index: int | slice) -> ForestRow | tuple[ForestRow, ...]:
        return self._rows[index]

    def __repr__(self) -> str:
        return f"<Forest of {len(self)} sessions, {len(self.roots)} roots>"


def build_forest(rows: Iterable[SessionRow], *, resolve: Callable[[str], str] = posixpath.normpath) -> Forest:
    """Build the forest of these rows. ``resolve`` normalizes paths."""
    # Oldest first: of several sessions with one id, the oldest is the parent, and the linker cuts a cycle at
    # the member that it saw first.
    ordered = sorted(rows, key=lambda row: (row.created or "", row.active_ms, row.key))
    parents, notes = _Parents(ordered, resolve).find()
    tree = Tree()
    linker = Linker(tree)
    for number, parent in enumerate(parents):
        linker.add(str(number), None if parent == ROOT else str(parent), type="session")
    linker.resolve()
    for oddity in linker.findings():
        notes[oddity.position] = _SELF if oddity.kind == "self-parent" else _RING
    return Forest(_rows(ordered, tree, notes))


def drawn_branches(forest: Iterable[ForestRow]) -> Iterator[str]:
    """Yield the connectors before each row."""
    following: list[bool] = []  # for each level above, whether a sibling still follows
    for item in forest:
        del following[item.depth :]
        drawn = "".join("│  " if more else "   " for more in following[1:])
        yield drawn + ("" if not item.depth else "└─ " if item.last else "├─ ")
        following.append(not item.last)


def _rows(ordered: list[SessionRow], tree: Tree, notes: dict[int, str]) -> Iterator[ForestRow]:
    children: dict[int, list[int]] = {}
    for number, parent in enumerate(tree.parents):
        children.setdefault(parent, []).append(number)
    latest = _latest_below(ordered, tree.parents)
    for group in children.values():
        # Reversed, because a stack pops the last one.
        group.sort(key=lambda number: (-latest[number], *latest_first(ordered[number])), reverse=True)
    waiting = [(number, 0) for number in children.get(ROOT, ())]
    left = {parent: len(group) for parent, group in children.items()}
    while waiting:
        number, depth = waiting.pop()
        parent = tree.parents[number]
        left[parent] -= 1
        below = children.get(number, ())
        yield ForestRow(
            row=ordered[number],
            depth=depth,
            parent=None if parent == ROOT else ordered[parent].key,
            children=len(below),
            last=left[parent] == 0,
            active_ms=latest[number],
            note=notes.get(number),
            parent_path=None if parent == ROOT else ordered[parent].path,
        )
        waiting += [(child, depth + 1) for child in below]


def _latest_below(ordered: list[SessionRow], parents: list[int]) -> list[int]:
    """The latest activity in each subtree, computed from the leaves up."""
    latest = [row.active_ms for row in ordered]
    waiting_for = [0] * len(ordered)
    for parent in parents:
        if parent != ROOT:
            waiting_for[parent] += 1
    ready = [number for number, count in enumerate(waiting_for) if count == 0]
    while ready:
        number = ready.pop()
        parent = parents[number]
        if parent != ROOT:
            latest[parent] = max(latest[parent], latest[number])
            waiting_for[parent] -= 1
            if waiting_for[parent] == 0:
                ready.append(parent)
    return latest


class _Parents:
    """Finds the session that a row names as its parent."""

    def __init__(self, ordered: list[SessionRow], resolve: Callable[[str], str]) -> None:
        self._rows = ordered
        self._resolve = resolve
        self._ids: dict[str, list[int]] = {}
        self._best: dict[tuple[str, str | None], list[int]] = {}
        self._tails: dict[str, int] = {}
        self._paths: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        for number, row in enumerate(ordered):
            self._ids.setdefault(row.id, []).append(number)
            self._keys.setdefault(row.key, number)
            self._tails.setdefault(row.key.rpartition("_")[2], number)
            if row.path is not None:
                self._paths.setdefault(row.path, number)
                self._paths.setdefault(resolve(row.path), number)

    def find(self) -> tuple[list[int], dict[int, str]]:
        """Return the parent of each row by number (ROOT without one), and notes on some of them."""
        parents: list[int] = []
        notes: dict[int, str] = {}
        for number, row in enumerate(self._rows):
            parent = ROOT
            if (same := len(self._ids[row.id])) > 1:
                notes[number] = f"{same} sessions have the id {row.id}"
            if row.parent_session:
                found = self._named(row.parent_session, number)
                if found is None:
                    notes[number] = f"its parent {row.parent_session} is not here"
                else:
                    parent = found
            parents.append(parent)
        return parents, notes

    def _named(self, name: str, child: int) -> int | None:
        if (found := self._with_id(name, child)) is not None or (found := self._paths.get(name)) is not None:
            return found
        if "/" not in name and "\\" not in name:
            # Later rollouts of a Codex thread have an id that only the file name contains.
            return self._keys.get(_stem(name), self._tails.get(name))
        if (found := self._paths.get(self._resolve(name))) is not None:
            return found
        # The folder may have moved; a file name with an id still identifies the session.
        found = self._keys.get(_stem(name.replace("\\", "/").rpartition("/")[2]))
        return found if found is not None and _is_named_after_id(self._rows[found]) else None

    def _with_id(self, name: str, child: int) -> int | None:
        """The session with this id: not the child itself and of the same agent, if possible.

        Of several, the file named after the id is preferred, then the oldest.
        """
        if name not in self._ids:
            return None
        rows, agent = self._rows, self._rows[child].agent
        best = self._best.get((name, agent))
        if best is None:
            best = self._best[name, agent] = sorted(
                self._ids[name],
                key=lambda one: (rows[one].agent != agent, not rows[one].key.endswith(name)),
            )[:2]
        return best[1] if best[0] == child and len(best) > 1 else best[0]


def _stem(name: str) -> str:
    """A file name without its extension."""
    return without_suffix(name.removesuffix(".zst"))


def _is_named_after_id(row: SessionRow) -> bool:
    """Whether the file name identifies the session."""
    return row.key.endswith(("_" + row.id, "-" + row.id)) or (row.key == row.id and len(row.id) >= _UNIQUE)
