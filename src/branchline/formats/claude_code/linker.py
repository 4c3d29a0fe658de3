"""Links records into a tree and merges false branches into one line.

In a healthy file nearly every record names the previous one as its parent, so records are appended to the
previous one. Only a file that contains any other link is sorted as a whole after reading. The parent of a
record is:

- the record that ``parentUuid`` names; if that is null, the one that ``logicalParentUuid`` names;
- for a compaction boundary with neither, as after a fork of the session: the previous record in the file;
- if the named parent is missing, or is the record itself: the previous record, reported as a broken link;
- if it names none: the record is a root. But an answer or a result cannot start a conversation; it becomes a
  child of the previous record, and this is reported;
- a cycle is cut at its first record, which then counts as a broken link. A cycle that a boundary closes
  through ``logicalParentUuid`` is cut at that boundary and not reported.

Sub-agent records (sidechains) in their parent's file are separate trees. A second root with a conversation
below it is a cleared context: it continues the previous conversation after an entry that marks this and
shares the line of the root. A root that the reader adds without such a mark is a rewind to the start, and so
a branch.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise
from typing import NamedTuple

from branchline.formats.claude_code.kinds import (
    ANSWER,
    ASIDE,
    BOOKKEEPING,
    BOUNDARY,
    CLEARED,
    ERROR,
    RESULT,
    RESUMED,
)
from branchline.formats.claude_code.rewinds import BranchLines, BranchPoint, RowFacts, sort_into_branches
from branchline.formats.saved_attributes import SavedAttributes
from branchline.tree import ROOT, Kind, Linker, LinkFinding, Tree
from branchline.tree.linker import cycles

__all__ = ["ClaudeCodeLinker"]

_FOLLOWS = frozenset({ANSWER, ERROR, RESULT, RESUMED})


class _RowShape(NamedTuple):
    type: str
    role: str | None


class _StartMark(NamedTuple):
    """The entry before a possible start, and the record before that in the file."""

    position: int
    before: int


class ClaudeCodeLinker(Linker):
    """Adds records in file order; :meth:`settle` sorts them into lines if necessary."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self.kinds: list[int] = []
        self.marks: list[int] = []
        self.calls: dict[int, str] = {}
        """The ids of an answer's calls, or of the calls that results answer, one per line."""
        self.sidechain: set[int] = set()
        self.exact: set[int] = set()
        """Records written by branchline: each is a child of the record it names, without further rules."""
        self.points: list[BranchPoint] = []
        self.starts: list[int] = []
        self.copies: dict[int, int] = {}
        self.is_excerpt = False
        """Whether this is a sub-agent's file, which may hold excerpts of a longer conversation."""
        self._named: list[str | None] = []
        self._logical: dict[int, str] = {}
        # without a uuid, or a further entry of one record: linked to the last one
        self._attached: set[int] = set()
        self._last_entry: dict[int, int] = {}  # of records that became several entries
        self._last = [ROOT, ROOT]  # of the main conversation, of sub-agents
        self._last_uuid = ""
        self._regular = True
        self._changed = False
        self._resolved = 0  # number of entries that are linked
        self._unsorted = False
        self._hidden: dict[int, _RowShape] = {}
        self._start_marks: dict[int, _StartMark] = {}  # by the record that may be a start
        self._lines: BranchLines | None = None
        self._repeated: list[LinkFinding] = []
        self._links: list[LinkFinding] = []

    @property
    def is_regular(self) -> bool:
        return False  # links in the file and in the tree differ here

    @property
    def is_plain(self) -> bool:
        return True  # everything that is known of the links is saved

    @property
    def unusual_names(self) -> dict[int, str | None]:
        """The parents that records name, if they differ from the previous entry."""
        before = [None, *self.tree.keys]
        return {
            position: named
            for position, (named, usual) in enumerate(zip(self._named, before, strict=False))
            if named != usual
        }

    @unusual_names.setter
    def unusual_names(self, names: dict[int, str | None]) -> None:
        self._named = [None, *self.tree.keys][: len(self.kinds)]  # the tree may have grown since
        for position, named in names.items():
            self._named[position] = named

    @property
    def needs_sorting(self) -> bool:
        """Whether records must be sorted into lines again, which are not saved."""
        return not self._regular

    @needs_sorting.setter
    def needs_sorting(self, value: bool) -> None:
        self._unsorted = value

    def save(self) -> bytes:
        """Return the state beyond the tree, for :meth:`continue_from`."""
        return _SAVED.dump(self)

    def continue_from(self, saved: bytes) -> None:
        """Continue with a restored tree; records are sorted into lines again if necessary."""
        _SAVED.defer(self, saved)

    # -- taking records -------------------------------------------------------------------------------

    def add_record(
        self,
        key: str,
        named: str | None,
        kind: int,
        *,
        type: str,  # noqa: A002
        time: str,
        role: str | None,
        quiet: bool = False,
        logical: str | None = None,
        mark: int = 0,
        sidechain: bool = False,
        attached: bool = False,
        placeholder: bool = False,
    ) -> int:
        """Add a record of the tree; its key must be unused."""
        tree = self.tree
        before = self._last[sidechain]
        if sidechain:
            self._regular = False
        elif attached:
            pass
        elif before == ROOT:
            self._regular = self._regular and named is None and logical is None
        elif named is None or named != self._last_uuid:
            self._regular = False
        position = tree.add(
            key, before, type=type, time=time, role=role, quiet=quiet, placeholder=placeholder
        )
        self.kinds.append(kind)
        self.marks.append(mark)
        self._named.append(named)
        if logical is not None:
            self._logical[position] = logical
        if sidechain:
            self.sidechain.add(position)
        if attached:
            self._attached.add(position)
        self._last[sidechain] = position
        if not (attached or sidechain):
            self._last_uuid = key
        self._changed = True
        return position

    def add_stretch(
        self,
        uuids: list[str],
        named: list[str | None],
        kinds: list[int],
        *,
        types: list[str],
        times: list[str],
        roles: list[str | None],
        quiet: list[int],
        marks: list[int],
    ) -> None:
        """Add many records of the main conversation whose keys are registered in the tree."""
        tree = self.tree
        first, before = len(tree.parents), self._last[False]
        expected: list[str | None] = [None if before == ROOT else self._last_uuid, *uuids[:-1]]
        self._regular = self._regular and named == expected
        tree.extend_columns([before, *range(first, first + len(uuids) - 1)], types, times, roles, quiet)
        self.kinds += kinds
        self.marks += marks
        self._named += named
        self._last[False] = len(tree.parents) - 1
        self._last_uuid = uuids[-1]
        self._changed = True

    def add_entry(self, first: int, key: str, kind: int, *, type: str, role: str | None) -> int:  # noqa: A002
        """Add another entry for the record whose first entry is at ``first``."""
        position = self.add_record(
            key,
            None,
            kind,
            type=type,
            time=self.tree.times[first],
            role=role,
            sidechain=first in self.sidechain,
            attached=True,
        )
        self._last_entry[first] = position
        return position

    @property
    def has_begun(self) -> bool:
        """Whether the main conversation has a record."""
        return self._last[False] != ROOT

    def add_start_mark(self, uuid: str, *, time: str) -> None:
        """Add the entry that marks a cleared context, if the next record is a start."""
        position = self.add_aside(self.free_key(f"{uuid}.cleared"), type="custom", time=time)
        self._start_marks[position + 1] = _StartMark(position, self._last[False])

    def is_start_mark(self, position: int) -> bool:
        """Return whether this entry precedes a record that may be a start."""
        mark = self._start_marks.get(position + 1)
        return mark is not None and mark.position == position

    def add_aside(self, key: str, *, type: str, time: str) -> int:  # noqa: A002
        """Add a metadata record below the previous record, outside the conversation."""
        position = self.tree.add(key, self._last[False], type=type, time=time)
        self.kinds.append(ASIDE)
        self.marks.append(0)
        self._named.append(None)
        return position

    def add_repeated(self, uuid: str, *, time: str) -> int:
        """Add a record whose uuid was used before: kept outside the conversation and reported."""
        key = self._next_key(uuid)
        position = self.add_aside(key, type="custom", time=time)
        message = f"the uuid {uuid} was used before; the record is kept as {key}"
        self._repeated.append(LinkFinding(position, "duplicate-id", message))
        return position

    def add(
        self,
        entry_id: str,
        parent_id: str | None,
        *,
        type: str,  # noqa: A002
        time: str = "",
        role: str | None = None,
        quiet: bool = False,
        placeholder: bool = False,
        after_gap: bool = False,
    ) -> int:
        """Add a placeholder for an unreadable line."""
        del after_gap
        if entry_id in self.tree.positions:
            return self.add_aside(self._next_key(entry_id), type=type, time=time)
        return self.add_record(
            entry_id,
            parent_id,
            BOOKKEEPING,
            type=type,
            time=time,
            role=role,
            quiet=quiet,
            placeholder=placeholder,
        )

    def free_key(self, key: str) -> str:
        """Return the key, with a number appended if it is in use."""
        return self._next_key(key) if key in self.tree.positions else key

    # -- the whole ------------------------------------------------------------------------------------

    def resolve(self) -> None:
        if not self._changed:
            return
        self._changed = False
        first, self._resolved = self._resolved, len(self.kinds)
        if self._regular:
            start = next((place for place, kind in enumerate(self.kinds) if kind != ASIDE), ROOT)
            speaks = any(BOUNDARY + 1 < kind < ASIDE for kind in set(self.kinds))
            self.starts = [start] if speaks else []
        elif first and self._are_exact(first):
            self._link_exact(first)
            self._unsorted = True
        else:
            self._resolve_all()

    def _are_exact(self, first: int) -> bool:
        """Return whether all records from ``first`` on have exact links, as in files being written here."""
        return all(
            kind == ASIDE or place in self.exact for place, kind in enumerate(self.kinds[first:], first)
        )

    def _link_exact(self, first: int) -> None:
        """Link new records to the ones they name; sorting the whole file each time would be slow."""
        tree = self.tree
        for position in range(first, len(self.kinds)):
            if self.kinds[position] == ASIDE:
                continue
            named = self._named[position] or self._logical.get(position)
            parent = ROOT if named is None else self._record(named)
            if parent < position and tree.parents[position] != parent:
                tree.relink(position, parent)

    def _resolve_all(self) -> None:
        self._unsorted = False
        tree = self.tree
        for position, place in self._hidden.items():
            tree.types[position], tree.roles[position] = place
        self._hidden.clear()
        self._links.clear()
        records = [place for place, kind in enumerate(self.kinds) if kind != ASIDE]
        main = [place for place in records if place not in self.sidechain]
        self._lines = lines = self._sort(main, self._parents(main))
        self.points, self.starts, self.copies = lines.points, lines.starts, dict(lines.copies)
        self._join_starts(lines)
        for position in lines.unresolved:
            message = (
                f"the children of {tree.keys[position]} are not a known kind of rewind; shown as one branch"
            )
            self._links.append(LinkFinding(position, "unknown", message))
        if self.sidechain:
            side = [place for place in records if place in self.sidechain]
            self.copies |= self._sort(side, self._side_parents(side)).copies
        for position in self.copies:
            self._hidden[position] = _RowShape(tree.types[position], tree.roles[position])
            tree.types[position], tree.roles[position] = "custom", None

    def _join_starts(self, lines: BranchLines) -> None:
        """Make every start after the first continue the newest line of the previous start."""
        tree = self.tree
        for mark, before in self._start_marks.values():
            tree.types[mark] = "custom"
            tree.relink(mark, before)
        joined = [pair for pair in pairwise(lines.starts) if pair[1] in self._start_marks]
        if not joined:
            return
        ends = lines.newest_ends()
        for before, start in joined:
            mark = self._start_marks[start].position
            tree.types[mark] = CLEARED
            tree.relink(mark, ends[lines.line_of[before]])
            tree.relink(start, mark)

    def line_end(self, position: int) -> int:
        """Return the last record of the line that contains a record."""
        if self._unsorted:
            self._resolve_all()
        if self._regular or self._lines is None:
            return self._last[False]
        line = self._lines.line_of.get(position)
        return position if line is None else self._lines.members[line][-1]

    def newest_below(self, position: int, kinds: Container[int]) -> int:
        """Return the end of the newest line at or below a record, of these kinds; itself if there is none."""
        if self._unsorted:
            self._resolve_all()
        if self._regular or self._lines is None:
            below = [list(range(position, len(self.kinds)))]
        else:
            lines = self._lines
            own = lines.line_of.get(position, ROOT)
            if own == ROOT:
                return position
            inside = {own}
            for number in range(own + 1, len(lines.above)):  # a line follows the one that it branches off
                if lines.above[number] in inside:
                    inside.add(number)
            start = lines.members[own].index(position)
            below = [lines.members[number][start if number == own else 0 :] for number in inside]
        ends = [
            [node for node in members if self.kinds[node] in kinds and node not in self.copies]
            for members in below
        ]
        return max(filter(None, ends), key=max, default=[position])[-1]

    def findings(self) -> list[LinkFinding]:
        return sorted([*self._repeated, *self._links], key=lambda oddity: oddity.position)

    def _sort(self, nodes: list[int], parents: dict[int, int]) -> BranchLines:
        """Sort records into lines, each linked to the previous one in its line."""
        tree = self.tree
        facts = RowFacts(self.kinds, tree.times, self.marks, self.calls, self.exact)
        lines = sort_into_branches(nodes, parents, facts)
        for members, above in zip(lines.members, lines.above, strict=True):
            before = ROOT if above == ROOT else lines.members[above][-1]
            for node in members:
                if tree.parents[node] != before:
                    tree.relink(node, before)
                before = node
        return lines

    def _parents(self, nodes: list[int]) -> dict[int, int]:
        parents: dict[int, int] = {}
        forward = False
        before = ROOT
        for node in nodes:
            named = self._named[node]
            if node in self._attached:
                parents[node] = before
            elif named is not None:
                found = self._record(named)
                if found in (ROOT, node):
                    kind: Kind = "self-parent" if found == node else "guessed-link"
                    what = "names itself" if found == node else f"names {named}, which is not in the file,"
                    parents[node] = self._break(node, before, kind, what)
                else:
                    parents[node] = found
                    forward = forward or found > node
            else:
                parents[node] = found = self._names_no_parent(node, before)
                forward = forward or found > node
            before = node
        if forward:
            self._cut_cycles_in(nodes, parents)
        return parents

    def _names_no_parent(self, node: int, before: int) -> int:
        """Return the parent of a record that names none."""
        kind = self.kinds[node]
        logical = self._logical.get(node)
        if logical is not None and (found := self._record(logical)) not in (ROOT, node):
            return found
        if kind == BOUNDARY:
            return before
        if before == ROOT or kind not in _FOLLOWS or node in self.exact:
            return ROOT
        return self._break(node, before, "guessed-link", "cannot start a conversation but names no parent")

    def _continues(self, node: int) -> bool:
        """Return whether a record is a boundary that names only the record that it continues."""
        return self.kinds[node] == BOUNDARY and self._named[node] is None and node in self._logical

    def _record(self, uuid: str) -> int:
        """Return the last entry of the main-conversation record with this uuid."""
        found = self.tree.positions.get(uuid, ROOT)
        if found == ROOT or self.kinds[found] == ASIDE or found in self.sidechain:
            return ROOT
        return self._last_entry.get(found, found)

    def _break(self, node: int, before: int, kind: Kind, what: str) -> int:
        keys = self.tree.keys
        if self.is_excerpt and kind == "guessed-link":
            return before
        if before == ROOT:
            message = f"{keys[node]} {what} as its parent; shown as a root"
            self._links.append(LinkFinding(node, "orphan" if kind == "guessed-link" else kind, message))
        else:
            message = f"{keys[node]} {what} as its parent; linked to {keys[before]}, the record before it"
            self._links.append(LinkFinding(node, kind, message))
        return before

    def _side_parents(self, nodes: list[int]) -> dict[int, int]:
        """Return the parents of sub-agent records; one with a parent outside becomes a root."""
        parents: dict[int, int] = {}
        forward = False
        positions = self.tree.positions
        before = ROOT
        for node in nodes:
            named = self._named[node]
            found = before if node in self._attached else ROOT
            if named is not None and (holder := positions.get(named, ROOT)) in self.sidechain:
                found = self._last_entry.get(holder, holder)
            parents[node] = ROOT if found == node else found
            forward = forward or found > node
            before = node
        if forward:
            self._cut_cycles_in(nodes, parents)
        return parents

    def _cut_cycles_in(self, nodes: list[int], parents: dict[int, int]) -> None:
        """Cut each cycle at its first record and link that to the previous record outside the cycle."""
        cut: list[int] = []
        for ring in cycles(nodes, parents):
            continuing = [member for member in ring if self._continues(member)]
            first = min(continuing or ring)
            parents[first] = ROOT
            cut.append(first)
        if not cut:
            return
        order = {node: number for number, node in enumerate(nodes)}
        roots: dict[int, int] = {}  # path compression: shortcuts to the root of a record's tree
        keys = self.tree.keys
        for node in sorted(cut):
            before = nodes[order[node] - 1] if order[node] else ROOT
            if not self._continues(node):
                message = f"{keys[node]} is one of several records that are each other's ancestors; cut here"
                self._links.append(LinkFinding(node, "cycle", message))
            if before != ROOT and _root(before, parents, roots) != node:
                parents[node] = before
                roots.pop(node, None)


_SAVED = SavedAttributes(
    kinds=list[int],
    marks=list[int],
    calls=dict[int, str],
    sidechain=set[int],
    exact=set[int],
    points=list[BranchPoint],
    starts=list[int],
    copies=dict[int, int],
    unusual_names=dict[int, str | None],
    _counts=dict[str, int],
    _logical=dict[int, str],
    _attached=set[int],
    _last_entry=dict[int, int],
    _last=list[int],
    _last_uuid=str,
    _regular=bool,
    needs_sorting=bool,
    _resolved=int,
    _hidden=dict[int, _RowShape],
    _start_marks=dict[int, _StartMark],
    _repeated=list[LinkFinding],
    _links=list[LinkFinding],
)


def _root(node: int, parents: dict[int, int], roots: dict[int, int]) -> int:
    """Return the root above a record, with path compression, so many lookups cost one pass."""
    walked = []
    while (above := roots.get(node, parents[node])) != ROOT:
        walked.append(node)
        node = above
    for step in walked:
        roots[step] = node
    return node
