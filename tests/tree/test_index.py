"""The tree answers by id and by position, in loops, at any depth and width."""

from __future__ import annotations

import random
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import SIDE_TYPES
from branchline.errors import EntryNotFound
from branchline.tree import ROOT, Outline, Tree


def built(parents: list[int], types: list[str] | None = None, times: list[str] | None = None) -> Tree:
    tree = Tree()
    for position, parent in enumerate(parents):
        tree.add(
            str(position),
            parent,
            type="message" if types is None else types[position],
            time="" if times is None else times[position],
        )
    return tree


@st.composite
def shapes(draw: st.DrawFn, size: int = 24) -> list[int]:
    """Parents of a forest, every parent before or after its child, without rings."""
    count = draw(st.integers(0, size))
    parents = [draw(st.integers(-1, position - 1)) for position in range(count)]
    order = draw(st.permutations(range(count)))
    renamed = [ROOT] * count
    for position, parent in enumerate(parents):
        renamed[order[position]] = ROOT if parent == ROOT else order[parent]
    return renamed


# -- asking -----------------------------------------------------------------------------------------------


@pytest.mark.parity("OPR-03")
def test_an_entry_is_found_by_its_id():
    tree = built([ROOT, 0, 1])

    assert "1" in tree
    assert "7" not in tree
    assert tree.position("1") == 1
    assert list(tree) == ["0", "1", "2"]


def test_an_unknown_id_is_an_error_that_names_it():
    with pytest.raises(EntryNotFound, match="'nobody'"):
        built([ROOT]).path("nobody")


def test_parents_children_roots_tips_and_paths():
    tree = built([ROOT, 0, 0, 1, ROOT, 3])

    assert tree.parent("0") is None
    assert tree.parent("3") == "1"
    assert tree.children("0") == ["1", "2"]
    assert tree.children(None) == tree.roots() == ["0", "4"]
    assert [tree.keys[position] for position in tree.tip_positions()] == ["2", "4", "5"]
    assert tree.path("5") == ["0", "1", "3", "5"]
    assert tree.path(None) == []
    assert list(tree.ancestors("5")) == ["3", "1", "0"]


def test_children_are_oldest_first_and_in_file_order_where_times_are_equal_or_unreadable():
    times = [
        "",
        "2026-01-01T00:00:03Z",
        "2026-01-01T00:00:01.500Z",
        "2026-01-01T00:00:01.500Z",
        "2026-01-01T02:00:00+02:00",
    ]

    assert built([ROOT, 0, 0, 0, 0], times=times).children("0") == ["4", "2", "3", "1"]
    assert built([ROOT, 0, 0, 0], times=["", "no time", "", "2020-13-45"]).children("0") == ["1", "2", "3"]


def test_the_common_ancestor_is_the_deepest_entry_on_both_paths():
    tree = built([ROOT, 0, 1, 1, 3, ROOT, 5])

    assert tree.common_ancestor("2", "4") == "1"
    assert tree.common_ancestor("1", "4") == "1"
    assert tree.common_ancestor("4", "4") == "4"
    assert tree.common_ancestor("4", "6") is None
    assert tree.common_ancestor(None, "4") is None


def test_side_records_and_placeholders_are_passed_through_to_the_conversation():
    types = ["message", "label", "session_info", "usage", "custom", "leaf", "later_type", "label"]
    tree = built([ROOT, 0, 1, 2, 3, 4, 5, ROOT], types)
    tree.add("lost", 5, type="damaged", placeholder=True)

    assert tree.nearest_conversation_entry(5) == 0
    assert tree.nearest_conversation_entry(6) == 6
    assert tree.nearest_conversation_entry(7) == ROOT
    assert tree.nearest_conversation_entry(tree.position("lost")) == 0
    assert tree.nearest_conversation_entry(ROOT) == ROOT
    assert tree.conversation_path("6") == ["0", "6"]
    assert set(types) - {"message", "later_type"} == set(SIDE_TYPES)


# -- laws -------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(shapes())
def test_walking_down_from_the_roots_meets_every_entry_once(parents):
    tree = built_in_any_order(parents)

    seen = []
    waiting = tree.root_positions()
    while waiting:
        position = waiting.pop()
        seen.append(position)
        waiting += tree.child_positions(position)

    assert sorted(seen) == list(range(len(parents)))


