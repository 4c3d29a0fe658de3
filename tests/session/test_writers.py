"""Two writers branch instead of conflicting, and a file changed by others is never damaged further."""

import os
import threading
from pathlib import Path

import pytest

from branchline import Session
from branchline.errors import LockTimeout, LogGone, LogReplaced, LogShrank
from branchline.stores import FilesStore
from session.kit import (
    assistant,
    bytes_of,
    clock,
    facts,
    lines_of,
    path_of,
    require_same_after_reopening,
    said,
    talked,
    words,
)
from session.processes import child, run_together
from session.proofs import (
    prove_a_branch_is_recorded,
    prove_a_rewritten_file_is_noticed,
    prove_ids_are_told_apart,
    prove_our_leaf_stays_ours,
)


@pytest.fixture
def pair(place):
    """Two sessions on one file, as two programs have them."""
    one = talked(place, 1)
    with one, Session.open(one.file, clock=clock(seed=1000)) as other:
        yield one, other


# -- two objects -----------------------------------------------------------------------------------------


def test_both_continuations_are_in_the_tree_each_under_its_own_leaf(pair):
    one, other = pair
    shared = one.leaf

    ours = one.append_message("by one")
    theirs = other.append_message("by the other")
    ours_too = one.append_message(assistant("to one"))
    theirs_too = other.append_message(assistant("to the other"))

    assert one.path()[-3:] == [shared, ours, ours_too]
    assert other.path()[-3:] == [shared, theirs, theirs_too]
    one.refresh_log()
    assert set(one.children(shared)) == {ours, theirs} == set(other.children(shared))
    assert one.leaf == ours_too
    assert words(one)[-2:] == ["by one", "to one"]


def test_refreshing_is_opening_again(pair):
    one, other = pair
    other.append_message("by the other")
    other.append_label(other.leaf, "here")
    other.set_title("A title")

    assert one.refresh() == 3

    assert facts(one) == facts(other)
    with Session.open(one.file) as again:
        assert facts(one) == facts(again)
    assert one.refresh() == 0


def test_taking_in_what_others_wrote_does_not_move_us(pair):
    one, other = pair
    leaf = one.leaf
    other.append_message("by the other")

    assert one.refresh_log() == 1
    assert one.leaf == leaf
    assert one.path() == other.path()[:-1]


def test_ids_that_both_would_choose_are_told_apart(place):
    prove_ids_are_told_apart(place)


def test_a_branch_is_recorded_although_the_other_has_moved_the_file_elsewhere(place):
    prove_a_branch_is_recorded(place)


def test_a_reset_by_one_leaves_the_other_where_it_stands(pair):
    one, other = pair
    leaf = other.leaf

    one.reset()
    entry = other.append_message("still here")

    assert other.index.parent(entry) == leaf
    assert one.append_message("a new root") in one.index.roots()


def test_a_label_by_one_is_seen_by_the_other_and_the_last_one_wins(pair):
    one, other = pair
    first = one.path()[0]

    one.append_label(first, "one's")
    other.append_label(first, "the other's")
    one.refresh_log()

    assert one.label(first) == other.label(first) == "the other's"


def test_threads_that_share_a_session_lose_nothing(place):
    session = talked(place, 1, durability="os")
    made: list[str] = []

    def work(name):
        made.extend(session.append_message(f"{name} {number}") for number in range(50))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(made)) == 200
    assert set(made) < set(session.index)
    assert len(session) == 202
    session.branch(session.leaf)
    require_same_after_reopening(session)


# -- processes -------------------------------------------------------------------------------------------


def require_all_there(path, acknowledged):
    """Every entry that somebody acknowledged is readable, has the parent it was given, and is reachable."""
    with Session.open(path) as session:
        assert session.findings == []
        for entry, parent in acknowledged:
            assert session.index.parent(entry) == parent
        reachable, waiting = set(), [node.id for node in session.tree()]
        while waiting:
            key = waiting.pop()
            reachable.add(key)
            waiting += session.index.children(key)
        assert reachable == set(session.index)
        assert {entry for entry, _ in acknowledged} <= reachable
        for entry, _parent in acknowledged:
            assert session.path(entry)[-1] == entry
        assert len(session.entries()) == len(session)
        return len(session)


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=pytest.mark.slow)])
def test_four_processes_append_to_one_session_and_every_entry_is_reachable(tmp_path, count):
    session = talked(tmp_path / "sessions", 1)
    start = session.leaf

    said_by = run_together([["append", session.file, "os", name, count] for name in "abcd"])

    acknowledged = [tuple(words) for lines in said_by for words in lines]
    assert len(acknowledged) == 4 * count
    assert require_all_there(session.file, acknowledged) == 2 + 4 * count
    session.refresh()
    assert len(session.children(start)) == 4
    # Each has its own branch, unbroken.
    for lines in said_by:
        assert session.path(lines[-1][0])[2:] == [entry for entry, _ in lines]


def test_a_program_that_does_not_lock_loses_nothing_to_us_and_we_nothing_to_it(tmp_path):
    session = talked(tmp_path / "sessions", 1)

    said_by = run_together(
        [
            ["foreign", session.file, "foreign", 150],
            ["append", session.file, "os", "a", 100],
            ["append", session.file, "os", "b", 100],
        ]
    )

    acknowledged = [tuple(words) for lines in said_by for words in lines]
    assert len(acknowledged) == 350
    assert require_all_there(session.file, acknowledged) == 352


def test_our_leaf_stays_ours_when_a_program_that_does_not_lock_writes_at_the_same_moment(place):
    prove_our_leaf_stays_ours(place)


# -- the lock --------------------------------------------------------------------------------------------


