"""The laws of a session as functions, so that a mutant can be put to the same test as the real code."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from branchline import Session
from branchline.errors import BranchlineError
from branchline.stores import FilesStore
from session.faults import striking
from session.kit import (
    assistant,
    bytes_of,
    clock,
    facts,
    lines_of,
    new,
    path_of,
    reopened,
    require_same_after_reopening,
    talked,
    user,
)
from session.steps import Step, as_pi_does, do

LINKS = re.compile(rb'"(?:parentId|firstKeptEntryId)" ?: ?(?:null|"[^"]*")')


def prove_appending_only_adds(directory: Path, steps: list[Step]) -> None:
    """«Nothing written is ever changed»: every earlier byte stays, what comes is whole lines, and memory is the file."""
    session = new(directory, durability="os")
    for step in steps:
        before = bytes_of(session)
        made = do(session, step)
        after = bytes_of(session)
        assert after.startswith(before)
        assert after == b"" or after.endswith(b"\n")
        assert made is None or made in session
        if after:
            require_same_after_reopening(session)
    listed = FilesStore(directory).scan().found
    answered = "assistant" in session.index.roles
    assert session.is_draft is not answered
    assert len(listed) == answered


def prove_refresh_is_reopening(directory: Path, turns: list[tuple[str, Step]]) -> None:
    """Two writers and a foreign one take turns; whoever refreshes sees what somebody sees who opens the file."""
    one = talked(directory, 1, durability="os")
    with one, Session.open(one.file, clock=clock(), durability="os") as other:
        writers = {"one": one, "other": other}
        for who, step in turns:
            if who == "pi":
                one.refresh_log()
                as_pi_does(one, *step)
            elif step == ("refresh",):
                writers[who].refresh()
                assert facts(writers[who]) == facts(reopened(writers[who]))
            else:
                leaf = writers[who].leaf
                known = set(writers[who].index)
                made = do(writers[who], step)
                if made is not None and step[0] != "summary":
                    assert writers[who].index.parent(made) == leaf, "an entry hangs from somebody else's leaf"
                assert known <= set(writers[who].index)
        for writer in writers.values():
            writer.refresh()
            assert facts(writer) == facts(reopened(writer))
        assert [f for f in one.findings if f.kind in ("duplicate-id", "orphan")] == []


def prove_a_fork_shares_its_prefix(session: Session, entry: str | None, scope: str = "path") -> Session:
    """«A fork shares its prefix»: its lines are its parent's, and where one is re-chained only the links differ."""
    before = bytes_of(session)
    made = session.fork(entry, scope=scope)
    assert bytes_of(session) == before
    assert made.path() == session.path(entry) if entry is not None or session.leaf else made.path() == []
    if scope == "tree" and len(session):
        assert bytes_of(made).split(b"\n", 1)[1].startswith(before.split(b"\n", 1)[1])
    for key in made.index:
        if key in session:
            ours, theirs = made.raw(key), session.raw(key)
            assert LINKS.sub(b"", ours) == LINKS.sub(b"", theirs)
            if made.index.parent(key) == session.index.parent(key) and b"firstKept" not in ours:
                assert ours == theirs
        else:
            assert session.index.types[-1]  # what is new are labels and the place where it stands
            assert made.entry(key).type in ("label", "leaf")
    assert said_at(made) == said_at(session, entry)
    assert made.labels == {key: label for key, label in session.labels.items() if key in made}
    if bytes_of(made):
        require_same_after_reopening(made)
    return made


def said_at(session: Session, entry: str | None = None) -> list[object]:
    return facts_of_context(session.context(entry))


def facts_of_context(context: object) -> list[object]:
    return [(item.entry, item.message) for item in context.messages]  # type: ignore[attr-defined]


def prove_a_draft_comes_out_whole(directory: Path) -> None:
    """With the first reply the draft is the session that listings show, with every word; and there is one of them."""
    session = new(directory)
    session.append_message(user("a question"))
    before = bytes_of(session)
    session.append_message(assistant("a reply"))
    store = FilesStore(directory)
    assert [found.key for found in store.scan().found] == [session.key]
    assert store.drafts() == []
    assert path_of(session).read_bytes().startswith(before)
    with Session.from_store(store, session.key) as again:
        assert not again.is_draft
        assert len(again) == 2


def prove_a_failed_verb_changes_nothing(directory: Path, step: Step) -> None:
    """«Write the log before memory changes»: what was not saved is not in memory, and the leaf has not moved."""
    session = talked(directory, 3)
    known, data = facts(session), bytes_of(session)
    with striking(1, "EIO") as faults, contextlib.suppress(BranchlineError, OSError):
        do(session, step)
    assert faults.struck
    for at in range(2, 40):
        if bytes_of(session) != data:
            break
        assert facts(session) == known, f"memory has changed although nothing was saved ({faults.struck})"
        with striking(at, "EIO") as faults, contextlib.suppress(BranchlineError, OSError):
            do(session, step)
    require_same_after_reopening(session)
    assert len(lines_of(bytes_of(session))) == len(lines_of(data)) + 1
