"""A fork copies a path byte for byte, is linked to its parent, and leaves it unchanged."""

import json
import os
import shutil

import pytest

from branchline import Session
from branchline.clock import SystemClock, iso
from branchline.context import usage_rows
from branchline.entries import Usage
from branchline.errors import NotSaved
from branchline.log import SYSTEM
from branchline.stores import FilesStore, MemoryStore
from session.kit import (
    CWD,
    START,
    assistant,
    clock,
    facts,
    lines_of,
    new,
    path_of,
    records_of,
    require_same_after_reopening,
    said,
    talked,
    user,
    words,
)
from session.proofs import prove_own_and_inherited_are_told_apart
from support import CORPUS

ODD = (
    rb'{"type":"message","id":"odd","parentId":"PARENT","timestamp":"2026-01-05T09:00:00.000Z","n":'
    + b"9" * 60
    + rb',"n":1e400,"\u0064ouble":1,"message":{"role":"user","content":"\u00e4\ud800 \/ \u2028","x":-0.0,"x":2}}'
)
"""A line that no decoder and encoder would give back as it is."""


# -- where a fork comes from -----------------------------------------------------------------------------


@pytest.mark.parity("ZOT-01", "PIG-15", "OPR-09")
def test_a_fork_names_its_parent_and_knows_where_it_left_it(place):
    session = talked(place, 3)
    point = session.path()[3]

    made = session.fork(point)
    made.append_message("another way")

    assert made.parent_session == session.file
    assert records_of(path_of(made))[0]["parentSession"] == session.file
    assert made.fork_point == point
    assert made.inherited_entries == 4
    assert made.id != session.id
    with Session.open(path_of(made)) as again:
        assert (again.fork_point, again.inherited_entries) == (point, 4)
    assert session.fork_point is None


@pytest.mark.parity("ZOT-01")
@pytest.mark.parity("OMP-07", part="the file, not the text given back")
def test_a_fork_before_a_prompt_leaves_the_prompt_out_and_can_hold_nothing_at_all(place):
    session = talked(place, 2)
    first, _answer, second, _last = session.path()

    before_second = session.fork(second, position="before")
    before_first = session.fork(first, position="before")

    assert before_second.path() == session.path()[:2]
    assert before_first.path() == []
    assert before_first.fork_point is None
    assert before_first.parent_session == session.file
    assert not path_of(before_first).exists()
    before_first.append_message("once more")
    before_first.append_message(assistant("from the start"))
    assert records_of(path_of(before_first))[0]["parentSession"] == session.file


@pytest.mark.parity("PIG-09")
@pytest.mark.parametrize(("keep", "kept"), [(0, 6), (1, 1), (3, 3), (6, 6), (99, 6)])
def test_a_fork_of_the_first_messages_keeps_that_many_and_nought_keeps_all(place, keep, kept):
    session = new(place)
    session.append_model_change("anthropic", "claude")
    for turn in range(3):
        session.append_message(user(f"question {turn}"))
        session.append_custom("between", turn)
        session.append_message(assistant(f"answer {turn}"))

    made = session.fork_first(keep)

    assert words(made) == words(session)[:kept]
    assert made.parent_session == session.file


def test_a_fork_of_fewer_than_no_messages_is_refused(place):
    with pytest.raises(ValueError, match="-1"):
        talked(place).fork_first(-1)


def test_the_clock_need_not_move_between_the_last_word_and_the_fork(place):
    """Own and inherited entries are told apart even when everything happens in the same millisecond."""
    prove_own_and_inherited_are_told_apart(place)


def test_a_parent_whose_clock_runs_ahead_still_counts_as_inherited(place):
    session = talked(place, 2, clock=clock(start=START + 3_600_000))

    with Session.open(path_of(session), clock=clock(seed=100)) as late:
        made = late.fork()
    made.append_message(assistant("own"))

    assert made.inherited_entries == 4
    assert made.header.timestamp > session.index.times[-1]


def test_a_nonsense_time_in_the_parent_does_not_become_the_time_of_the_fork(place):
    session = talked(place, 1)
    with open(path_of(session), "ab") as file:
        file.write(
            b'{"type":"message","id":"late","parentId":"%s","timestamp":"9999-12-31T00:00:00.000Z",'
            b'"message":{"role":"user","content":"x"}}\n' % session.leaf.encode()
        )
    session.refresh()

    assert session.fork().header.timestamp < iso(START + 3_600_000)


# -- bytes -----------------------------------------------------------------------------------------------


