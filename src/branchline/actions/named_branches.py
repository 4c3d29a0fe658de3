"""Named branches: where each starts and ends, and when it last changed."""

from __future__ import annotations

from branchline._arguments import require_text
from branchline.actions.operations import BRANCH_RECORD, operations
from branchline.entries import SIDE_TYPES, Custom
from branchline.errors import InvalidArgument
from branchline.session import NewEntry, Session
from branchline.views.operation_lines import NamedBranch
from branchline.views.text import one_line

__all__ = ["NamedBranch", "name_branch", "named_branches"]

_LONGEST = 120


def name_branch(session: Session, name: str, entry: str | None = None) -> NamedBranch:
    """Name a branch that starts at an entry (default: the leaf), and move the leaf there.

    The next message is the first of the branch. An existing name is moved to the new branch. Raises
    ValueError for a name that is empty, too long or has several lines.
    """
    require_text("a branch name", name, empty=True)
    plain = one_line(name).strip()
    if not plain or plain != name.strip() or len(plain) > _LONGEST:
        raise InvalidArgument(f"a branch name has 1 to {_LONGEST} characters on one line")
    place = session.leaf if entry is None else entry
    if place is None:
        raise InvalidArgument("a branch starts at an entry, and this session has none yet")
    found = session.index.nearest_conversation_entry(session.index.position(place))
    start = session.index.keys[found]

    def build(current: Session) -> list[NewEntry]:
        moved = [] if current.leaf == start else [NewEntry.move(start)]
        record = {"name": plain, "entry": start, "count": len(moved)}
        return [*moved, NewEntry.custom(BRANCH_RECORD, record)]

    session.write(build)
    return next(branch for branch in named_branches(session) if branch.name == plain)


def named_branches(session: Session) -> list[NamedBranch]:
    """Return the named branches, the most recently changed first."""
    tree = session.index
    customs = [position for position, kind in enumerate(tree.types) if kind == "custom"]
    places: dict[str, tuple[int, int]] = {}
    begun: dict[tuple[str, str], int] = {}
    for position, entry in zip(customs, session.transcript.entries(customs), strict=True):
        if not isinstance(entry, Custom) or entry.custom_type != BRANCH_RECORD:
            continue
        data = entry.data if isinstance(entry.data, dict) else {}
        name, start = data.get("name"), data.get("entry")
        if isinstance(name, str) and isinstance(start, str) and start in tree.positions:
            if not data.get("restated"):  # an undo or a redo restores the branch as it was
                begun[name, start] = position
            places[name] = (tree.positions[start], begun.get((name, start), position))
        elif isinstance(name, str):
            places.pop(name, None)
    undone = _undone_entries(session) if places else set()
    found = [_branch(session, name, start, since, undone) for name, (start, since) in places.items()]
    return sorted(found, key=lambda branch: branch.timestamp, reverse=True)


def _undone_entries(session: Session) -> set[int]:
    """The entries of undone operations, without those that were continued afterwards."""
    tree = session.index
    written = (key for each in operations(session) if each.undone for key in (*each.entries, each.id))
    undone = {tree.positions[key] for key in written if key in tree.positions}
    for position in range(len(tree) if undone else 0):
        if position in undone or tree.types[position] in SIDE_TYPES:
            continue
        above = tree.parent_position(position)
        while above in undone:  # the conversation was continued there
            undone.discard(above)
            above = tree.parent_position(above)
    return undone


def _branch(session: Session, name: str, start: int, since: int, undone: set[int]) -> NamedBranch:
    tree = session.index
    below: set[int] = set()
    tip = start
    for position in range(since + 1, len(tree)):
        if tree.types[position] in SIDE_TYPES or position in undone:
            continue
        parent = tree.parent_position(position)
        if parent in below or (parent == start and not below):
            below.add(position)
            tip = position
    return NamedBranch(
        name=name,
        start=tree.keys[start],
        tip=tree.keys[tip],
        timestamp=tree.times[tip],
        entries=len(below),
        is_current=session.leaf == tree.keys[tip],
    )
