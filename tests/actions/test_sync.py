"""Syncing two stores: nothing is lost or chosen silently, and repeating it changes nothing."""

from __future__ import annotations

import hashlib
import itertools
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline import Session
from branchline.actions.sync import sync
from branchline.clock import FixedClock
from branchline.errors import NotSupported
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
    directory.load("a", [b'{"type":"meta","meta":{}}\n{"broken\n\xff\n'])
    database.load("b", [b'{"type":"meta","meta":{}}\n'])

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
    assert content(directory, "b") == b'{"type":"meta","meta":{}}\n{"n":1}\n'
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


# -- files, links, folders, trash ---------------------------------------------------------------------------

HEAD = b'{"type":"session","version":3,"id":"%s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}\n'


def line(name, parent=None, text="words", time="2026-01-01T00:00:01.000Z"):
    message = {"role": "user", "content": text, "timestamp": 1}
    fields = {"type": "message", "id": name, "parentId": parent, "timestamp": time, "message": message}
    return json.dumps(fields).encode() + b"\n"


BASE = HEAD % b"talk" + line("e1") + line("e2", "e1")


@pytest.fixture
def pair(tmp_path):
    for name in ("mine", "stick"):
        (tmp_path / name).mkdir()
    return tmp_path / "mine", tmp_path / "stick"


def synced(mine, stick, **options):
    planned = list(sync(FilesStore(mine), FilesStore(stick), dry_run=True, **options))
    done = list(sync(FilesStore(mine), FilesStore(stick), **options))
    assert [(one.key, one.action) for one in planned] == [(one.key, one.action) for one in done]
    return {one.key: one for one in done}


def ids(path):
    return [json.loads(one).get("id") for one in path.read_bytes().splitlines()]


def test_a_conflict_copy_that_was_continued_is_not_called_the_same(pair):
    mine, stick = pair
    (mine / "talk.jsonl").write_bytes(BASE + line("x", "e2", "mine"))
    (stick / "talk.jsonl").write_bytes(BASE + line("x", "e2", "theirs"))
    synced(mine, stick)
    (copy,) = stick.glob("talk.other-*")
    with copy.open("ab") as file:
        file.write(line("y", "x", "work in the copy"))

    result = synced(mine, stick)[copy.stem]

    assert result.action == "copied"
    assert (mine / copy.name).read_bytes() == copy.read_bytes()
    assert {one.action for one in synced(mine, stick).values()} == {"same"}


def test_the_digest_in_the_name_of_a_copy_decides_nothing(pair):
    mine, stick = pair
    (mine / "talk.jsonl").write_bytes(BASE)
    (stick / "talk.jsonl").write_bytes(BASE)
    name = f"talk.other-{hashlib.sha256(BASE).hexdigest()[:12]}"
    (stick / f"{name}.jsonl").write_bytes(HEAD % b"other" + line("secret"))

    assert synced(mine, stick)[name].action == "copied"
    assert ids(mine / f"{name}.jsonl") == ["other", "secret"]


def test_a_session_in_conflict_has_one_copy_that_grows_with_it(pair):
    mine, stick = pair
    (mine / "talk.jsonl").write_bytes(HEAD % b"p" + line("e1", None, "A"))
    (stick / "talk.jsonl").write_bytes(HEAD % b"q" + line("e1", None, "B"))
    for number in range(4):
        synced(mine, stick)
        assert len(list(mine.glob("*.jsonl"))) == len(list(stick.glob("*.jsonl"))) == 2
        with (mine / "talk.jsonl").open("ab") as file:
            file.write(line(f"m{number}", "e1"))

    synced(mine, stick)

    (copy,) = stick.glob("talk.other-*")
    assert ids(copy)[1:] == ids(mine / "talk.jsonl")[1:]


