"""Concurrent writers on one path, and atomic writes that are decided under the lock."""

from __future__ import annotations

import json

import msgspec
import pytest

from branchline import EntryNotFound, InvalidId, Session, SessionMoved
from branchline.clock import SystemClock
from branchline.entries import Compaction
from branchline.session import NewEntry
from branchline.stores import MemoryStore
from session.kit import assistant, user


@pytest.fixture
def store():
    made = MemoryStore()
    Session.create("/p", store=made, key="s", persist="always").close()
    return made


def handles(store, policy, count=2):
    opened = [Session.from_store(store, "s", clock=SystemClock()) for _ in range(count)]
    for session in opened:
        session.on_conflict = policy
    return opened


def texts(session):
    return [entry.message.content[0].text for entry in session.entries(session.path())]


def test_with_append_two_writers_make_one_line(store):
    one, other = handles(store, "append")
    one.append_message(user("start"))

    for number in range(20):
        one.append_message(user(f"one {number}"))
        other.append_messages([user(f"other {number}")])

    one.refresh()
    assert len(texts(one)) == 41
    assert texts(one)[-2:] == ["one 19", "other 19"]


def test_with_branch_each_writer_stays_on_its_own_line(store):
    one, other = handles(store, "branch")
    one.append_message(user("start"))
    other.refresh()

    for number in range(20):
        one.append_message(user(f"one {number}"))
        other.append_message(user(f"other {number}"))

    assert len(texts(one)) == len(texts(other)) == 21
    one.refresh()
    assert len(one) == 41


def test_with_raise_a_writer_that_was_overtaken_writes_nothing_until_it_looks(store):
    one, other = handles(store, "raise")
    one.append_message(user("start"))
    size = store.stat("s").size

    with pytest.raises(SessionMoved, match="refresh"):
        other.append_message(user("late"))
    with pytest.raises(SessionMoved):
        other.write(lambda _session: [NewEntry.message("late")])

    assert store.stat("s").size == size
    other.refresh()
    other.append_message(user("again"))
    assert texts(other) == ["start", "again"]


def test_a_label_of_another_writer_is_no_conflict(store):
    one, other = handles(store, "raise")
    first = one.append_message(user("start"))
    other.refresh()

    one.append_label(first, "here")
    other.append_message(user("next"))

    assert texts(other) == ["start", "next"]


def test_with_append_a_move_of_another_writer_is_followed(store):
    one, other = handles(store, "append")
    first = one.append_message(user("start"))
    one.append_message(user("left"))

    one.branch(first)
    other.append_message(user("on the new branch"))

    assert texts(other) == ["start", "on the new branch"]
    last = json.loads(one.raw(one.index.keys[-1]))
    assert (last["type"], last["parentId"], last["targetId"]) == ("leaf", first, first)


def test_with_append_a_compaction_of_a_branch_that_was_left_is_refused(store):
    one, other = handles(store, "append")
    first = one.append_message(user("start"))
    kept = one.append_message(user("left"))
    other.refresh()
    one.branch(first)
    one.append_message(user("elsewhere"))

    with pytest.raises(SessionMoved, match="compact"):
        other.append_compaction("summary", kept)


def test_a_write_puts_entries_of_many_kinds_into_the_log_at_once(store):
    (session,) = handles(store, "branch", 1)
    seen = []
    session.subscribe(seen.append)

    ids = session.write(
        lambda _session: [
            NewEntry.message(user("question"), id="q"),
            NewEntry.message(assistant("answer"), id="a"),
            NewEntry.label("a", "first answer"),
            NewEntry.custom("record", {"revision": 1}),
            NewEntry.title("Talk"),
            NewEntry.move("q"),
            NewEntry.message(assistant("other answer"), id="b"),
            NewEntry(kind=Compaction, fields={"summary": "so far", "first_kept": "b"}, id="c"),
        ]
    )

    with Session.from_store(store, "s") as again:
        assert again.path() == session.path() == ["q", "b", "c"]
        assert again.leaf == session.leaf == "c"
        assert again.labels == {"a": "first answer"}
        assert again.title == "Talk"
        assert again.index.parent("b") == "q"
    assert len(ids) == len(seen) == 8
    assert (ids[0], ids[1], ids[6], ids[7]) == ("q", "a", "b", "c")


def test_a_write_that_ends_with_a_move_leaves_the_leaf_there(store):
    (session,) = handles(store, "append", 1)

    session.write(
        lambda _session: [
            NewEntry.message("one", id="1"),
            NewEntry.message("two", id="2"),
            NewEntry.move("1"),
        ]
    )
    session.append_message("three")

    with Session.from_store(store, "s") as again:
        assert texts(again) == ["one", "three"]


def test_what_build_raises_passes_through_and_nothing_is_written(store):
    one, other = handles(store, "append")
    one.append_custom("revision", 2)
    size = store.stat("s").size

    def build(session):
        newest = [e for e in session.entries() if e.type == "custom"][-1]
        if newest.data != 1:
            raise KeyError(f"revision {newest.data}")
        return [NewEntry.message("late")]

    with pytest.raises(KeyError, match="revision 2"):
        other.write(build)

    assert store.stat("s").size == size
    assert other.write(lambda _session: []) == []
    assert store.stat("s").size == size


def test_an_id_that_is_taken_and_a_parent_that_is_absent_are_refused(store):
    (session,) = handles(store, "branch", 1)
    session.write(lambda _session: [NewEntry.message("one", id="1")])
    size = store.stat("s").size

    for new in (
        [NewEntry.message("x", id="1")],
        [NewEntry.message("x", id="2"), NewEntry.message("y", id="2")],
    ):
        with pytest.raises(InvalidId, match="taken"):
            session.write(lambda _session, new=new: new)
    with pytest.raises(EntryNotFound):
        session.write(lambda _session: [NewEntry.message("x", parent="absent")])

    assert store.stat("s").size == size
    session.write(lambda _session: [NewEntry.message("root", id="r", parent=None)])
    assert session.path() == ["r"]


def test_a_message_may_carry_its_native_form_as_raw_json(store):
    (session,) = handles(store, "branch", 1)
    native = {"format": "openai.responses", "v": 1, "items": msgspec.Raw(b'[{"type": "message",  "x": 1}]')}

    (key,) = session.write(lambda _session: [NewEntry.message({**assistant("hi"), "native": native})])

    assert b'"items":[{"type": "message",  "x": 1}]' in session.raw(key)


def test_many_lines_are_read_in_few_pieces(store):
    (session,) = handles(store, "branch", 1)
    keys = session.append_messages([user(f"text {number}") for number in range(500)])
    reads = []
    log = session._writer.log
    session.transcript.rebind(lambda at, size: reads.append(size) or log.read(at, size), "s")

    wanted = [keys[400], *keys[100:200], keys[0], keys[400]]
    lines = session.raws(wanted)
    last = session.entries(session.path(limit=50))

    assert len(reads) <= 5
    assert lines == [session.raw(key) for key in wanted]
    assert [entry.id for entry in last] == keys[-50:]


def test_the_end_of_a_path_needs_no_walk_to_the_root(store):
    (session,) = handles(store, "branch", 1)
    keys = session.append_messages([user(f"text {number}") for number in range(30)])
    session.append_label(keys[-1], "x")

    assert session.path(limit=3) == session.path()[-3:] == keys[-3:]
    assert session.path(keys[4], limit=2) == keys[3:5]
    assert session.path(limit=100) == keys
    assert session.path(limit=0) == []
    with pytest.raises(ValueError, match="limit"):
        session.path(limit=-1)
