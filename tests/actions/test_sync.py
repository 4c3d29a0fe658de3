"""Syncing two stores: nothing is lost or chosen silently, and repeating it changes nothing."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline import Session
from branchline.actions.sync import sync
from branchline.clock import FixedClock
from branchline.stores import FilesStore, MemoryStore, open_store
from branchline.stores.sqlite import SqliteStore
from formats.database_kit import opencode_database

KEY = "talk"


def content(store, key=KEY):
    with store.snapshot(key) as read:
        return read(0, 1 << 30)


def copy_of(store):
    made = MemoryStore()
    for stored in store.scan().found:
        made.load(stored.key, [content(store, stored.key)])
    return made


def seen(store, key=KEY):
    """What a person sees of a session: the conversation as a tree, where it stands, its title and labels."""
    with Session.from_store(store, key) as session:
        index = session.index
        entries = {
            entry: (index.parent(entry), session.raw(entry))
            for entry, kind in zip(index.keys, index.types, strict=True)
            if kind not in ("leaf", "label", "session_info")
        }
        assert session.findings == []
        return entries, session.leaf, session.title, session.labels


STEPS = st.lists(
    st.tuples(st.sampled_from(["say", "branch", "label", "title", "reset"]), st.integers(0, 30)), max_size=8
)


def play(store, steps, clock):
    with Session.from_store(store, KEY, clock=clock) as session:
        for step, number in steps:
            said = session.path()
            match step:
                case "say":
                    session.append_message(f"text {number}")
                case "branch" if said:
                    session.branch(said[number % len(said)])
                case "label" if said:
                    session.append_label(said[number % len(said)], f"name {number}" if number % 3 else None)
                case "title":
                    session.set_title(f"title {number}")
                case "reset":
                    session.reset()


def begun(steps=()):
    store = MemoryStore()
    with Session.create("/p", store=store, key=KEY, persist="always", clock=FixedClock(seed=1)) as session:
        session.append_message("first")
    play(store, steps, FixedClock(seed=10, start=1_767_225_700_000))
    return store


def grown(base, steps, number):
    """A copy of a store that went on by itself; times and ids of different copies differ."""
    store = copy_of(base)
    play(store, steps, FixedClock(start=1_767_226_000_000 + number * 7, step=1_000, seed=number * 1_000_000))
    return store


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS, STEPS, STEPS)
def test_sync_is_a_union_that_commutes_and_changes_nothing_the_second_time(before, left, right):
    base = begun(before)
    one, two = grown(base, left, 1), grown(base, right, 2)
    three, four = copy_of(one), copy_of(two)
    all_lines = set(content(one).split(b"\n")) | set(content(two).split(b"\n"))

    list(sync(one, two))
    list(sync(four, three))
    again = [content(one), content(two)]
    results = list(sync(one, two))

    assert seen(one) == seen(two) == seen(three) == seen(four)
    assert all_lines <= set(content(one).split(b"\n"))
    assert all_lines <= set(content(two).split(b"\n"))
    assert [result.action for result in results] == ["same"]
    assert [content(one), content(two)] == again


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS, STEPS, STEPS)
def test_the_order_in_which_three_stores_meet_does_not_matter(first, second, third):
    base = begun()
    stores = [grown(base, steps, number) for number, steps in enumerate((first, second, third), 1)]
    outcomes = []

    for order in itertools.permutations(range(3)):
        made = [copy_of(store) for store in stores]
        for a, b in (order[:2], order[1:], order[:2]):
            list(sync(made[a], made[b]))
        outcomes += [seen(store) for store in made]

    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_what_one_store_lacks_is_copied_and_a_tail_is_appended(tmp_path):
    directory, database = FilesStore(tmp_path / "files"), SqliteStore(tmp_path / "s.db")
    directory.load("a", [b'{"type":"meta"}\n{"broken\n\xff\n{"torn'])
    database.load("b", [b"{}\n"])

    planned = list(sync(directory, database, dry_run=True))
    assert database.stat("a") is None
    done = list(sync(directory, database))

    assert planned == done
    assert [(one.key, one.action) for one in done] == [("a", "copied"), ("b", "copied")]
    assert content(database, "a") == content(directory, "a")
    with database.open("b").exclusive() as writer:
        writer.append(b'{"n":1}\n')
    (result,) = [one for one in sync(directory, database) if one.key == "b"]
    assert (result.action, result.to_first, result.to_second) == ("caught up", 8, 0)
    assert content(directory, "b") == b'{}\n{"n":1}\n'
    assert {one.action for one in sync(directory, database)} == {"same"}
    database.close()


def test_one_id_with_two_contents_is_kept_twice_and_told():
    base = begun()
    one, two = copy_of(base), copy_of(base)
    for store, word in ((one, b"yes"), (two, b"no")):
        with store.open(KEY).exclusive() as writer:
            writer.append(
                b'{"type":"message","id":"x","parentId":null,"message":{"role":"user","content":"%s"}}\n'
                % word
            )
    before = [content(one), content(two)]

    (result,) = sync(one, two)

    assert (result.action, result.conflicts) == ("forked", ("x",))
    assert [content(one), content(two)] == before
    for store, word in ((one, b"no"), (two, b"yes")):
        (copy,) = [stored.key for stored in store.scan().found if stored.key != KEY]
        assert word in content(store, copy)
        with Session.from_store(store, copy) as session:
            assert (session.id, session.parent_session) == (copy, KEY)
    assert {one_.action for one_ in sync(one, two)} == {"same"}


def test_a_foreign_session_that_both_continued_is_kept_twice():
    one, two = MemoryStore(), MemoryStore()
    one.load(KEY, [b'{"type":"meta","meta":{}}\n{"a":1}\n'])
    two.load(KEY, [b'{"type":"meta","meta":{}}\n{"b":1}\n'])

    (result,) = sync(one, two)

    assert result.action == "forked"
    assert sorted(content(one, stored.key) for stored in one.scan().found) == sorted(
        content(two, stored.key) for stored in two.scan().found
    )
    assert {one_.action for one_ in sync(one, two)} == {"same"}


def test_a_database_of_another_program_gives_and_is_never_promised_anything(tmp_path):
    opencode_database(tmp_path / "opencode.db")
    one, two = FilesStore(tmp_path / "ours"), open_store(tmp_path / "opencode.db")
    one.load(KEY, [content(begun())])

    promised = list(sync(one, two, dry_run=True))
    done = list(sync(one, two))

    assert promised == done
    assert {result.key: result.action for result in done} == {KEY: "skipped", "ses_1": "copied"}
    assert "only read" in next(result.note for result in done if result.key == KEY)
    assert next(result.to_first for result in done if result.key == "ses_1") == len(content(one, "ses_1"))
    assert content(one, "ses_1") == content(two, "ses_1")
    assert {result.key: result.action for result in sync(one, two)} == {KEY: "skipped", "ses_1": "same"}


def test_a_session_that_is_open_is_skipped_with_a_sentence():
    one, two = begun(), MemoryStore()

    with one.open(KEY).exclusive():
        (result,) = sync(one, two)

    assert result.action == "skipped"
    assert "open" in result.note
    assert two.scan().found == []


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_sync_that_was_interrupted_is_finished_by_the_next(stop, monkeypatch):
    base = begun()
    say = [("say", 1), ("label", 1), ("title", 2)]
    one, two = grown(base, say, 1), grown(base, [*say, ("reset", 0)], 2)
    whole = copy_of(one), copy_of(two)
    list(sync(*whole))
    appended = []
    from branchline.actions import sync as module

    append = module._append

    def fail(*arguments, **options):
        appended.append(1)
        if len(appended) == stop:
            raise KeyboardInterrupt
        return append(*arguments, **options)

    monkeypatch.setattr(module, "_append", fail)
    with pytest.raises(KeyboardInterrupt):
        list(sync(one, two))
    monkeypatch.undo()

    assert seen(one)
    assert seen(two)
    list(sync(one, two))
    list(sync(one, two))
    assert seen(one) == seen(two) == seen(whole[0])
