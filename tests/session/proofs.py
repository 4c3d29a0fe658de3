"""The laws of a session as functions, so that a mutant can be put to the same test as the real code."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

from branchline import Session
from branchline.errors import BranchlineError, LogReplaced
from branchline.log.file import FileWriter
from branchline.session import ForkScope
from branchline.stores import FilesStore, Store, drafts_in
from session.faults import striking
from session.kit import (
    CWD,
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
    with one, Session.open(path_of(one), clock=clock(), durability="os") as other:
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


def prove_a_fork_shares_its_prefix(session: Session, entry: str | None, scope: ForkScope = "path") -> Session:
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


def prove_ids_are_told_apart(directory: Path) -> None:
    """Two programs whose clocks give the same ids take turns; no id is used twice."""
    one = talked(directory, 1)
    with one, Session.open(path_of(one), clock=clock()) as other:
        made = [session.append_message(str(number)) for number in range(5) for session in (one, other)]
        assert len(set(made)) == 10
        one.refresh()
        assert [finding for finding in one.findings if finding.kind == "duplicate-id"] == []


def prove_two_hands_on_a_draft(store: Store) -> None:
    """A draft that somebody else published goes on as the session it became, under the same lock."""
    session = Session.create(CWD, store=store, clock=clock())
    session.append_message("a question")
    other = Session.from_store(store, session.key, clock=clock(seed=100))
    session.append_message(assistant("the first reply"))
    other.append_message("another question")
    other.append_message(assistant("the second reply"))
    session.refresh_log()
    assert not session.is_draft
    assert not other.is_draft
    assert drafts_in(store) == []
    assert len(store.scan().found) == 1
    assert session.index.keys == other.index.keys
    assert len(session.children(session.path()[0])) == 2
    assert session._writer.log is not None
    assert other._writer.log is not None
    assert other._writer.log.name == session._writer.log.name, "both must take the same lock"


def prove_closing_forgets_nothing_of_others(directory: Path) -> None:
    """What somebody else has said in a draft survives that we close it with nothing said."""
    store = FilesStore(directory)
    session = Session.create(CWD, store=store, clock=clock())
    session.append_model_change("anthropic", "claude")
    with Session.from_store(store, session.key, clock=clock(seed=100)) as other:
        other.append_message("a question")
    session.close()
    assert [draft.key for draft in store.drafts()] == [session.key]


def prove_a_rewritten_file_is_noticed(directory: Path) -> None:
    """A file that was cut off and has grown again is not taken for the one that was read."""
    one = talked(directory, 1)
    one.append_message(user("soon gone"))
    keep = len(b"\n".join(lines_of(path_of(one))[:2])) + 1
    with open(path_of(one), "r+b") as file:
        file.truncate(keep)
    with Session.open(path_of(one), clock=clock(seed=5000)) as again:
        for number in range(20):
            again.append_message(user(f"written over it {number}"))
    before = path_of(one).read_bytes()
    for verb in (lambda: one.append_message("more"), one.refresh, one.fork, one.reset):
        with pytest.raises(LogReplaced, match="rewritten"):
            verb()
    assert path_of(one).read_bytes() == before


def prove_a_branch_is_recorded(directory: Path) -> None:
    """Also where the file stood there when we looked last, and somebody else has moved it since."""
    one = talked(directory, 1)
    target = one.leaf
    assert target is not None
    with Session.open(path_of(one), clock=clock(seed=1000)) as other:
        other.append_message("by the other")
    one.branch(target)
    with Session.open(path_of(one)) as again:
        assert again.leaf == target


def prove_own_and_inherited_are_told_apart(directory: Path) -> None:
    """Even when everything happens in the same millisecond."""
    standing = clock()
    standing._step = 0
    session = talked(directory, 2, clock=standing)
    made = session.fork()
    made.append_message(user("own"))
    made.append_message(assistant("own"))
    of_made = made.fork()
    assert made.inherited_entries == 4
    assert made.fork_point == session.leaf
    assert len(made) == 6
    assert of_made.inherited_entries == 6
    costs = made.usage()
    assert (round(costs.own.total.cost, 9), round(costs.inherited.total.cost, 9)) == (0.01, 0.02)


def prove_our_leaf_stays_ours(directory: Path) -> None:
    """A program that does not lock writes at the same moment, just before and just after us."""
    session = talked(directory, 1)
    path, leaf = path_of(session), session.leaf
    real = FileWriter.append

    def write(entry: str) -> None:
        line = (
            f'{{"type":"message","id":"{entry}","parentId":null,"timestamp":"2027-01-01T00:00:00.000Z",'
            f'"message":{{"role":"user","content":"x"}}}}\n'
        )
        with open(path, "ab", buffering=0) as file:
            file.write(line.encode())

    def append(writer: FileWriter, data: bytes) -> int:
        write("before")
        offset = real(writer, data)
        write("after")
        return offset

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileWriter, "append", append)
        entry = session.append_message("ours")
    assert session.leaf == entry
    assert session.index.parent(entry) == leaf
    assert {"before", "after"} < set(session.index)
    assert b'"ours"' in session.raw(entry)
    session.refresh()
    require_same_after_reopening(session)
