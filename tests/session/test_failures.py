"""Whichever call to the system fails, in whatever way, during any verb: not saved means not saved.

The error is raised, memory is as it was, the file holds no half line, and the same verb works the next time.
"""

import itertools

import pytest

from branchline import Session
from branchline.errors import LogError, NotASession, NotSaved, SessionNotFound
from branchline.stores import FilesStore
from session.faults import KINDS, in_a_child, striking
from session.kit import (
    assistant,
    bytes_of,
    clock,
    lines_of,
    new,
    path_of,
    require_same_after_reopening,
    talked,
    user,
)
from support import CORPUS

V1 = (CORPUS / "pi" / "edge" / "v1.jsonl").read_bytes()


def draft(place):
    session = new(place)
    session.append_message(user("a question"))
    return session


def labelled(place):
    session = talked(place, 2)
    session.append_label(session.leaf, "last")
    return session


def torn(place):
    session = talked(place, 1)
    with open(path_of(session), "ab") as file:
        file.write(b'{"type":"message","id":"torn","parentId":nu')
    session.refresh()
    return session


def shared(place):
    session = talked(place, 1)
    with Session.open(path_of(session), clock=clock(seed=90)) as other:
        other.append_message("by another")
    return session


def old(place):
    place.mkdir()
    (place / "old.jsonl").write_bytes(V1)
    return Session.open(place / "old.jsonl", clock=clock())


SCENES = {
    "the first entry": (new, lambda session: session.append_message("hello")),
    "a first entry that is a reply": (new, lambda session: session.append_message(assistant("hello"))),
    "another entry of a draft": (draft, lambda session: session.append_message("and?")),
    "the first reply": (draft, lambda session: session.append_message(assistant("a reply"))),
    "a message": (talked, lambda session: session.append_message(user("more"))),
    "a title": (talked, lambda session: session.set_title("A title")),
    "a branch": (talked, lambda session: session.branch(session.path()[0])),
    "a reset": (talked, lambda session: session.reset()),
    "a branch with a summary": (
        talked,
        lambda session: session.branch_with_summary(session.path()[0], "left"),
    ),
    "a compaction": (talked, lambda session: session.append_compaction("short", session.path()[1], 10)),
    "a message behind somebody else's": (shared, lambda session: session.append_message(user("more"))),
    "a message behind a torn tail": (torn, lambda session: session.append_message(user("more"))),
    "the upgrade of an old file": (old, lambda session: session.append_message(user("more"))),
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "killed"])
@pytest.mark.parametrize("scene", SCENES)
def test_a_verb_that_fails_changes_nothing_and_works_the_next_time(place, scene, kind):
    prepare, verb = SCENES[scene]
    by_others = 1 if prepare is shared else 0
    place.mkdir()
    for at in itertools.count(1):
        session = prepare(place / str(at))
        known, data = known_to(session), bytes_of(session)
        with striking(at, kind) as faults:
            saved = attempt(verb, session, faults)
        if not saved:
            if kind != "interrupt":  # an interrupt may come when everything is written
                assert len(session) - known["count"] in (0, by_others)
                assert prepare is old or bytes_of(session) == data
            assert {**known_to(session), "count": known["count"]} == known
            verb(session)
        assert len(session) - known["count"] - by_others in ((1,) if kind != "interrupt" else (1, 2))
        fragments = [line for line in lines_of(bytes_of(session)) if not line.endswith(b"}")]
        assert len(fragments) == (1 if prepare is torn else 0)
        require_same_after_reopening(session)
        session.close()
        if not faults.struck:
            break
    assert at > 1


def known_to(session):
    return {"leaf": session.leaf, "path": session.path(), "count": len(session), "labels": session.labels}


def attempt(verb, session, faults):
    """Whether the verb did what it should; where it did not, it says so in the right way."""
    try:
        verb(session)
    except (NotSaved, KeyboardInterrupt):
        return False
    except LogError as problem:
        # The tail was torn, the message is behind it, and only the second look at the file went wrong.
        if "was saved" not in str(problem):
            raise
        session.refresh()
        return True
    except OSError:
        # What only looks may say so in the system's own words; what writes says "not saved".
        if faults.struck in {"fstat", "stat", "pread", "open"}:
            return False
        raise
    return True


@pytest.mark.parametrize("scene", SCENES)
def test_a_process_that_dies_at_any_call_of_a_verb_leaves_every_line_whole(place, scene):
    """The next process finds what was acknowledged, at most one line more, and can go on."""
    prepare, verb = SCENES[scene]
    by_others = 1 if prepare is shared else 0
    place.mkdir()
    for at in itertools.count(1):
        directory = place / str(at)
        session = prepare(directory)

        def act(session=session, at=at):
            with striking(at, "killed"):
                verb(session)

        survived = in_a_child(act)

        store = FilesStore(directory)
        assert len(store.scan().found) + len(store.drafts()) <= 1
        try:
            again = Session.from_store(store, session.key, clock=clock(seed=500))
        except (SessionNotFound, NotASession):
            assert len(session) == 0  # nothing was acknowledged
        else:
            assert again.index.keys[: len(session)] == session.index.keys
            assert len(again) - len(session) - by_others in (0, 1)
            damaged = [finding for finding in again.findings if finding.kind == "unreadable"]
            assert len(damaged) <= 1
            again.append_message(assistant("it goes on"))
            require_same_after_reopening(again)
            again.close()
        if survived:
            break
    assert at > 5