def test_one_wrong_clock_does_not_win_over_what_was_done_after_it(pair):
    mine, stick = pair
    far = "2099-01-01T00:00:00.000Z"
    title = {"type": "session_info", "id": "t", "parentId": "e2", "timestamp": far, "name": "old title"}
    label = {"type": "label", "id": "l", "parentId": "e2", "timestamp": far, "targetId": "e1", "label": "old"}
    records = b"".join(json.dumps(one).encode() + b"\n" for one in (title, label))
    (mine / "talk.jsonl").write_bytes(BASE + records + line("far", "e2", time=far))
    (stick / "talk.jsonl").write_bytes(BASE + line("b1", "e2", time="2026-02-01T00:00:00.000Z"))

    assert "times in the future, up to 2099" in synced(mine, stick)["talk"].note
    for number in range(3):
        for place in pair:
            with Session.open(place / "talk.jsonl") as session:
                session.branch("b1")
                session.append_message(f"today {number} in {place.name}")
                session.append_label("e1", f"label {number} in {place.name}")
                session.set_title(f"title {number} in {place.name}")
        synced(mine, stick)
        states = [seen(FilesStore(place)) for place in pair]
        assert states[0] == states[1]
        assert states[0][2] == f"title {number} in stick"
        assert states[0][3]["e1"] == f"label {number} in stick"
        entries, leaf = states[0][:2]
        assert f"today {number} in stick".encode() in entries[leaf][1]


@pytest.mark.parametrize("place", ["mine", "stick"])
@pytest.mark.parametrize("target", ["passwd", "session", "dangling", "directory"])
def test_a_link_in_a_store_is_skipped_and_nothing_is_written_through_it(place, target, pair, tmp_path):
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(BASE)
    aim = {"passwd": "/etc/passwd", "session": outside, "dangling": tmp_path / "no", "directory": tmp_path}
    (tmp_path / place / "talk.jsonl").symlink_to(aim[target])
    other = pair[place == "mine"]
    if target == "session":
        (other / "talk.jsonl").write_bytes(BASE + line("c1", "e2"))
    before = sorted(other.iterdir())

    results = synced(*pair)

    assert {one.action for one in results.values()} == {"skipped"}
    assert all("link" in one.note or "regular" in one.note or "read" in one.note for one in results.values())
    assert sorted(other.iterdir()) == before
    assert outside.read_bytes() == BASE


def test_nothing_is_appended_to_a_file_with_a_second_name(pair, tmp_path):
    mine, stick = pair
    (tmp_path / "outside.jsonl").write_bytes(BASE)
    os.link(tmp_path / "outside.jsonl", mine / "talk.jsonl")
    (stick / "talk.jsonl").write_bytes(BASE + line("c1", "e2"))

    assert "2 names" in synced(mine, stick)["talk"].note
    assert (tmp_path / "outside.jsonl").read_bytes() == BASE


def test_a_file_put_in_the_place_of_a_log_meanwhile_gets_nothing(pair, tmp_path, monkeypatch):
    mine, stick = pair
    (tmp_path / "outside.jsonl").write_bytes(BASE)
    (mine / "talk.jsonl").write_bytes(BASE)
    (stick / "talk.jsonl").write_bytes(BASE + line("c1", "e2"))
    from branchline.actions import sync as module

    append = module._append

    def swapped(*arguments, **options):
        (mine / "talk.jsonl").unlink()
        (mine / "talk.jsonl").symlink_to(tmp_path / "outside.jsonl")
        return append(*arguments, **options)

    monkeypatch.setattr(module, "_append", swapped)
    (result,) = sync(FilesStore(mine), FilesStore(stick))

    assert result.action == "skipped"
    assert (tmp_path / "outside.jsonl").read_bytes() == BASE


@pytest.mark.parametrize("data", [b"root:x:0:0\n", b"{}\n", b"\0" * 40 + b"\n", b"[1]\n"])
def test_what_is_no_session_is_skipped_with_the_reason(data, pair):
    mine, stick = pair
    (stick / "talk.jsonl").write_bytes(data)

    assert "it is not a session in" in synced(mine, stick)["talk"].note
    assert list(mine.iterdir()) == []


@pytest.mark.parametrize("both", [True, False])
def test_an_unfinished_line_skips_the_session(both, pair):
    mine, stick = pair
    torn = BASE + line("a1", "e2") + b'{"type":"message","id":"to'
    (mine / "talk.jsonl").write_bytes(torn)
    if both:
        (stick / "talk.jsonl").write_bytes(BASE + line("c1", "e2"))
    before = [path.read_bytes() for path in stick.iterdir()]

    assert "its last line is unfinished in" in synced(mine, stick)["talk"].note
    assert (mine / "talk.jsonl").read_bytes() == torn
    assert [path.read_bytes() for path in stick.iterdir()] == before


