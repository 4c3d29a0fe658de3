"""Distinguishes rewinds from recording artefacts: sorts the records of a file into lines.

Nearly every record with several children is an artefact of recording: parallel calls, hook output, a tail
that was skipped on resume. The rules here rule out or join such children; only remaining ones that begin with
a prompt are branches. Within a line records are in file order, and none is lost.

Every pass is a loop over all records, so the cost does not depend on the shape of the tree.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from branchline.formats.claude_code.kinds import (
    ANSWER,
    ASIDE,
    COMMAND,
    ERROR,
    HUMAN,
    MICRO,
    QUEUED,
    RESULT,
    RESUMED,
    WRAPPER,
)
from branchline.tree import ROOT

__all__ = ["BranchLines", "BranchPoint", "RowFacts", "sort_into_branches"]

_NEVER = 1 << 62
_ANSWERS = frozenset({ANSWER, ERROR})
_LOCAL = frozenset({COMMAND, WRAPPER})


class RowFacts(NamedTuple):
    """Facts about every record, by position."""

    kinds: Sequence[int]
    times: Sequence[str]
    marks: Sequence[int]
    """Text fingerprints: equal texts have equal numbers."""
    calls: Mapping[int, str]
    """The ids of an answer's calls, or of the calls that a results record answers, one per line."""
    exact: Container[int] = ()
    """Records with exact links: several of them below one record are separate branches."""


class BranchPoint(NamedTuple):
    """A record that was rewound to, and the first record of each branch."""

    position: int
    branches: list[int]


class BranchLines(NamedTuple):
    """The records of a file as lines, each in file order."""

    line_of: dict[int, int]
    """The index of the line that contains a record."""
    members: list[list[int]]
    """The records of each line."""
    above: list[int]
    """The line that each line branches off from, or ROOT."""
    points: list[BranchPoint]
    copies: dict[int, int]
    """Records that repeat an earlier one, mapped to it."""
    starts: list[int]
    """Roots with a conversation below them."""
    unresolved: list[int]
    """Records whose children matched no rule; treated as one line."""

    def newest_ends(self) -> list[int]:
        """Return, for each line, the end of the most recently written branch below it, or its own end."""
        ends = [members[-1] for members in self.members]
        newest: dict[int, int] = {}  # the last record on the branches of a line
        for number in range(len(ends) - 1, -1, -1):  # a line has a greater index than the one above it
            above, last = self.above[number], max(self.members[number][-1], newest.get(number, ROOT))
            if above != ROOT and last > newest.get(above, ROOT):
                newest[above] = last
                ends[above] = ends[number]
        return ends


class _Group(NamedTuple):
    """Children that continue together."""

    children: list[int]
    first: int
    """The first record in them that shows how they start, or _NEVER."""
    asks: bool
    """Whether they start with a prompt."""
    carries: bool
    """Whether they contain conversation beyond the continuation after a resume."""


def sort_into_branches(nodes: Sequence[int], parents: Mapping[int, int], facts: RowFacts) -> BranchLines:
    """Sort records, given in file order with parents among them (or ROOT) and without cycles."""
    children: dict[int, list[int]] = {}
    for node in nodes:
        children.setdefault(parents[node], []).append(node)
    order = _top_down(children)
    copies = _merge_copies(order, children, facts) if len(children) < len(nodes) else {}
    sums = _Sums(order, parents, copies, facts)
    lines = BranchLines({}, [], [], [], copies, [], [])
    for root in children.get(ROOT, ()):
        lines.line_of[root] = _new_line(lines, ROOT)
        if sums.speaks[root]:
            lines.starts.append(root)
    for node in order:
        line = lines.line_of[node]
        below = children.get(node)
        if not below:
            continue
        branches = []
        if len(below) > 1:
            exact = [child for child in below if child in facts.exact]
            rest = _without(below, exact)
            branches = [_Group([child], child, asks=True, carries=True) for child in exact]
            if len(rest) > 1 or (rest and not exact):
                branches += _branches(node, rest, facts, sums, lines.unresolved)
            if exact and len(branches) == len(exact) and rest:
                branches.append(_Group(rest, rest[0], asks=True, carries=True))
        for child in below:
            lines.line_of[child] = line
        for group in branches:
            number = _new_line(lines, line)
            for child in group.children:
                lines.line_of[child] = number
        if branches:
            lines.points.append(BranchPoint(node, [group.children[0] for group in branches]))
    for copy, original in copies.items():
        lines.line_of[copy] = lines.line_of[original]
    for node in nodes if _is_in_order(nodes, parents) else _parents_first(nodes, parents):
        lines.members[lines.line_of[node]].append(node)
    return lines


def _is_in_order(nodes: Sequence[int], parents: Mapping[int, int]) -> bool:
    return all(map(int.__lt__, map(parents.__getitem__, nodes), nodes))


def _parents_first(nodes: Sequence[int], parents: Mapping[int, int]) -> list[int]:
    """Return the records in file order, but each after its parent.

    Claude Code 2.1.197 can write the first prompt of a session after its answer.
    """
    order: dict[int, None] = {}
    for node in nodes:
        above = []
        while node != ROOT and node not in order:
            above.append(node)
            node = parents[node]  # noqa: PLW2901
        order.update(dict.fromkeys(reversed(above)))
    return list(order)