def built_in_any_order(parents: list[int]) -> Tree:
    """As a reader builds it: what comes too early is linked when everything is known."""
    tree = Tree()
    for position, parent in enumerate(parents):
        tree.add(str(position), parent if parent < position else ROOT, type="message")
    for position, parent in enumerate(parents):
        if parent > position:
            tree.relink(position, parent)
    return tree


@settings(max_examples=200, deadline=None)
@given(shapes(), st.data())
def test_paths_children_and_ancestors_say_the_same(parents, data):
    tree = built_in_any_order(parents)
    for key in tree:
        path = tree.path(key)
        assert path[-1] == key
        assert path[:-1] == list(tree.ancestors(key))[::-1]
        assert tree.parent(path[0]) is None
        for child in tree.children(key):
            assert tree.parent(child) == key
    if len(tree):
        one, other = data.draw(st.sampled_from(tree.keys)), data.draw(st.sampled_from(tree.keys))
        shared = [key for key in tree.path(one) if key in tree.path(other)]
        assert tree.common_ancestor(one, other) == (shared[-1] if shared else None)


@settings(max_examples=200, deadline=None)
@given(shapes(), st.lists(st.integers(-1, 30), max_size=8), st.booleans())
def test_growing_after_being_asked_gives_what_asking_after_growing_gives(parents, further, many):
    more = [min(parent, len(parents) + number - 1) for number, parent in enumerate(further)]
    asked = built_in_any_order(parents)
    asked.tip_positions()
    fresh = built_in_any_order(parents)

    for tree in (asked, fresh):
        if many:
            names = [str(len(parents) + number) for number in range(len(more))]
            assert tree.register_keys(names)
            size = len(more)
            tree.extend_columns(more, ["message"] * size, [""] * size, [None] * size, ())
        else:
            for number, parent in enumerate(more):
                tree.add(str(len(parents) + number), parent, type="message")

    assert asked.tip_positions() == fresh.tip_positions()
    assert [asked.children(key) for key in asked] == [fresh.children(key) for key in fresh]


@settings(max_examples=200, deadline=None)
@given(shapes(), st.data())
def test_stretches_begin_where_they_do_however_the_entries_came_in(parents, data):
    size = len(parents)
    tree = Tree()
    alone = data.draw(st.integers(0, size))  # one by one, then the others as a chain that is linked later
    for position, parent in enumerate(parents[:alone]):
        tree.add(str(position), min(parent, position - 1), type="message")
    if data.draw(st.booleans()):
        tree.run_starts()
    tree.register_keys([str(position) for position in range(alone, size)])
    rest = size - alone
    tree.extend_columns(None, ["message"] * rest, [""] * rest, [None] * rest, ())
    if data.draw(st.booleans()):
        tree.run_starts()

    tree.relink_all({place: parent for place, parent in enumerate(parents) if parent != tree.parents[place]})

    assert tree.parents == parents
    assert tree.run_starts() == [place for place, parent in enumerate(parents) if parent != place - 1]


def test_keys_are_claimed_all_or_not_at_all():
    tree = built([ROOT, 0])

    assert not tree.register_keys(["x", "1"])
    assert not tree.register_keys(["y", "y"])

    assert tree.keys == ["0", "1"]
    assert tree.positions == {"0": 0, "1": 1}
    assert tree.register_keys(["x", "y"])


def test_a_renamed_entry_is_found_by_its_new_key_alone():
    tree = built([ROOT, 0])

    tree.rename(1, "other")

    assert tree.keys == ["0", "other"]
    assert "1" not in tree
    assert tree.parent("other") == "0"


# -- size -------------------------------------------------------------------------------------------------


def chain(count: int) -> Tree:
    tree = Tree()
    tree.register_keys([str(number) for number in range(count)])
    tree.extend_columns(list(range(-1, count - 1)), ["message"] * count, [""] * count, [None] * count, ())
    return tree


def fan(count: int) -> Tree:
    tree = Tree()
    tree.register_keys([str(number) for number in range(count)])
    tree.extend_columns([ROOT] + [0] * (count - 1), ["message"] * count, [""] * count, [None] * count, ())
    return tree