@pytest.mark.parametrize("other", [b"", line("c1", "e2")])
def test_bytes_that_are_no_entry_stay_where_they_are(other, pair):
    """A fragment that an append has closed, a line without an id, a second header."""
    mine, stick = pair
    junk = b'{"type":"message","id":"to\n{"type":"label"}\n' + HEAD % b"again" + b"[1]\n"
    (mine / "talk.jsonl").write_bytes(BASE + junk + line("a1", "e2"))
    (stick / "talk.jsonl").write_bytes(BASE + other)

    result = synced(mine, stick)["talk"]

    assert result.action == "joined"
    assert "4 lines that are no entries stayed in" in result.note
    assert "a1" in ids(stick / "talk.jsonl")
    with Session.open(stick / "talk.jsonl") as session:
        assert session.findings == []
    before = [(place / "talk.jsonl").read_bytes() for place in pair]
    assert {one.action for one in synced(mine, stick).values()} == {"same"}
    assert [(place / "talk.jsonl").read_bytes() for place in pair] == before


def test_the_companion_folder_travels_with_its_session(pair, tmp_path):
    mine, stick = pair
    (mine / "talk.jsonl").write_bytes(BASE)
    (mine / "talk" / "subagents").mkdir(parents=True)
    (mine / "talk" / "subagents" / "agent.jsonl").write_bytes(BASE)
    (mine / "talk" / "passwd").symlink_to("/etc/passwd")

    assert synced(mine, stick)["talk"].files_to_second == 1
    (stick / "talk" / "result.txt").write_bytes(b"late")
    with (mine / "talk" / "subagents" / "agent.jsonl").open("ab") as file:
        file.write(line("more", "e2"))
    result = synced(mine, stick)["talk"]

    assert (result.action, result.files_to_first, result.files_to_second) == ("caught up", 1, 1)
    assert (mine / "talk" / "result.txt").read_bytes() == b"late"
    copied = (stick / "talk" / "subagents" / "agent.jsonl").read_bytes()
    assert copied == (mine / "talk" / "subagents" / "agent.jsonl").read_bytes()
    assert not (stick / "talk" / "passwd").exists()
    database = SqliteStore(tmp_path / "s.db")
    (result,) = sync(FilesStore(mine), database)
    assert "2 files of its folder stayed in" in result.note
    database.close()


def test_a_companion_folder_that_is_a_link_is_not_written_through(pair, tmp_path):
    mine, stick = pair
    (tmp_path / "victim").mkdir()
    (mine / "talk.jsonl").write_bytes(BASE)
    (mine / "talk" / "deep").mkdir(parents=True)
    (mine / "talk" / "deep" / "a.txt").write_bytes(b"a")
    (mine / "talk" / "b.txt").write_bytes(b"b")
    (stick / "talk").mkdir()
    (stick / "talk" / "deep").symlink_to(tmp_path / "victim")
    (stick / "talk" / "b.txt").symlink_to(tmp_path / "victim" / "b.txt")

    assert "2 files of its folder stayed" in synced(mine, stick)["talk"].note
    assert list((tmp_path / "victim").iterdir()) == []


@pytest.mark.parametrize(
    "make", [lambda path: FilesStore(path / "f"), lambda path: SqliteStore(path / "s.db")]
)
def test_what_lies_in_the_trash_of_a_store_is_not_copied_back(make, pair, tmp_path):
    _, stick = pair
    (tmp_path / "f").mkdir()
    store = make(tmp_path)
    (stick / "talk.jsonl").write_bytes(BASE)
    list(sync(store, FilesStore(stick)))
    removed = store.remove("talk")

    (result,) = sync(store, FilesStore(stick))

    assert result.action == "removed there"
    assert removed.token in result.note
    assert store.stat("talk") is None
    store.restore(removed.token)
    assert [one.action for one in sync(store, FilesStore(stick))] == ["same"]
    store.remove("talk")
    with (stick / "talk.jsonl").open("ab") as file:
        file.write(line("e3", "e2"))
    assert [one.action for one in sync(store, FilesStore(stick))] == ["copied"]


