"""Laws of the outline, on random trees, against a slow and plain reading of the rules."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.tree import FILTERS, ROOT, Outline, OutlineRow, Tree, walk_nodes

KINDS = (
    *[("message", "user")] * 4,
    *[("message", "assistant")] * 4,
    *[("message", "toolResult")] * 2,
    ("branch_summary", None),
    ("compaction", None),
    ("label", None),
    ("custom", None),
    ("usage", None),
    ("leaf", None),
    ("model_change", None),
    ("new_type", None),
)


class Case(NamedTuple):
    tree: Tree
    leaf: int
    labels: dict[str, str]
    folded: set[int]


@st.composite
def cases(draw, size: int = 40) -> Case:
    """Trees with long chains and many branches, several roots, side records, parents later in the file."""
    tree = Tree()
    count = draw(st.integers(0, size))
    for number in range(count):
        kind, role = draw(st.sampled_from(KINDS))
        near = draw(st.integers(0, 3))
        parent = number - 1 if near else draw(st.integers(ROOT, number - 1))
        tree.add(
            f"k{number}",
            parent,
            type=kind,
            role=role,
            quiet=role == "assistant" and draw(st.booleans()),
            time=draw(
                st.sampled_from(["2026-01-01T00:00:01.000Z", "2026-01-01T00:00:02.000Z", "", "2026-01-02"])
            ),
        )
    if count > 1 and draw(st.booleans()):
        child, parent = draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))
        if child not in tree.path_positions(parent):
            tree.relink(child, parent)
    some = st.integers(0, max(0, count - 1))
    labels = {f"k{number}": "x" for number in draw(st.lists(some, max_size=5))}
    folded = draw(st.sets(some, max_size=4)) if count else set()
    return Case(tree, draw(st.integers(ROOT, count - 1)), labels, folded)


# -- the rules, read plainly ------------------------------------------------------------------------------


def in_order(tree: Tree, leaf: int) -> list[int]:
    active = set(tree.path_positions(leaf))
    order: list[int] = []
    waiting = [tree.root_positions()]
    while waiting:
        group = waiting[-1]
        if not group:
            waiting.pop()
            continue
        position = next((member for member in group if member in active), group[0])
        group.remove(position)
        order.append(position)
        waiting.append(tree.child_positions(position))
    return order


def passes(case: Case, position: int, kind: str) -> bool:
    tree = case.tree
    type_, role = tree.types[position], tree.roles[position]
    if type_ in ("usage", "leaf") or (position in tree.textless and position != case.leaf):
        return False
    background = [
        "label",
        "context_edit",
        "custom",
        "model_change",
        "thinking_level_change",
        "session_info",
    ]
    match kind:
        case "default":
            return type_ not in background
        case "no-tools":
            return type_ not in background and role != "toolResult"
        case "user-only":
            return role == "user"
        case "labeled-only":
            return tree.keys[position] in case.labels
        case _:
            return True


def plain_rows(case: Case, kind: str, folded: set[int]) -> list[tuple[OutlineRow, list[int]]]:
    tree = case.tree
    shown = [position for position in in_order(tree, case.leaf) if passes(case, position, kind)]
    folded = folded & set(shown)
    shown = [place for place in shown if not folded & set(tree.path_positions(place)[:-1])]
    above: dict[int, int] = {}
    children: dict[int, list[int]] = {ROOT: []}
    for position in shown:
        children[position] = []
        ancestors = [ancestor for ancestor in tree.path_positions(position)[:-1] if ancestor in children]
        above[position] = ancestors[-1] if ancestors else ROOT
        children[above[position]].append(position)
    several = len(children[ROOT]) > 1
    levels, branched, gutters, rows_by_position = {}, {}, {}, {}
    rows = []
    for position in shown:
        parent = above[position]
        siblings = children[parent]
        last = siblings[-1] == position
        if parent == ROOT:
            level, after_branch, connector = (1 if several else 0), several, False
            gutters[position] = []
        else:
            after_branch = connector = len(siblings) > 1
            grows = after_branch or (branched[parent] and levels[parent] > 0)
            level = levels[parent] + (1 if grows else 0)
            inherited = list(gutters[parent])
            over = rows_by_position[parent]
            if over.connector and not over.last:
                inherited.append(over.level - 1)
            gutters[position] = inherited
        levels[position], branched[position] = level, after_branch
        row = OutlineRow(
            position=position,
            key=tree.keys[position],
            level=level - 1 if several else level,
            connector=connector,
            last=last,
            root=parent == ROOT,
            foldable=bool(children[position]) and (parent == ROOT or len(siblings) > 1),
            folded=position in folded,
            active=position in tree.path_positions(case.leaf),
        )
        rows_by_position[position] = row
        rows.append((row, gutters[position]))
    return rows


# -- laws -------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(cases(), st.sampled_from(FILTERS), st.booleans())
def test_rows_are_those_of_the_rules(case, kind, with_folds):
    """Order, levels, connectors, gutters, folds and marks, for every filter."""
    folded = case.folded if with_folds else set()

    rows = Outline(case.tree, case.leaf, filter=kind, labels=case.labels, folded=folded)

    assert [(row, rows.gutters(number)) for number, row in enumerate(rows)] == plain_rows(case, kind, folded)


@settings(deadline=None)
@given(cases())
def test_the_filter_all_shows_every_entry_once_but_usage_moves_and_quiet_answers(case):
    rows = Outline(case.tree, case.leaf, filter="all")

    hidden = {place for place, kind in enumerate(case.tree.types) if kind in ("usage", "leaf")}
    hidden |= case.tree.textless - {case.leaf}
    assert sorted(rows.positions) == sorted(set(range(len(case.tree))) - hidden)


@settings(deadline=None)
@given(cases(), st.sampled_from(FILTERS))
def test_parents_come_before_children(case, kind):
    rows = Outline(case.tree, case.leaf, filter=kind, labels=case.labels)

    seen: set[int] = set()
    for row in rows:
        seen.add(row.position)
        ancestors = set(case.tree.path_positions(row.position))
        assert ancestors & set(rows.positions) <= seen


@settings(deadline=None)
@given(cases(), st.sampled_from(FILTERS))
def test_a_fold_hides_exactly_what_is_below_it(case, kind):
    rows = Outline(case.tree, case.leaf, filter=kind, labels=case.labels)

    for row in rows:
        folded = rows.with_folds({row.position})
        gone = set(rows.positions) - set(folded.positions)
        below = {place for place in rows.positions if row.position in case.tree.path_positions(place)[:-1]}
        assert gone == below
        assert [place for place in rows.positions if place not in gone] == list(folded.positions)


@settings(deadline=None)
@given(cases(), st.sampled_from(FILTERS), st.booleans())
def test_the_nearest_row_is_the_entry_or_its_nearest_shown_ancestor(case, kind, with_folds):
    folded = case.folded if with_folds else set()
    rows = Outline(case.tree, case.leaf, filter=kind, labels=case.labels, folded=folded)

    for position in range(ROOT, len(case.tree)):
        shown = [place for place in case.tree.path_positions(position) if place in set(rows.positions)]
        if shown:
            assert rows.positions[rows.nearest(position)] == shown[-1]
        else:
            assert rows.nearest(position) == len(rows) - 1
        expected = list(rows.positions).index(position) if position in set(rows.positions) else None
        assert rows.index_of(position) == expected


@settings(deadline=None)
@given(cases(), st.sampled_from(FILTERS), st.booleans())
def test_the_lazy_sequence_equals_its_list(case, kind, with_folds):
    folded = case.folded if with_folds else set()
    rows = Outline(case.tree, case.leaf, filter=kind, labels=case.labels, folded=folded)

    listed = list(rows)

    assert len(rows) == len(listed)
    assert [rows[number] for number in range(len(rows))] == listed
    assert rows[1:-1] == listed[1:-1]


@settings(deadline=None)
@given(cases(), st.sampled_from(FILTERS))
def test_jumps_follow_the_rules_of_the_branches(case, kind):
    """Back: the nearest ancestor-or-self that is one of several siblings and above the cursor, else the
    root. Forward: the first child after the next branch point, or the end of the chain."""
    rows = Outline(case.tree, case.leaf, filter=kind, labels=case.labels)
    shown = set(rows.positions)
    above: dict[int, int] = {}
    children: dict[int, list[int]] = {ROOT: []}
    for position in rows.positions:
        children[position] = []
        ancestors = [place for place in case.tree.path_positions(position)[:-1] if place in shown]
        above[position] = ancestors[-1] if ancestors else ROOT
        children[above[position]].append(position)

    for number, row in enumerate(rows):
        start = row.position
        while above[start] != ROOT and not (
            len(children[above[start]]) > 1 and rows.index_of(start) < number
        ):
            start = above[start]
        end = row.position
        while len(children[end]) == 1:
            end = children[end][0]
        end = children[end][0] if children[end] else end
        assert rows.positions[rows.segment_start(number)] == start
        assert rows.positions[rows.segment_end(number)] == end


@settings(deadline=None)
@given(cases())
def test_the_flat_tree_holds_every_entry_once_in_the_order_of_the_rules(case):
    nodes = list(walk_nodes(case.tree, case.leaf, case.labels))

    assert [node.position for node in nodes] == in_order(case.tree, case.leaf)
    for node in nodes:
        chain = case.tree.path_positions(node.position)
        children = case.tree.child_positions(node.position)
        assert node.id == case.tree.keys[node.position]
        assert node.depth == len(chain) - 1
        assert node.parent == (None if len(chain) == 1 else case.tree.keys[chain[-2]])
        assert (node.children, node.is_leaf) == (len(children), not children)
        assert node.active == (node.position in case.tree.path_positions(case.leaf))
        assert node.is_current == (node.position == case.leaf)
        assert node.label == case.labels.get(node.id)


@settings(deadline=None)
@given(cases())
def test_the_levels_of_the_flat_tree_are_those_of_an_outline_that_shows_everything(case):
    tree = Tree()
    for position, parent in enumerate(case.tree.parents):
        tree.add(f"k{position}", ROOT, type="message", role="user", time=case.tree.times[position])
        tree.relink(position, parent)

    rows = Outline(tree, case.leaf, filter="all")

    assert [node.level for node in list(walk_nodes(case.tree, case.leaf))] == [row.level for row in rows]
