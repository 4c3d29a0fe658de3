"""Every entry gets a key of its own and a parent that exists, whatever the file says, in linear time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.tree import ROOT, Linker, Tree

Link = tuple[str, str | None]


def linked(links: Iterable[Link], *, settle: bool = True) -> Linker:
    """A linker that was given these ids and parents one by one."""
    linker = Linker(Tree())
    for entry_id, parent in links:
        linker.add(entry_id, parent, type="message")
    if settle:
        linker.resolve()
    return linker


def linked_at_once(links: list[Link], piece: int = 1 << 30) -> Linker:
    """The same through the way for many, in pieces; what it refuses goes in one by one, as a reader does."""
    linker = Linker(Tree())
    for start in range(0, len(links), piece):
        part = links[start : start + piece]
        ids, parents = [entry_id for entry_id, _ in part], [parent for _, parent in part]
        many = ["message"] * len(part), [""] * len(part), [None] * len(part)
        if not linker.extend(ids, parents, *many, ()):
            for entry_id, parent in part:
                linker.add(entry_id, parent, type="message")
    linker.resolve()
    return linker


def parents(linker: Linker) -> dict[str, str | None]:
    return {key: linker.tree.parent(key) for key in linker.tree}


def kinds(linker: Linker) -> list[tuple[str, str]]:
    return [(oddity.kind, linker.tree.keys[oddity.position]) for oddity in linker.findings()]


# -- the rules --------------------------------------------------------------------------------------------


def test_a_parent_may_come_later_in_the_file():
    linker = linked([("b", "a"), ("c", "b"), ("a", None)])

    assert parents(linker) == {"b": "a", "c": "b", "a": None}
    assert kinds(linker) == []


def test_a_missing_parent_makes_a_root_and_is_reported():
    linker = linked([("a", None), ("b", "lost"), ("c", "b")])

    assert parents(linker) == {"a": None, "b": None, "c": "b"}
    assert kinds(linker) == [("orphan", "b")]


def test_a_missing_parent_that_turns_up_later_is_linked_and_no_longer_reported():
    linker = linked([("b", "a")])
    assert kinds(linker) == [("orphan", "b")]

    linker.add("a", None, type="message")
    linker.resolve()

    assert parents(linker) == {"b": "a", "a": None}
    assert kinds(linker) == []


def test_an_entry_that_is_its_own_parent_is_a_root():
    linker = linked([("a", None), ("b", "b"), ("c", "b")])

    assert parents(linker) == {"a": None, "b": None, "c": "b"}
    assert kinds(linker) == [("self-parent", "b")]


def test_later_holders_of_an_id_get_numbered_keys():
    linker = linked([("a", None), ("a", None), ("b", None), ("a", None)])

    assert linker.tree.keys == ["a", "a#2", "b", "a#3"]
    assert kinds(linker) == [("duplicate-id", "a#2"), ("duplicate-id", "a#3")]


def test_a_parent_is_the_latest_holder_before_the_entry_else_the_first_after_it():
    linker = linked([("early", "a"), ("a", None), ("b", "a"), ("a", None), ("c", "a"), ("a", "a")])

    assert parents(linker) == {"early": "a", "a": None, "b": "a", "a#2": None, "c": "a#2", "a#3": "a#2"}


def test_a_made_key_never_hides_an_entry_with_that_very_id():
    for order in ([("a#2", None), ("a", None), ("a", None)], [("a", None), ("a", None), ("a#2", None)]):
        linker = linked(order)

        assert len(set(linker.tree.keys)) == 3
        assert {"a", "a#2"} < set(linker.tree.keys)
        assert linker.tree.keys[[entry_id for entry_id, _ in order].index("a")] == "a"


def test_a_ring_is_cut_at_its_first_entry_in_the_file():
    linker = linked([("x", None), ("a", "c"), ("b", "a"), ("c", "b"), ("below", "c")])

    assert parents(linker) == {"x": None, "a": None, "b": "a", "c": "b", "below": "c"}
    assert kinds(linker) == [("cycle", "a")]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 10, 100, 1000])
@pytest.mark.parametrize("first", [0, 1, -1])
def test_a_ring_of_any_size_is_cut_once_and_keeps_everybody(size, first):
    names = [f"n{number}" for number in range(size)]
    ring = [(name, names[number - 1]) for number, name in enumerate(names)]
    ring = ring[first:] + ring[:first]

    linker = linked([("root", None), *ring, *[(f"below{number}", name) for number, name in enumerate(names)]])

    assert kinds(linker) == [("cycle", ring[0][0])]
    assert linker.tree.roots() == ["root", ring[0][0]]
    assert len(linker.tree.path(ring[-1][0])) == size
    assert all(len(linker.tree.path(f"below{number}")) > 1 for number in range(size))


def test_several_rings_are_cut_each_for_itself():
    rings = [
        (f"{ring}-{number}", f"{ring}-{(number + 1) % (ring + 2)}")
        for ring in range(50)
        for number in range(ring + 2)
    ]

    linker = linked(rings)

    assert kinds(linker) == [("cycle", f"{ring}-0") for ring in range(50)]
    assert linker.tree.roots() == [f"{ring}-0" for ring in range(50)]


def test_a_ring_is_described_by_its_size_and_some_names():
    message = linked([("a", "b"), ("b", "a")]).findings()[0].message

    assert "2 entries" in message
    assert "a, b" in message


def test_an_unreadable_line_holds_its_id_only_until_a_readable_one_comes():
    linker = Linker(Tree())
    linker.add("a", None, type="message")
    linker.add("b", "a", type="damaged", placeholder=True)
    linker.add("c", "b", type="message")
    linker.add("b", "a", type="message")
    linker.add("d", "b", type="message")
    linker.resolve()

    assert linker.tree.keys == ["a", "b#2", "c", "b", "d"]
    assert linker.tree.placeholders == {1}
    assert linker.tree.parent("d") == "b"
    assert linker.findings() == []


def test_an_unreadable_copy_of_an_entry_takes_neither_its_name_nor_its_children():
    linker = Linker(Tree())
    linker.add("a", None, type="message")
    linker.add("a", None, type="damaged", placeholder=True)
    linker.add("b", "a", type="message")
    linker.resolve()

    assert linker.tree.keys == ["a", "a#2", "b"]
    assert linker.tree.parent("b") == "a"


def test_a_guess_is_made_only_for_what_comes_directly_after_a_gap():
    linker = Linker(Tree())
    linker.add("a", None, type="message")
    linker.add("b", "lost", type="message", after_gap=True)
    linker.add("c", "lost", type="message")
    linker.resolve()

    assert parents(linker) == {"a": None, "b": "a", "c": None}
    assert kinds(linker) == [("guessed-link", "b"), ("orphan", "c")]


def test_a_guess_gives_way_to_the_parent_that_turns_up():
    linker = Linker(Tree())
    linker.add("a", None, type="message")
    linker.add("b", "late", type="message", after_gap=True)
    linker.resolve()
    assert linker.tree.parent("b") == "a"

    linker.add("late", "a", type="message")
    linker.resolve()

    assert parents(linker) == {"a": None, "b": "late", "late": "a"}
    assert linker.findings() == []


def test_a_cut_is_made_again_when_more_lines_come():
    linker = linked([("a", "c"), ("b", "a"), ("c", "b")])
    assert kinds(linker) == [("cycle", "a")]

    linker.add("d", "later", type="message")
    linker.add("later", "c", type="message")
    linker.resolve()

    assert parents(linker) == {"a": None, "b": "a", "c": "b", "d": "later", "later": "c"}
    assert kinds(linker) == [("cycle", "a")]


# -- all of them together ---------------------------------------------------------------------------------

ids = st.sampled_from(["a", "b", "c", "d", "e", "a#2", ""])
links = st.lists(st.tuples(ids, st.none() | ids | st.just("lost")), max_size=14)


def reference(entries: list[Link]) -> tuple[list[str], list[int]]:
    """The rules of the spec, said as plainly as possible: keys and parents."""
    keys: list[str] = []
    for entry_id, _ in entries:
        key, count = entry_id, 1
        while key in keys:
            count += 1
            key = f"{entry_id}#{count}"
        keys.append(key)
    above: list[int] = []
    for position, (entry_id, parent) in enumerate(entries):
        if parent is None:
            above.append(ROOT)
            continue
        before = [place for place in range(position) if entries[place][0] == parent]
        made = [place for place in range(position) if keys[place] == parent]
        after = [place for place in range(position + 1, len(entries)) if entries[place][0] == parent]
        candidates = before[-1:] or made or ([] if parent == entry_id else after[:1])
        above.append(candidates[0] if candidates else ROOT)
    for start in range(len(entries)):
        walk = [start]
        while above[walk[-1]] != ROOT and above[walk[-1]] not in walk:
            walk.append(above[walk[-1]])
        if above[walk[-1]] != ROOT:
            above[min(walk[walk.index(above[walk[-1]]) :])] = ROOT
    return keys, above


@settings(max_examples=500, deadline=None)
@given(links)
def test_links_are_those_of_the_rules_said_plainly(entries):
    keys, above = reference(entries)

    tree = linked(entries).tree

    assert len(set(tree.keys)) == len(entries)
    if not any("#" in entry_id for entry_id, _ in entries):
        assert tree.keys == keys
        assert tree.parents == above


@settings(max_examples=500, deadline=None)
@given(links, st.integers(1, 6))
def test_many_at_once_and_one_by_one_are_linked_alike(entries, piece):
    one_by_one = linked(entries)

    at_once = linked_at_once(entries, piece)

    assert at_once.tree.keys == one_by_one.tree.keys
    assert at_once.tree.parents == one_by_one.tree.parents
    assert at_once.tree.positions == one_by_one.tree.positions
    assert at_once.findings() == one_by_one.findings()


@settings(max_examples=500, deadline=None)
@given(
    links,
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=14, max_size=14),
    st.sets(st.integers(0, 13)),
)
def test_settling_in_between_changes_nothing_in_the_end(entries, flags, pauses):
    def build(pauses: set[int]) -> Linker:
        linker = Linker(Tree())
        for number, (entry_id, parent) in enumerate(entries):
            placeholder, after_gap = flags[number]
            linker.add(entry_id, parent, type="message", placeholder=placeholder, after_gap=after_gap)
            if number in pauses:
                linker.resolve()
        linker.resolve()
        return linker

    calm, hasty = build(set()), build(pauses)

    assert hasty.tree.keys == calm.tree.keys
    assert hasty.tree.parents == calm.tree.parents
    assert hasty.findings() == calm.findings()
    for position in range(len(entries)):
        assert len(calm.tree.path_positions(position)) <= len(entries)


# -- linear time ------------------------------------------------------------------------------------------


def ring(count: int) -> list[Link]:
    return [(str(number), str((number + 1) % count)) for number in range(count)]


SHAPES: dict[str, Callable[[int], list[Link]]] = {
    "a chain": lambda count: [(str(number), str(number - 1) if number else None) for number in range(count)],
    "a chain in reverse": lambda count: [(str(number), str(number - 1) if number else None) for number in reversed(range(count))],
    "all below one": lambda count: [("top", None), *[(str(number), "top") for number in range(count)]],
    "all waiting for the last": lambda count: [*[(str(number), "last") for number in range(count)], ("last", None)],
    "all missing their parent": lambda count: [(str(number), f"lost{number}") for number in range(count)],
    "all missing one parent": lambda count: [(str(number), "lost") for number in range(count)],
    "all roots": lambda count: [(str(number), None) for number in range(count)],
    "one ring": ring,
    "one ring in reverse": lambda count: ring(count)[::-1],
    "many rings": lambda count: [(str(number), str(number ^ 1)) for number in range(count)],
    "a long tail on a ring": lambda count: [("a", "b"), ("b", "a"), *[(str(number), str(number + 1)) for number in range(count)], (str(count), "a")],
    "all their own parent": lambda count: [(str(number), str(number)) for number in range(count)],
    "one id": lambda count: [("same", "same") for _ in range(count)],
    "one id without parents": lambda count: [("same", None) for _ in range(count)],
    "two ids by turns": lambda count: [("ab"[number % 2], "ba"[number % 2]) for number in range(count)],
    "made keys taken": lambda count: [*[(f"a#{number}", None) for number in range(count // 2)], *[("a", "a") for _ in range(count // 2)]],
    "each id twice": lambda count: [(str(number // 2), str(number // 2 - 1)) for number in range(count)],
    "a comb": lambda count: [(str(number), str(number - 1 - number % 2) if number > 1 else None) for number in range(count)],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", [linked, linked_at_once], ids=["one by one", "at once"])
def test_any_shape_is_linked_in_linear_time(shape, way):
    small, large = SHAPES[shape](5_000), SHAPES[shape](20_000)

    def cost(entries: list[Link]) -> float:
        best = 1e9
        for _ in range(2):
            start = time.process_time()
            linker = way(entries)
            linker.findings()
            linker.tree.tip_positions()
            best = min(best, time.process_time() - start)
        return best

    # Four times as many must not cost sixteen times as much; generous, for a machine that does other things.
    assert cost(large) < 10 * cost(small) + 0.05


@pytest.mark.parametrize("shape", SHAPES)
def test_thousands_of_entries_of_any_shape_are_all_there_and_reachable(shape):
    entries = SHAPES[shape](30_000)

    tree = linked_at_once(entries, 1000).tree

    assert len(tree) == len(entries) == len(tree.positions)
    seen = 0
    waiting = tree.root_positions()
    while waiting:
        position = waiting.pop()
        seen += 1
        waiting += tree.child_positions(position)
    assert seen == len(entries)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_million_entries_of_any_shape_are_linked(shape):
    entries = SHAPES[shape](1_000_000)

    tree = linked_at_once(entries, 1000).tree

    assert len(tree) == len(entries)
    assert len(tree.tip_positions()) + len({parent for parent in tree.parents if parent != ROOT}) == len(tree)