def odd_session(place):
    session = talked(place, 1)
    with open(path_of(session), "ab") as file:
        file.write(ODD.replace(b"PARENT", session.leaf.encode()) + b"\r\n")
    session.refresh()
    session.append_message(assistant("after something odd"))
    return session


@pytest.mark.parity("OPR-09")
def test_lines_that_were_not_written_here_are_copied_byte_for_byte(place):
    session = odd_session(place)

    made = session.fork()

    assert lines_of(path_of(made))[1:] == lines_of(path_of(session))[1:]
    assert facts(made)["context"] == facts(session)["context"]


def test_where_a_label_is_left_out_only_the_parent_in_the_next_line_changes(place):
    session = talked(place, 1)
    leaf = session.leaf.encode()
    with open(path_of(session), "ab") as file:  # as pi writes: the label is part of the chain
        file.write(
            b'{"type":"label","id":"la","parentId":"%s","timestamp":"2026-01-05T09:00:00.000Z",'
            b'"targetId":"%s","label":"here"}\n' % (leaf, leaf)
        )
        file.write(ODD.replace(b"PARENT", b"la") + b"\n")
    session.refresh()

    made = session.fork()

    assert made.raw("odd") == ODD.replace(b"PARENT", leaf)
    assert made.labels == {leaf.decode(): "here"}
    assert made.path() == session.path()


def test_a_compaction_that_kept_from_a_left_out_entry_keeps_from_the_next_one(place):
    session = talked(place, 2)
    second = session.path()[2]
    session.branch(session.path()[1])
    leaf_entry = session.index.keys[-1]
    with open(path_of(session), "ab") as file:  # pi goes on below our leaf entry, and keeps from there
        file.writelines(
            f'{{{rest},"id":"{key}","parentId":"{parent}","timestamp":"2027-01-05T09:00:00.000Z"}}\n'.encode()
            for key, parent, rest in [
                ("p1", leaf_entry, '"type":"message","message":{"role":"user","content":"from pi"}'),
                ("p2", "p1", f'"type":"compaction","summary":"s","firstKeptEntryId":"{leaf_entry}"'),
            ]
        )
    session.refresh()

    made = session.fork()

    assert json.loads(made.raw("p2"))["firstKeptEntryId"] == "p1"
    assert said(made) == said(session)
    assert made.path() == session.path()
    assert second not in made


def test_usage_and_data_beside_the_path_come_along_and_those_of_other_branches_do_not(place):
    session = talked(place, 2)
    on_path = session.append_custom("state", {"n": 1})
    spent = session.append_usage("cache_warm", Usage(input=5))
    session.set_title("A title")
    session.branch(session.path()[1])
    session.append_message("elsewhere")
    elsewhere = session.append_custom("state", {"n": 2})
    session.branch(session.index.parent(on_path))

    made = session.fork()

    assert {on_path, spent} < set(made.index)
    assert elsewhere not in made
    assert made.path() == session.path()
    assert made.title == "A title"
    require_same_after_reopening(made)


@pytest.mark.parametrize("program", ["branchline", "pi", "oh-my-pi", "operator", "zot", "piglet"])
@pytest.mark.parametrize("when", ["at birth", "first", "last"])
def test_a_fork_keeps_a_title_that_was_given_on_its_path(place, program, when):
    born = {"title": "My title"} if when == "at birth" else {}
    with Session.create(CWD, directory=place, format=program, **born) as session:
        if when == "first":
            session.set_title("My title")
        session.append_message(user("one"))
        session.append_message(assistant("1"))
        if when == "last":
            session.set_title("My title")

        for made in (session.fork(), session.fork(scope="tree"), Session.fork_from(session.file, CWD)):
            assert made.title == "My title"
            require_same_after_reopening(made)
            made.close()


@pytest.mark.parametrize("program", ["branchline", "pi", "operator"])
def test_a_title_that_was_given_below_the_fork_stays_behind(place, program):
    with Session.create(CWD, directory=place, format=program) as session:
        session.set_title("Before")
        session.append_message(user("one"))
        first = session.append_message(assistant("1"))
        session.append_message(user("two"))
        session.append_message(assistant("2"))
        session.set_title("Below")

        assert session.fork(first).title == "Before"
        assert session.fork().title == "Below"