def test_every_file_of_both_stores_is_in_the_answer(pair):
    mine, stick = pair
    names = ["..jsonl", "a\nb.jsonl", "\x1b[31mred.jsonl", "a\\b.jsonl", ".hidden.jsonl"]
    for name in names:
        (stick / name).write_bytes(BASE)
    (stick / "notes.txt").write_bytes(b"mine")
    (mine / "talk.jsonl").write_bytes(BASE)
    (mine / "talk.ndjson").write_bytes(BASE)

    results = synced(mine, stick)

    assert {name: results[name].action for name in names} == dict.fromkeys(names, "skipped")
    assert results["notes.txt"].action == "ignored"
    assert "same key" in results["talk.ndjson"].note
    assert sorted(path.name for path in mine.glob("*")) == ["talk.jsonl", "talk.ndjson"]


def test_a_session_renamed_on_one_side_is_not_copied_under_both_names(pair):
    mine, stick = pair
    (mine / "talk.jsonl").write_bytes(BASE)
    (stick / "renamed.jsonl").write_bytes(BASE)

    results = synced(mine, stick)

    assert {key: one.note for key, one in results.items()} == {
        "talk": "the other store has it as renamed",
        "renamed": "the other store has it as talk",
    }
    assert [len(list(place.iterdir())) for place in pair] == [1, 1]


def test_the_folders_below_a_directory_are_synced(pair, tmp_path):
    mine, stick = pair
    (mine / "project-1" / "deep").mkdir(parents=True)
    (stick / "project-2").mkdir()
    (mine / "project-1" / "talk.jsonl").write_bytes(BASE)
    (mine / "project-1" / "deep" / "talk.jsonl").write_bytes(BASE + line("x", "e2"))
    (stick / "project-2" / "other.jsonl").write_bytes(BASE)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.jsonl").write_bytes(BASE)
    (mine / "linked").symlink_to(tmp_path / "elsewhere")

    results = synced(mine, stick)

    copied = sorted(key for key, one in results.items() if one.action == "copied")
    assert copied == ["project-1/deep/talk", "project-1/talk", "project-2/other"]
    assert (stick / "project-1" / "deep" / "talk.jsonl").read_bytes() == BASE + line("x", "e2")
    assert (mine / "project-2" / "other.jsonl").read_bytes() == BASE
    assert not (stick / "linked").exists()
    assert results["linked"].action == "ignored"
    with (mine / "project-1" / "talk.jsonl").open("ab") as file:
        file.write(line("e3", "e2"))
    assert list(synced(mine, stick, keys=["project-1/talk"])) == ["project-1/talk"]
    assert "e3" in ids(stick / "project-1" / "talk.jsonl")


def test_a_folder_that_is_a_link_in_the_other_store_is_skipped(pair, tmp_path):
    mine, stick = pair
    (tmp_path / "victim").mkdir()
    (mine / "project").mkdir()
    (mine / "project" / "talk.jsonl").write_bytes(BASE)
    (stick / "project").symlink_to(tmp_path / "victim")

    assert synced(mine, stick)["project/"].action == "skipped"
    assert list((tmp_path / "victim").iterdir()) == []


def test_folders_and_a_store_without_folders_are_refused_by_name_before_anything_is_written(pair, tmp_path):
    mine, _ = pair
    (mine / "project-1").mkdir()
    (mine / "project-1" / "talk.jsonl").write_bytes(BASE)
    (mine / "root.jsonl").write_bytes(BASE)
    store = SqliteStore(tmp_path / "s.db")

    with pytest.raises(NotSupported, match="project-1"):
        list(sync(FilesStore(mine), store))

    assert not (tmp_path / "s.db").exists()


def test_a_directory_is_not_synced_with_one_inside_it(pair):
    mine, _ = pair
    (mine / "backup").mkdir()
    (mine / "talk.jsonl").write_bytes(BASE)

    with pytest.raises(NotSupported, match="one is inside the other"):
        list(sync(FilesStore(mine), FilesStore(mine / "backup")))

    assert list((mine / "backup").iterdir()) == []
