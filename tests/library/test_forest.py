"""The forest: sessions under the sessions they were forked from, each shown exactly once."""

from __future__ import annotations

import os
import shutil

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline import SessionLibrary
from branchline.library import Forest, SessionRow, build_forest
from library.kit import age, clock, empty, talk
from session.kit import assistant, user


def row(key, parent=None, *, name=None, at=0, created=""):
    return SessionRow(
        key=key,
        id=name or key,
        path=f"/s/{key}.jsonl",
        parent_session=parent,
        modified_ms=at,
        created=created,
    )


def shape(forest: Forest):
    return [(item.row.key, item.depth) for item in forest]


# -- on real files ------------------------------------------------------------------------------------------------


def fork_of(parent, number, text):
    fork = parent.fork()
    fork._clock = clock(number)
    fork.append_message(user(text))
    fork.append_message(assistant("yes"))
    fork.close()
    return fork


@pytest.mark.parity("ZOT-03")
def test_forks_stand_below_their_parents_the_latest_change_first(place):
    first = talk(place, 0, "first")
    quiet = fork_of(first, 1, "quiet")
    busy = fork_of(first, 2, "busy")
    with SessionLibrary(place, clock=clock(8)).open(quiet.key) as reopened:
        late = fork_of(reopened, 9, "late")
    other = talk(place, 5, "other")
    first.close()
    other.close()
    for session, day in ((first, 0), (quiet, 1), (busy, 2), (late, 9), (other, 5)):
        age(session.file, day)

    forest = SessionLibrary(place).forest(deep=True)

    assert [(item.row.first_prompt, item.depth) for item in forest] == [
        ("first", 0),
        ("quiet", 1),
        ("late", 2),
        ("busy", 1),
        ("other", 0),
    ]
    assert [item.parent for item in forest] == [None, first.key, quiet.key, first.key, None]
    assert [item.children for item in forest] == [2, 1, 0, 0, 0]
    assert [item.last for item in forest] == [False, False, True, True, True]
    assert forest[0].active_ms == forest[2].active_ms == forest[2].row.active_ms
    assert [item.row.key for item in forest.children(first.key)] == [quiet.key, busy.key]
    assert [item.row.key for item in forest.roots] == [first.key, other.key]
    assert late.key == forest[2].row.key
    assert all(item.note is None for item in forest)


@pytest.mark.parity("ZOT-03")
def test_a_parent_that_is_gone_makes_a_root_that_says_so(place):
    with talk(place, 0) as parent:
        fork_of(parent, 1, "orphan")
    SessionLibrary(place).remove(parent.id)

    (item,) = SessionLibrary(place).forest()

    assert item.depth == 0
    assert item.note == f"its parent {parent.file} is not here"


def test_a_library_that_was_moved_keeps_its_forest(place):
    with talk(place, 0) as parent:
        fork_of(parent, 1, "child")
    moved = place.parent / "moved"
    shutil.move(place, moved)

    assert [item.depth for item in SessionLibrary(moved).forest()] == [0, 1]


def test_a_parent_is_found_through_a_link(place):
    with talk(place, 0) as parent:
        pass
    os.symlink(place, place.parent / "link")
    os.rename(parent.file, place / "plain.jsonl")
    empty(place, 1, parent_session=str(place.parent / "link" / "plain.jsonl")).close()

    assert [item.depth for item in SessionLibrary(place).forest()] == [0, 1]


def test_unreadable_files_are_shown_as_roots(place):
    talk(place, 0).close()
    (place / "broken.jsonl").write_bytes(b"?")

    forest = SessionLibrary(place).forest()

    assert {item.row.key for item in forest} == {path.stem for path in place.glob("*.jsonl")}


# -- on rows ------------------------------------------------------------------------------------------------------


def test_a_parent_is_named_by_id_by_path_or_by_file_name():
    rows = [row("a"), row("by-id", "a"), row("by-path", "/s/a.jsonl"), row("by-spelling", "/s/./a.jsonl")]

    forest = build_forest([*rows, row("by-name", "a.jsonl")])

    assert sorted(shape(forest)) == [
        ("a", 0),
        ("by-id", 1),
        ("by-name", 1),
        ("by-path", 1),
        ("by-spelling", 1),
    ]


def test_a_file_of_the_same_name_elsewhere_is_no_parent_unless_its_name_tells_the_id():
    """«session.jsonl» lies in many folders; a name with an id in it lies in one."""
    rows = [
        row("session"),
        row("child", "/elsewhere/session.jsonl"),
        row("2026_x", name="x"),
        row("other", "/old/2026_x.jsonl"),
    ]

    forest = build_forest(rows)

    assert sorted(shape(forest)) == [("2026_x", 0), ("child", 0), ("other", 1), ("session", 0)]