def test_a_fork_has_what_pi_needs_of_answers_that_lack_it(place):
    """Usage of answers, and blocks as content; every other byte of the lines is kept."""
    lines = [
        {"type": "session", "version": 3, "id": "old", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": CWD},
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "text"}},
        {"type": "message", "id": "b", "parentId": "a", "message": {"role": "assistant", "content": "text"}},
    ]
    place.mkdir(exist_ok=True)
    path = place / "old.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Session.open(path) as session:
        for made in (session.fork(), session.fork(scope="tree")):
            with made, open(made.file, encoding="utf-8") as file:
                _, prompt, reply = map(json.loads, file)
            assert prompt == lines[1]
            assert reply["message"]["content"] == [{"type": "text", "text": "text"}]
            assert reply["message"]["usage"]["cost"] == {
                **dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0),
                "known": False,
            }


def test_a_fork_stands_where_it_was_forked_even_if_its_last_line_hangs_higher_up(place):
    session = talked(place, 1)
    answer = session.leaf
    question = session.append_message("more")
    session.branch(answer)
    session.append_custom("late", 1)
    session.branch(question)

    made = session.fork()

    assert made.leaf == question
    require_same_after_reopening(made)


# -- the tree as a whole ---------------------------------------------------------------------------------


def test_a_fork_of_the_tree_holds_every_line_and_stands_where_it_is_told(place):
    session = odd_session(place)
    first = session.path()[0]
    session.branch(first)
    session.append_message("a second branch")
    session.append_label(first, "start")
    target = session.path()[0]

    made = session.fork(target, scope="tree")

    assert lines_of(path_of(made))[1:-1] == lines_of(path_of(session))[1:]
    assert made.leaf == target
    assert made.labels == session.labels
    assert made.inherited_entries == len(session)
    require_same_after_reopening(made)


@pytest.mark.parity("OPR-09", "ZOT-01")
def test_a_fork_of_a_fork_shares_what_both_share(place):
    session = talked(place, 3)

    middle = session.fork(session.path()[3])
    middle.append_message("own")
    middle.append_message(assistant("own"))
    last = middle.fork(middle.path()[-2])

    assert lines_of(path_of(last))[1:5] == lines_of(path_of(session))[1:5]
    assert last.path() == middle.path()[:-1]
    assert last.parent_session == middle.file
    assert last.inherited_entries == 5
    assert last.usage().own.total.cost == 0


@pytest.mark.parametrize("name", ["v1.jsonl", "v2.jsonl", "v1-kept-header.jsonl"])
@pytest.mark.parametrize("scope", ["path", "tree"])
def test_a_fork_of_an_older_version_is_of_the_current_one_and_says_the_same(place, name, scope):
    place.mkdir()
    path = shutil.copy(CORPUS / "pi" / "edge" / name, place / name)
    with Session.open(path, clock=clock()) as session:
        made = session.fork(scope=scope)

        assert made.transcript.reading.version == 3
        assert made.path() == session.path()
        assert facts(made)["context"] == facts(session)["context"]
    assert path.read_bytes() == (CORPUS / "pi" / "edge" / name).read_bytes()


@pytest.mark.parametrize(
    "name", ["bom.jsonl", "no-header.jsonl", "crlf.jsonl", "duplicate-id.jsonl", "orphan.jsonl"]
)
@pytest.mark.parametrize("scope", ["path", "tree"])
def test_a_fork_of_a_strange_file_can_be_read_and_says_the_same(place, name, scope):
    place.mkdir()
    path = shutil.copy(CORPUS / "pi" / "edge" / name, place / name)
    with Session.open(path, clock=clock()) as session:
        made = session.fork(scope=scope)

        assert said(made) == said(session)
        assert made.read_only is None
        made.append_message("it goes on")
    require_same_after_reopening(made)


def test_a_byte_order_mark_does_not_hide_the_first_entry_of_a_file_without_a_header(place):
    place.mkdir()
    path = place / "x.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + b"\n".join(lines_of(CORPUS / "pi" / "edge" / "no-header.jsonl")) + b"\n"
    )
    with Session.open(path, clock=clock()) as session:
        made = session.fork(scope="tree")

        assert made.index.keys == session.index.keys
        assert not made.index.placeholders


# -- where it lies, and what fails -----------------------------------------------------------------------


def test_a_fork_lies_beside_its_parent_or_where_another_directory_has_its_sessions(place, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(place / "home"))
    session = talked(place, 1)
    elsewhere = FilesStore(place / "elsewhere")

    assert path_of(session.fork()).parent == place
    assert path_of(session.fork(cwd="/home/u/other")).is_relative_to(place / "home" / "sessions")
    assert session.fork(cwd="/home/u/other").cwd == "/home/u/other"
    assert path_of(session.fork(store=elsewhere)).parent == place / "elsewhere"


