"""Two paths side by side, in one session and in two."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.formats import EntryLog
from branchline.tree import ROOT, Tree, compare_paths, compare_sessions
from support import transcript

HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}'


def session(*entries: dict) -> EntryLog:
    lines = [HEADER, *(json.dumps({"timestamp": "2026-01-01T00:00:01.000Z", **entry}) for entry in entries)]
    return transcript(("\n".join(lines) + "\n").encode())


def said(entry_id: str, parent: str | None, role: str, text: str, **more) -> dict:
    message = {"role": role, "content": [{"type": "text", "text": text}], **more}
    return {"type": "message", "id": entry_id, "parentId": parent, "message": message}


def side(entry_id: str, parent: str | None) -> dict:
    return {"type": "label", "id": entry_id, "parentId": parent, "targetId": "a", "label": "x"}


def at(source: EntryLog, key: str) -> int:
    return source.tree.positions[key]


@pytest.fixture
def forked() -> EntryLog:
    return session(
        said("a", None, "user", "hello"),
        said("b", "a", "assistant", "hi"),
        side("l", "b"),
        said("c", "l", "user", "left"),
        said("d", "l", "user", "right"),
        said("e", "d", "assistant", "done"),
    )


def test_two_paths_share_their_beginning_and_go_on_alone(forked):
    found = compare_paths(forked.tree, at(forked, "c"), at(forked, "e"))

    assert found.common_ancestor == "b"
    assert (found.shared, found.left, found.right) == (["a", "b"], ["c"], ["d", "e"])
    assert (found.shared_right, found.by) == (["a", "b"], "id")


def test_a_path_and_its_continuation_leave_one_side_empty(forked):
    found = compare_paths(forked.tree, at(forked, "b"), at(forked, "c"))

    assert (found.common_ancestor, found.left, found.right) == ("b", [], ["c"])


def test_paths_of_two_roots_share_nothing():
    tree = Tree()
    tree.add("a", ROOT, type="message")
    tree.add("b", ROOT, type="message")

    found = compare_paths(tree, 0, 1)

    assert (found.common_ancestor, found.shared, found.left, found.right) == (None, [], ["a"], ["b"])
    assert compare_paths(tree, ROOT, 1).right == ["b"]


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.data())
def test_shared_and_own_parts_make_up_both_paths(steps, data):
    tree = Tree()
    for number, step in enumerate(steps):
        parent = number - 1 if step else data.draw(st.integers(ROOT, number - 1))
        tree.add(f"k{number}", parent, type="message")
    one, other = (data.draw(st.integers(ROOT, len(tree) - 1)) for _ in "ab")

    found = compare_paths(tree, one, other)

    assert found.shared + found.left == [tree.keys[place] for place in tree.path_positions(one)]
    assert found.shared + found.right == [tree.keys[place] for place in tree.path_positions(other)]
    assert not set(found.left) & set(found.right)


def test_a_fork_is_compared_by_ids_without_reading_what_is_said(forked):
    fork = session(
        said("a", None, "user", "hello"), said("b", "a", "assistant", "hi"), said("z", "b", "user", "new")
    )
    fork.entries = forked.entries = None  # nothing may be decoded

    found = compare_sessions(forked, at(forked, "e"), fork, at(fork, "z"))

    assert (found.by, found.shared, found.left, found.right) == ("id", ["a", "b"], ["d", "e"], ["z"])


def test_sessions_without_common_ids_are_compared_turn_by_turn():
    """A model change is no turn: the programs that wrote the two may differ in it."""
    one = session(
        said("a", None, "user", "hello"), said("b", "a", "assistant", "hi"), said("c", "b", "user", "x")
    )
    change = {"type": "model_change", "id": "m", "parentId": "1", "provider": "p", "modelId": "q"}
    other = session(said("1", None, "user", "hello"), change, said("2", "m", "assistant", "hi"))

    found = compare_sessions(one, at(one, "c"), other, at(other, "2"))

    assert (found.by, found.common_ancestor) == ("text", "b")
    assert (found.shared, found.shared_right) == (["a", "b"], ["1", "m", "2"])
    assert (found.left, found.right) == (["c"], [])


def test_the_same_id_on_different_turns_is_no_common_turn():
    """Programs that number their entries give the same ids to all sessions."""
    one, other = session(said("1", None, "user", "hello")), session(said("1", None, "assistant", "bye"))

    found = compare_sessions(one, 0, other, 0)

    assert (found.by, found.shared, found.left, found.right) == ("text", [], ["1"], ["1"])


def test_answers_with_different_calls_differ_although_both_say_nothing():
    def calling(entry_id: str, path: str) -> dict:
        call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": path}}
        return {
            "type": "message",
            "id": entry_id,
            "parentId": None,
            "message": {"role": "assistant", "content": [call]},
        }

    one, other, third = session(calling("a", "x")), session(calling("b", "y")), session(calling("c", "x"))

    assert compare_sessions(one, 0, other, 0).shared == []
    assert compare_sessions(one, 0, third, 0).shared == ["a"]


def test_long_sessions_are_compared_through_to_the_end():
    def long(prefix: str, last: str) -> EntryLog:
        return session(
            *(
                said(f"{prefix}{n}", f"{prefix}{n - 1}" if n else None, "user", f"turn {n}")
                for n in range(200)
            ),
            said(f"{prefix}200", f"{prefix}199", "user", last),
        )

    one, other = long("a", "x"), long("b", "y")

    found = compare_sessions(one, 200, other, 200)

    assert (len(found.shared), found.left, found.right) == (200, ["a200"], ["b200"])