def _new_line(lines: BranchLines, above: int) -> int:
    lines.members.append([])
    lines.above.append(above)
    return len(lines.above) - 1


def _top_down(children: Mapping[int, list[int]]) -> list[int]:
    """Return the records so that each follows its parent."""
    order = list(children.get(ROOT, ()))
    for node in order:  # the list grows while it is walked
        if below := children.get(node):
            order += below
    return order


def _merge_copies(order: list[int], children: dict[int, list[int]], facts: RowFacts) -> dict[int, int]:
    """Find children that repeat an earlier sibling; the copy's children move to the first one."""
    copies: dict[int, int] = {}
    for node in (ROOT, *order):
        below = children.get(node)
        if not below or len(below) < 2 or node in copies:
            continue
        seen: dict[tuple[object, ...], int] = {}
        kept = []
        grown = set()
        for child in below:
            original = child
            if (key := _identity(child, facts)) is not None:
                original = seen.setdefault(key, child)
            if original == child:
                kept.append(child)
                continue
            copies[child] = original
            if more := children.pop(child, None):
                children.setdefault(original, []).extend(more)
                grown.add(original)
        for original in grown:
            children[original].sort()
        if len(kept) < len(below):
            children[node] = kept
    if copies:
        order[:] = _top_down(children)
    return copies


def _identity(node: int, facts: RowFacts) -> tuple[object, ...] | None:
    """Return a key that a record shares with its replay; None if it cannot be one."""
    kind, time = facts.kinds[node], facts.times[node]
    if node in facts.exact or kind <= MICRO or kind in (QUEUED, ASIDE) or not time:
        return None
    ids = facts.calls.get(node, "")
    if kind == RESULT and not ids:
        return None
    return time, kind, facts.marks[node], ids


class _Sums:
    """Aggregates over each record and its descendants."""

    def __init__(
        self, order: list[int], parents: Mapping[int, int], copies: Mapping[int, int], facts: RowFacts
    ) -> None:
        kinds = facts.kinds
        self.first: dict[int, int] = {}
        self.real: dict[int, bool] = {}
        self.speaks: dict[int, bool] = {}
        self.commands = {ROOT: 0}
        first, real, speaks, commands = self.first, self.real, self.speaks, self.commands
        for node in order:
            kind = kinds[node]
            above = parents[node]
            commands[node] = commands[copies.get(above, above)] + (kind == COMMAND)
            first[node] = node if HUMAN <= kind < ASIDE else _NEVER
            real[node] = kind == ANSWER
            speaks[node] = kind > MICRO and kind != QUEUED
        for node in reversed(order):
            above = parents[node]
            above = copies.get(above, above)
            if above == ROOT:
                continue
            first[above] = min(first[above], first[node])
            if real[node]:
                real[above] = True
            if speaks[node]:
                speaks[above] = True


def _branches(
    node: int, below: list[int], facts: RowFacts, sums: _Sums, unresolved: list[int]
) -> list[_Group]:
    """Return the branches at a record with several children; empty if they are a single line."""
    kinds = facts.kinds
    waiting = [child for child in below if kinds[child] > MICRO or sums.speaks[child]]  # rule 2

    def group(children: list[int]) -> _Group:
        first = min(sums.first[child] for child in children)
        kind = -1 if first == _NEVER else kinds[first]
        asks = kind == HUMAN or (kind in _ANSWERS and sums.commands[first] > sums.commands[node])
        real = any(sums.real[child] for child in children)
        carries = asks or ((kind in _ANSWERS or kind == RESULT) and real)
        return _Group(children, first, asks, carries)

    lines: list[list[int]] = []
    if kinds[node] in _ANSWERS and (calls := facts.calls.get(node)):  # rule 3
        asked = set(calls.split("\n"))
        own = [
            child
            for child in waiting
            if kinds[child] in _ANSWERS
            or (kinds[child] == RESULT and not asked.isdisjoint(facts.calls.get(child, "").split("\n")))
        ]
        lines = [own] if own else []
        waiting = _without(waiting, own)
    passing = [child for child in waiting if kinds[child] <= MICRO]
    if sum(group([child]).carries for child in passing) == 1:  # rule 4
        lines = [sorted([*passing, *(child for line in lines for child in line)])]
        waiting = _without(waiting, passing)
    local = [child for child in waiting if kinds[child] in _LOCAL]  # rule 6
    if len(local) > 1:
        lines.append(local)
        waiting = _without(waiting, local)
    lines += [[child] for child in waiting]
    lines.sort()
    groups: list[_Group] = []
    for line in lines:
        this = group(line)
        if groups and this.first != _NEVER and kinds[this.first] == RESUMED:  # rule 5
            groups[-1] = group(groups[-1].children + line)
        else:
            groups.append(this)
    carrying = [one for one in groups if one.carries]
    if len(carrying) > 1 and any(one.asks for one in carrying):  # rule 7
        return carrying
    if len(groups) > 1:  # rule 8
        unresolved.append(node)
    return []


def _without(children: list[int], some: list[int]) -> list[int]:
    taken = set(some)
    return [child for child in children if child not in taken]