@pytest.mark.parity("OMP-08")
def test_a_fork_in_memory_has_no_path(place):
    session = Session.in_memory(CWD, clock=clock())
    session.append_message("hello")
    answer = session.append_message(assistant("hi"))
    session.append_label(answer, "greeting")

    made = session.fork()

    assert made.file is None
    assert made.parent_session == session.id
    assert made.labels == {answer: "greeting"}
    assert isinstance(made.store, MemoryStore)
    assert made.store is session.store
    require_same_after_reopening(made)


def test_a_fork_keeps_the_durability_of_its_parent(place):
    session = talked(place, 1, durability="os")

    assert session.fork()._writer.durability == "os"
    assert session.new_session()._writer.durability == "os"


def test_a_fork_that_ends_with_a_prompt_is_a_file_at_once(place):
    session = talked(place, 1)

    made = session.fork(session.path()[0])

    assert not made.is_draft
    assert path_of(made).exists()
    made.append_message(assistant("a reply of its own"))
    require_same_after_reopening(made)


@pytest.mark.parametrize("failing", ["link", "write", "fsync", "open"])
def test_a_fork_that_fails_leaves_nothing_behind(place, monkeypatch, failing):
    session = talked(place, 2)
    session.append_label(session.leaf, "last")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}

    def fail(*_arguments):
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patched:
        patched.setattr(SYSTEM, failing, fail)
        with pytest.raises(NotSaved):
            session.fork()

    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    assert session.fork().labels == session.labels


def test_a_fork_is_written_in_one_piece_with_its_labels(place, monkeypatch):
    session = talked(place, 2)
    session.append_label(session.leaf, "last")
    writes = []
    real = os.write

    def write(descriptor, data):
        writes.append(bytes(data))
        return real(descriptor, data)

    with monkeypatch.context() as patched:
        patched.setattr(SYSTEM, "write", write)
        made = session.fork()

    assert writes == [path_of(made).read_bytes()]
    assert b'"label":"last"' in writes[0]


def test_the_parent_may_grow_in_other_hands_before_it_is_forked(place):
    session = talked(place, 1)
    with Session.open(path_of(session), clock=clock(seed=50)) as other:
        entry = other.append_message("by another")

    assert session.fork(entry).leaf == entry


# -- usage -----------------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-02")
def test_what_was_spent_before_the_fork_is_inherited_and_sums_over_sessions_count_everything_once(place):
    session = new(place)
    session.append_message("a")
    session.append_message(assistant("b", cost=1.0))
    point = session.leaf
    session.append_usage("cache_warm", Usage(input=3))
    session.append_message("c")
    session.append_message(assistant("d", cost=2.0))

    made = session.fork(point)
    made.append_message("e")
    made.append_message(assistant("f", cost=4.0))
    again = made.fork()
    again.append_message(assistant("g", cost=8.0))

    usages = [each.usage() for each in (session, made, again)]
    assert [usage.own.total.cost for usage in usages] == [3.0, 4.0, 8.0]
    assert [usage.inherited.total.cost for usage in usages] == [0, 1.0, 5.0]
    assert [usage.all.total.cost for usage in usages] == [3.0, 5.0, 13.0]
    assert sum(usage.own.total.cost for usage in usages) == 15.0
    with Session.open(path_of(again)) as reopened:
        assert reopened.usage() == usages[2]


@pytest.mark.parity("ZOT-11")
def test_usage_is_told_row_by_row_with_a_running_total(place):
    session = new(place)
    session.append_message("a")
    first = session.append_message(assistant("b", cost=1.0))
    between = session.append_usage("cache_warm", Usage(input=5), provider="anthropic", model="m")
    last = session.append_message(assistant("c", cost=2.0))

    rows = list(usage_rows(session.transcript))

    assert [(row.entry, row.usage.cost, row.cumulative.cost) for row in rows] == [
        (first, 1.0, 1.0),
        (between, 0, 1.0),
        (last, 2.0, 3.0),
    ]
    assert rows[1].model == "anthropic/m"
    assert rows[-1].cumulative == session.usage().own.total


def test_a_session_that_names_a_parent_without_copying_anything_inherits_nothing(place):
    session = Session.create(CWD, directory=place, parent_session="/x.jsonl", clock=SystemClock())
    session.append_message("hello")
    session.append_message(assistant("hi"))

    assert session.inherited_entries == 0
    assert session.fork_point is None
    assert session.usage().inherited.total.cost == 0