@pytest.mark.parity("ZOT-03")
def test_a_ring_is_shown_from_its_oldest_session_and_says_so():
    rows = [row("c", "b", created="3"), row("a", "c", created="1"), row("b", "a", created="2")]

    forest = build_forest(rows)

    assert shape(forest) == [("a", 0), ("b", 1), ("c", 2)]
    assert "cycle" in forest[0].note


@pytest.mark.parity("ZOT-03")
def test_a_session_that_is_its_own_parent_is_a_root():
    forest = build_forest([row("a", "a")])

    assert shape(forest) == [("a", 0)]
    assert forest[0].note == "it names itself as its parent"


@pytest.mark.parity("ZOT-03")
def test_sessions_with_one_id_are_all_shown_and_the_oldest_is_the_parent():
    rows = [
        row("new", name="x", created="2"),
        row("old", name="x", created="1"),
        row("child", "x", created="3"),
    ]

    forest = build_forest(rows)

    assert sorted(shape(forest)) == [("child", 1), ("new", 0), ("old", 0)]
    assert forest.children("old")[0].row.key == "child"
    assert [item.note for item in forest if item.row.id == "x"] == ["2 sessions have the id x"] * 2


def test_a_chain_of_ten_thousand_forks_is_no_trouble():
    rows = [row("s0"), *(row(f"s{number}", f"s{number - 1}") for number in range(1, 10_000))]

    forest = build_forest(reversed(rows))

    assert [item.depth for item in forest] == list(range(10_000))


def test_no_sessions_are_no_forest():
    assert len(build_forest([])) == 0


NAMES = [f"s{number}" for number in range(8)]


@pytest.mark.parity("ZOT-03")
@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),  # ids repeat
            st.sampled_from([None, "", "missing", *NAMES, *(f"/s/k{number}.jsonl" for number in range(8))]),
            st.integers(0, 3),
            st.sampled_from(["", "1", "2"]),
            st.sampled_from([None, "pi", "zot"]),
        ),
        max_size=8,
    )
)
def test_whatever_the_links_every_session_is_shown_exactly_once(links):
    rows = [
        msgspec.structs.replace(row(f"k{number}", parent, name=name, at=at, created=created), agent=agent)
        for number, (name, parent, at, created, agent) in enumerate(links)
    ]

    forest = build_forest(rows)

    assert sorted(item.row.key for item in forest) == sorted(each.key for each in rows)
    above: list = []
    for item in forest:
        del above[item.depth :]
        assert item.parent == (above[-1].row.key if above else None)
        assert item.parent_path == (above[-1].row.path if above else None)
        assert len(above) == item.depth
        assert item.active_ms >= item.row.modified_ms
        above.append(item)
    for parent in [None, *(item.row.key for item in forest)]:
        siblings = [item for item in forest if item.parent == parent]
        assert [item.active_ms for item in siblings] == sorted(
            (item.active_ms for item in siblings), reverse=True
        )
        assert [item.last for item in siblings] == [False] * (len(siblings) - 1) + [True] * bool(siblings)


# -- several programs -------------------------------------------------------------------------------------


def of(agent, key, parent=None, *, name, created="1"):
    made = row(key, parent, name=name, created=created)
    return msgspec.structs.replace(made, agent=agent, path=f"/{agent}/{key}.jsonl")


def test_of_two_parents_with_one_id_that_of_the_same_program_is_meant():
    rows = [of("pi", "a", name="x"), of("zot", "b", name="x"), of("zot", "c", "x", name="y", created="2")]

    assert {item.row.key: item.parent for item in build_forest(rows)}["c"] == "b"


def test_an_id_that_only_another_program_has_is_found_there():
    rows = [of("pi", "a", name="x"), of("zot", "c", "x", name="y", created="2")]

    assert {item.row.key: item.parent_path for item in build_forest(rows)}["c"] == "/pi/a.jsonl"


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.zst", ".ndjson"])
def test_a_file_is_known_by_its_name_after_its_folder_moved(ending):
    name = "019f1000-0000-7000-8000-000000000001"
    rows = [
        of("codex", f"rollout-2026-09-02T02-00-00-{name}", name=name),
        of("branchline", "fork", f"/former/rollout-2026-09-02T02-00-00-{name}{ending}", name="f"),
    ]

    assert {item.row.key: item.depth for item in build_forest(rows)}["fork"] == 1


def test_thousands_of_sessions_with_one_id_take_no_more_than_linear_time():
    rows = [of("pi", f"k{number}", "same", name="same") for number in range(20_000)]

    forest = build_forest(rows)

    assert len(forest) == 20_000
