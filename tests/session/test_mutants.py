"""Mutation tests: without one safety measure, the law that depends on it must fail."""

import pytest

from branchline import Session
from branchline.entries import Leaf
from branchline.errors import BranchlineError
from branchline.formats import EntryLog
from branchline.session import forks
from branchline.session import session as session_module
from branchline.session.writer import SessionWriter
from branchline.stores import FilesStore
from session.kit import talked
from session.proofs import (
    prove_a_branch_is_recorded,
    prove_a_draft_comes_out_whole,
    prove_a_failed_verb_changes_nothing,
    prove_a_fork_shares_its_prefix,
    prove_a_rewritten_file_is_noticed,
    prove_appending_only_adds,
    prove_closing_forgets_nothing_of_others,
    prove_ids_are_told_apart,
    prove_our_leaf_stays_ours,
    prove_own_and_inherited_are_told_apart,
    prove_two_hands_on_a_draft,
)

STEPS = [("user", "a"), ("assistant", "b"), ("label", 0, "x"), ("branch", 0), ("user", "c"), ("reset",)]


def never_look(monkeypatch):
    """An append that does not read what others wrote first."""
    real = SessionWriter.catch_up

    def catch_up(writer):
        held = getattr(getattr(writer.log, "_lock", None), "owner", None) is not None
        return 0 if held else real(writer)

    monkeypatch.setattr(SessionWriter, "catch_up", catch_up)


def never_publish(monkeypatch):
    monkeypatch.setattr(SessionWriter, "publish", lambda writer: None)


def publish_in_name_only(monkeypatch):
    monkeypatch.setattr(SessionWriter, "publish", lambda writer: setattr(writer, "draft", False))


def never_roll_back(monkeypatch):
    """A move that stays in memory although it was not recorded."""

    def move_to(session, target):
        session.refresh_log()
        if session.transcript.leaf != target:
            session._leaf = target
            session._append(Leaf, target=target)
        session._leaf = target

    monkeypatch.setattr(Session, "_move_to", move_to)


def remember_first(monkeypatch):
    """Memory changes before the log is written."""
    real = SessionWriter.append

    def append(writer, make):
        entries = make()
        data = writer.format.required_writer().encode(entries, writer.transcript.reading)
        writer.transcript.take(data)
        return real(writer, lambda: entries)

    monkeypatch.setattr(SessionWriter, "append", append)


def move_without_a_record(monkeypatch):
    monkeypatch.setattr(Session, "_move_to", lambda session, target: setattr(session, "_leaf", target))


def move_without_looking(monkeypatch):
    """A move that trusts what was read last."""
    real = Session._move_to

    def move_to(session, target):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Session, "refresh_log", lambda session: 0)
            real(session, target)

    monkeypatch.setattr(Session, "_move_to", move_to)


def side_records_move(monkeypatch):
    """Labels and the like become the leaf, as in pi."""
    real = Session._commit

    def commit(session, build):
        made = real(session, build)
        session._leaf = made[-1]
        return made

    monkeypatch.setattr(Session, "_commit", commit)


def never_follow(monkeypatch):
    """A draft that was published by somebody else is written to as a draft."""
    monkeypatch.setattr(SessionWriter, "_published", lambda writer: None)


def close_without_looking(monkeypatch):
    def close(writer, *, has_message):
        if writer.draft and writer.log is not None and not has_message():
            writer.store.drop_draft(writer.key)

    monkeypatch.setattr(SessionWriter, "close", close)


def trust_the_lines_that_were_read(monkeypatch):
    monkeypatch.setattr(EntryLog, "is_unchanged", lambda transcript: True)


def take_every_key_that_follows(monkeypatch):
    """What an append has made is told by its place alone, up to the end of the file."""
    real = SessionWriter._keys_between
    monkeypatch.setattr(
        SessionWriter, "_keys_between", lambda writer, start, end: real(writer, start, 1 << 60)
    )


def trust_the_clock(monkeypatch):
    """A fork may be as old as what it copies."""
    monkeypatch.setattr(forks, "time_after", lambda times, now: forks.iso(now))


def trust_the_clock_in_a_fork(monkeypatch):
    monkeypatch.setattr(Session, "_timestamp", lambda session: session_module.iso(session._clock.now()))


def forget_labels(monkeypatch):
    monkeypatch.setattr(forks, "_labels", lambda source, writer: [])


def fork_labelled(directory):
    session = talked(directory, 2)
    session.append_label(session.path()[0], "start")
    prove_a_fork_shares_its_prefix(session, session.path()[2])


MUTANTS = [
    (never_look, prove_ids_are_told_apart),
    (never_publish, prove_a_draft_comes_out_whole),
    (publish_in_name_only, prove_a_draft_comes_out_whole),
    (never_roll_back, lambda place: prove_a_failed_verb_changes_nothing(place, ("branch", 0))),
    (never_roll_back, lambda place: prove_a_failed_verb_changes_nothing(place, ("reset",))),
    (remember_first, lambda place: prove_a_failed_verb_changes_nothing(place, ("user", "more"))),
    (move_without_a_record, lambda place: prove_appending_only_adds(place, STEPS)),
    (move_without_looking, prove_a_branch_is_recorded),
    (side_records_move, lambda place: prove_appending_only_adds(place, STEPS)),
    (never_follow, lambda place: prove_two_hands_on_a_draft(FilesStore(place))),
    (close_without_looking, prove_closing_forgets_nothing_of_others),
    (trust_the_lines_that_were_read, prove_a_rewritten_file_is_noticed),
    (take_every_key_that_follows, prove_our_leaf_stays_ours),
    (trust_the_clock, prove_own_and_inherited_are_told_apart),
    (trust_the_clock_in_a_fork, prove_own_and_inherited_are_told_apart),
    (forget_labels, fork_labelled),
]


@pytest.mark.parametrize(("mutate", "law"), MUTANTS, ids=[mutate.__name__ for mutate, _ in MUTANTS])
def test_without_its_safety_the_law_fails_and_with_it_it_holds(place, monkeypatch, mutate, law):
    law(place / "sound")

    with monkeypatch.context() as patched:
        mutate(patched)
        # A broken promise or one of our own errors; anything else would say that the mutant is nonsense.
        with pytest.raises((AssertionError, pytest.fail.Exception, BranchlineError)):
            law(place / "mutant")