@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_very_deep_tree_is_walked_without_recursion(count):
    tree = chain(count)
    last = str(count - 1)

    assert count > 50 * sys.getrecursionlimit()
    assert len(tree.path(last)) == count
    assert tree.common_ancestor(last, str(count // 2)) == str(count // 2)
    assert tree.children(str(count // 2)) == [str(count // 2 + 1)]
    assert tree.tip_positions() == [count - 1]
    assert tree.nearest_conversation_entry(count - 1) == count - 1
    assert sum(1 for _ in tree.ancestors(last)) == count - 1


@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_very_wide_tree_is_walked(count):
    tree = fan(count)

    assert len(tree.children("0")) == count - 1
    assert len(tree.tip_positions()) == count - 1
    assert tree.common_ancestor(str(count - 1), str(count - 2)) == "0"
    assert tree.path(str(count - 1)) == ["0", str(count - 1)]


def test_a_long_row_of_side_records_is_passed_through():
    count = 100_000
    tree = Tree()
    tree.register_keys([str(number) for number in range(count)])
    types = ["message"] + ["label"] * (count - 1)
    tree.extend_columns(list(range(-1, count - 1)), types, [""] * count, [None] * count, ())

    assert tree.nearest_conversation_entry(count - 1) == 0
    assert tree.conversation_path(str(count - 1)) == ["0"]
    assert tree.conversation_children("0") == []


def test_adding_costs_the_same_at_any_size():
    def cost(tree: Tree, parents: list[int]) -> float:
        best = 1e9
        for repeat in range(3):
            start = time.process_time()
            for number, parent in enumerate(parents):
                tree.add(f"new-{repeat}-{number}", parent, type="message")
            best = min(best, time.process_time() - start)
        return best

    small, large = fan(1_000), fan(200_000)
    small.tip_positions()
    large.tip_positions()
    below_one = [0] * 2_000

    assert cost(large, below_one) < 10 * cost(small, below_one) + 0.05


def test_a_random_large_forest_hangs_together():
    rng = random.Random(3)
    count = 50_000
    parents = [rng.randrange(-1, position) if position else ROOT for position in range(count)]
    tree = built(parents)

    depth = [0] * count
    for position, parent in enumerate(parents):
        depth[position] = 1 if parent == ROOT else depth[parent] + 1

    for position in rng.sample(range(count), 200):
        assert len(tree.path_positions(position)) == depth[position]
    assert sum(len(tree.child_positions(position)) for position in range(count)) == count - len(tree.roots())


def test_entries_may_get_their_times_after_they_were_added():
    tree = Tree()
    tree.add("a", ROOT, type="message", time="1")
    tree.add("b", 0, type="message", time=None)
    tree.add("c", 0, type="message", time=None)
    tree.extend_times(map(str, (2, 3)))
    tree.add("d", 1, type="message", time="4")

    assert tree.times == ["1", "2", "3", "4"]
    assert tree.parents == [ROOT, 0, 0, 1]


def test_times_that_are_derived_are_derived_once_and_when_somebody_asks():
    tree = Tree()
    asked = []

    def upper(times):
        for text in times:
            asked.append(text)
            yield text.upper()

    tree.register_keys(["a", "b"])
    tree.extend_columns(None, ["message"] * 2, upper(["first", "second"]), ["user"] * 2, ())
    tree.add("c", 1, type="message", time="third")

    assert asked == []
    assert tree.times == ["FIRST", "SECOND", "third"]
    assert tree.times is tree.times
    assert asked == ["first", "second"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["many", "one", "relink"]), st.integers(0, 5), st.booleans()), max_size=12
    )
)
def test_parents_are_the_same_one_by_one_and_as_a_column(steps):
    """Where entries follow each other nobody writes their parents down."""
    tree, expected = Tree(), []
    for what, number, asks in steps:
        first = len(expected)
        if what == "many":
            tree.register_keys([str(first + place) for place in range(number)])
            tree.extend_columns(None, ["message"] * number, [""] * number, [None] * number, ())
            expected += range(first - 1, first - 1 + number)
        elif what == "one":
            parent = min(number, first) - 1
            tree.add(str(first), parent, type="message")
            expected.append(parent)
        elif number < first:
            tree.relink_all({number: ROOT})
            expected[number] = ROOT
        assert [tree.parent_position(position) for position in range(len(expected))] == expected
        if asks:
            assert tree.parents == expected
    assert tree.parents == expected
    assert tree.root_positions() == [position for position, parent in enumerate(expected) if parent == ROOT]


def test_an_outline_without_branches_asks_for_no_times():
    def refuse():
        raise AssertionError("somebody asked for times")
        yield ""

    tree = Tree()
    tree.register_keys(["a", "b"])
    tree.extend_columns(None, ["message"] * 2, refuse(), ["user", "assistant"], ())

    assert len(Outline(tree, 1)) == 2
