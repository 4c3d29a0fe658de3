"""A process killed at any moment loses nothing that it had acknowledged."""

import random
import time

import pytest

from branchline import Session
from branchline.stores import FilesStore
from session.kit import assistant, require_same_after_reopening, talked, words
from session.processes import acknowledged, child

ROUNDS = [pytest.param(10, id="10 rounds"), pytest.param(200, id="200 rounds", marks=pytest.mark.slow)]


def killed_somewhere(process, most):
    """Kill a child after some of its acknowledgements, at any moment of the next one; all that it has said."""
    told = [process.stdout.readline().split() for _ in range(random.randint(1, most))]
    time.sleep(random.uniform(0, 0.001))
    process.kill()
    process.wait()
    return told + acknowledged(process)


def require_nothing_lost(path, told, damaged):
    """Everything that was acknowledged is there, and the last kill has damaged one line at most.

    It may: the system ends a write to a killed process at the next page of memory.
    """
    with Session.open(path) as session:
        missing = [entry for entry, _ in told if entry not in session]
        assert missing == []
        findings = [finding for finding in session.findings if finding.kind != "no-final-newline"]
        assert {finding.kind for finding in findings} <= {"unreadable"}
        assert len(findings) - damaged in (0, 1)
        return session, len(findings)


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_no_acknowledged_message_is_lost_however_often_the_writer_is_killed(tmp_path, durability, rounds):
    session = talked(tmp_path / "sessions", 1)
    told, damaged = [], 0

    for number in range(rounds):
        with child("append", session.file, durability, number, 0) as (process, _):
            told += killed_somewhere(process, 40)
        opened, damaged = require_nothing_lost(session.file, told, damaged)

    assert len(told) >= rounds
    for entry, parent in told:
        assert opened.index.parent(entry) == parent
    session.refresh()
    session.append_message("and it goes on")
    require_same_after_reopening(session)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_moves_labels_and_summaries_that_were_acknowledged_are_there_too(tmp_path, rounds):
    session = talked(tmp_path / "sessions", 1)
    told, damaged = [], 0
    for _number in range(rounds):
        with child("mixed", session.file, "os") as (process, _):
            told += killed_somewhere(process, 40)
        _, damaged = require_nothing_lost(session.file, told, damaged)
    session.refresh()

    assert "label" in session.index.types
    assert "leaf" in session.index.types
    require_same_after_reopening(session)


@pytest.mark.parity("OPR-02")
@pytest.mark.parametrize("rounds", [pytest.param(3, id="3 rounds"), *ROUNDS[1:]])
def test_who_is_killed_before_the_first_reply_leaves_a_draft_that_can_be_resumed(tmp_path, rounds):
    for number in range(rounds):
        directory = tmp_path / str(number)
        with child("draft", directory) as (process, [key]):
            told = killed_somewhere(process, 10)

        store = FilesStore(directory)
        assert store.scan().found == []
        assert [draft.key for draft in store.drafts()] == [key]
        with Session.from_store(store, key) as session:
            assert session.is_draft
            assert session.path()[: len(told)] == [entry for entry, _ in told]
            session.append_message(assistant("here I am"))
            assert words(session)[0] == "question 0"
        assert [found.key for found in store.scan().found] == [key]
        assert store.drafts() == []


@pytest.mark.parity("OPR-02")
@pytest.mark.parametrize("rounds", [pytest.param(5, id="5 rounds"), *ROUNDS[1:]])
def test_who_is_killed_around_the_first_reply_leaves_one_session_or_one_draft_for_each_question(
    tmp_path, rounds
):
    store = FilesStore(tmp_path)
    told: list[list[str]] = []
    for _number in range(rounds):
        with child("replies", tmp_path) as (process, _):
            told += killed_somewhere(process, 20)

    listed = [found.key for found in store.scan().found]
    drafts = [found.key for found in store.drafts()]
    assert len(set(listed) | set(drafts)) == len(listed) + len(drafts)
    for key, entry in told:
        with Session.from_store(store, key) as session:
            assert entry in session
            assert session.is_draft == (key in drafts)