def test_who_waits_too_long_for_the_lock_is_told_who_holds_it_and_can_try_again(place):
    session = talked(place, 1)
    store = FilesStore(place, lock_timeout=0.2)
    with Session.from_store(store, session.key, clock=clock(seed=9)) as waiting:
        known, data = facts(waiting), bytes_of(waiting)

        with child("hold", session.file) as (holder, _):
            for verb in (
                lambda: waiting.append_message("more"),
                lambda: waiting.branch(waiting.path()[0]),
                lambda: waiting.append_label(waiting.leaf, "x"),
            ):
                with pytest.raises(LockTimeout, match=f"pid {holder.pid} "):
                    verb()
            assert facts(waiting) == known
            assert bytes_of(waiting) == data
            assert said(waiting)

        waiting.append_message("after the holder was killed")
        require_same_after_reopening(waiting)


# -- the file changes under us ---------------------------------------------------------------------------


def test_a_file_that_is_renamed_while_open_is_still_the_session(pair):
    one, other = pair
    new_name = path_of(one).with_name("renamed.jsonl")
    os.rename(one.file, new_name)

    one.append_message("after the renaming")
    other.append_message("by the other")
    one.branch(one.path()[0])
    one.refresh()

    assert len(lines_of(new_name)) == 1 + len(one)
    with Session.open(new_name) as again:
        assert facts(again) == facts(one)


def test_a_file_that_was_replaced_says_so_and_the_new_one_is_not_touched(pair, place):
    one, _other = pair
    known = facts(one)
    with Session.open(talked(place / "elsewhere", 3, clock=clock(seed=70)).file) as different:
        os.replace(different.file, one.file)
    before = path_of(one).read_bytes()

    for verb in (lambda: one.append_message("more"), one.refresh, one.refresh_log, one.fork, one.reset):
        with pytest.raises(LogReplaced, match="open it again"):
            verb()

    assert facts(one) == known
    assert path_of(one).read_bytes() == before
    with Session.open(one.file, clock=clock(seed=99)) as again:
        again.append_message("in the new one")
        require_same_after_reopening(again)


def test_a_file_that_was_deleted_says_so_and_can_still_be_read_and_forked(pair, place):
    one, _other = pair
    known = facts(one)
    os.unlink(one.file)

    with pytest.raises(LogGone, match="deleted"):
        one.append_message("more")

    assert facts(one) == known
    made = one.fork()
    assert made.path() == one.path()
    made.append_message("nothing is lost")
    require_same_after_reopening(made)
    assert [found.key for found in FilesStore(place).scan().found] == [made.key]


def test_a_file_that_was_cut_off_says_so_and_what_is_left_opens_again(pair):
    one, other = pair
    other.append_message("soon gone")
    one.refresh()
    known_keys = list(one.index)
    with open(one.file, "r+b") as file:
        file.truncate(os.path.getsize(one.file) - 10)
    before = path_of(one).read_bytes()

    for verb in (lambda: one.append_message("more"), one.refresh, one.fork, one.reset):
        with pytest.raises(LogShrank):
            verb()

    assert path_of(one).read_bytes() == before
    with Session.open(one.file, clock=clock(seed=5000)) as again:
        assert again.path() == known_keys[:2]
        again.append_message("what is left goes on")
        require_same_after_reopening(again)


def test_a_file_that_was_cut_off_and_has_grown_again_is_not_taken_for_the_one_we_read(place):
    prove_a_rewritten_file_is_noticed(place)


def test_a_last_line_that_somebody_wrote_on_in_is_still_read_and_one_that_was_cut_off_is_not_missed(place):
    """The file ended in a whole line without its newline, and we stand on it."""
    session = talked(place, 1)
    above = session.leaf
    last = session.append_custom_message("ext", "long " * 100)
    path = path_of(session)
    session.close()
    whole = path.read_bytes()[:-1]

    path.write_bytes(whole)
    with Session.open(path, clock=clock(seed=300)) as again:
        path.write_bytes(whole + b"and on")
        entry = again.append_message("what now?")
        assert again.index.parent(entry) == last
        require_same_after_reopening(again)

    path.write_bytes(whole)
    with Session.open(path, clock=clock(seed=300)) as again:
        assert again.leaf == last
        path.write_bytes(whole[: whole.rindex(b"\n") + 1])
        entry = again.append_message("what now?")
        assert again.index.parent(entry) == above
        require_same_after_reopening(again)


# -- a torn tail -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tail",
    [
        b'{"type":"message","id":"x","parentId":null,"mess',
        b"\x00\x00\x00\x00",
        b"}",
        b'"text"',
        b"{}",
        b'{"type":"session","version":3,"id":"again"}',
        b"\xff\xfe",
        b'{"type":"label","id":"la","parentId":null,"targetId":"nothing","label":"x"}',
    ],
)
def test_a_tail_without_its_newline_swallows_nothing(pair, tail):
    one, other = pair
    leaf = one.leaf
    with open(one.file, "ab") as file:
        file.write(tail)

    first = one.append_message("one")
    second = other.append_message("two")

    lines = lines_of(path_of(one))
    assert tail in lines
    assert one.index.parent(first) == other.index.parent(second) == leaf
    one.refresh()
    assert one.leaf == second
    require_same_after_reopening(one)


def test_a_torn_tail_is_reported_once_and_kept_beside_the_file(pair):
    one, _other = pair
    with open(one.file, "ab") as file:
        file.write(b'{"half a li')

    one.append_message("one")
    one.append_message("two")

    [torn] = one.torn_tails
    assert Path(torn.kept_at).read_bytes() == b'{"half a li'
    assert len([finding for finding in one.findings if finding.kind == "unreadable"]) == 1
    require_same_after_reopening(one)
