"""Two programs, a draft, crashes, torn tails and forks against a model of a session that is a plain list.

The model knows what each line of the file says, and finds leaf, path, labels and title by the sentences of the
format's description, not by the code under test.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from branchline import Session
from branchline.errors import LogShrank
from branchline.stores import FilesStore, MemoryStore
from session.kit import CWD, assistant, clock, facts, lines_of, reopened, user
from session.steps import as_pi_does, somewhere

MANY = int(os.environ.get("BRANCHLINE_EXAMPLES", "1"))
SIDE = {"label", "session_info", "usage", "custom", "leaf"}
WRITERS = st.sampled_from(["one", "other"])
NUMBERS = st.integers(0, 99)
WORDS = st.text("ab ü", max_size=5)
GARBAGE = [b"\x00\x00", b"garbage", b'{"type":"message","id":"half', b'{"a":1', b"\xff", b"{}", b"[1]"]


@dataclass
class Line:
    """What one line of the file says."""

    id: str
    parent: str | None
    type: str
    target: str | None = None
    text: str | None = None


@dataclass
class Model:
    """A session as a plain list of lines."""

    lines: list[Line] = field(default_factory=list)

    def by_id(self) -> dict[str, Line]:
        return {line.id: line for line in self.lines}

    def conversation(self, key: str | None) -> str | None:
        lines = self.by_id()
        while key is not None and lines[key].type in SIDE:
            key = lines[key].parent
        return key

    def leaf(self) -> str | None:
        """After a leaf entry the leaf is its target, after any other entry that entry."""
        if not self.lines:
            return None
        last = self.lines[-1]
        return self.conversation(last.target if last.type == "leaf" else last.id)

    def path(self, key: str | None) -> list[str]:
        lines, found = self.by_id(), []
        while key is not None:
            if lines[key].type not in SIDE:
                found.append(key)
            key = lines[key].parent
        return found[::-1]

    def labels(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in self.lines:
            if line.type == "label":
                found.pop(line.target, None) if not line.text else found.update({line.target: line.text})
        return {key: text for key, text in found.items() if key in self.by_id()}

    def title(self) -> str | None:
        titles = [line.text for line in self.lines if line.type == "session_info"]
        return (titles[-1].strip() or None) if titles else None


class Programs(RuleBasedStateMachine):
    """Two programs use one session, each through an object of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.place = somewhere()
        self.store = FilesStore(self.place.__enter__())
        self.model = Model()
        self.sessions: dict[str, Session] = {}
        self.standing: dict[str, str | None] = {}
        self.torn: dict[str, str | None] = {}

    def teardown(self) -> None:
        self.sessions.clear()
        self.place.__exit__(None, None, None)

    @initialize(at_once=st.booleans())
    def begin(self, at_once):
        persist = "at_once" if at_once else "with_reply"
        session = Session.create(CWD, store=self.store, clock=clock(), persist=persist, durability="os")
        self.key = session.key
        self.sessions["one"], self.standing["one"] = session, None

    # -- the means ----------------------------------------------------------------------------------------

    def path(self) -> Path | None:
        """Where the file lies now, as a draft or a session."""
        directory = Path(self.store.directory)
        for each in (directory, directory / ".branchline" / "drafts"):
            if (found := each / f"{self.key}.jsonl").exists():
                return found
        return None

    def open(self, who: str) -> Session:
        """Let a program open what is in the file now."""
        session = Session.from_store(self.store, self.key, clock=clock(), durability="os")
        self.sessions[who], self.standing[who] = session, self.model.leaf()
        self.check(who)
        return session

    def program(self, who: str) -> Session:
        """The session of this program; before there is a file only one can have it."""
        if who in self.sessions:
            return self.sessions[who]
        if self.path() is not None:
            return self.open(who)
        # Nobody can open what is not there: then it is the first program that acts.
        [(first, session)] = self.sessions.items()
        self.sessions, self.standing = {who: session}, {who: self.standing[first]}
        return session

    def caught_up(self, who: str) -> None:
        """A program has just looked at the file: what it stood on may be gone.

        Where the torn line still says what it hung from, the program stands there; else where the file does.
        """
        standing = self.standing[who]
        if standing is not None and standing not in self.model.by_id():
            keeps_its_place = standing in self.sessions[who].index
            above = self.model.conversation(self.torn[standing]) if keeps_its_place else self.model.leaf()
            self.standing[who] = above

    def add(self, who: str, kind: str, verb: Any, **more: Any) -> None:
        """A verb that appends one line."""
        made = verb(self.program(who))
        self.caught_up(who)
        self.model.lines.append(Line(made, more.pop("parent", self.standing[who]), kind, **more))
        if kind not in SIDE:
            self.standing[who] = made
        self.check(who)

    def check(self, who: str, session: Session | None = None) -> None:
        """A session that has just looked at the file says what the model says."""
        session, model = session or self.sessions[who], self.model
        tree = session.index
        readable = [key for key in tree.keys if tree.positions[key] not in tree.placeholders]
        assert readable == [line.id for line in model.lines]
        assert [tree.parent(key) for key in readable] == [line.parent for line in model.lines]
        assert session.leaf == self.standing[who]
        assert session.path() == model.path(self.standing[who])
        assert session.labels == model.labels()
        assert session.title == model.title()

    def known(self, who: str, number: int) -> str | None:
        """An entry that this program knows and that is still there."""
        keys = [key for key in self.program(who).index.keys if key in self.model.by_id()]
        return keys[number % len(keys)] if keys else None

    # -- what the programs do -----------------------------------------------------------------------------

    @rule(who=WRITERS, text=WORDS)
    def ask(self, who, text):
        self.add(who, "message", lambda session: session.append_message(user(text)))

    @rule(who=WRITERS, text=WORDS)
    def reply(self, who, text):
        self.add(who, "message", lambda session: session.append_message(assistant(text)))

    @rule(who=WRITERS, text=WORDS)
    def say_for_an_extension(self, who, text):
        self.add(who, "custom_message", lambda session: session.append_custom_message("x", text * 100))

    @rule(who=WRITERS)
    def change_the_model(self, who):
        self.add(who, "model_change", lambda session: session.append_model_change("a", "b"))

    @rule(who=WRITERS)
    def change_the_thinking_level(self, who):
        self.add(who, "thinking_level_change", lambda session: session.append_thinking_level_change("high"))

    @rule(who=WRITERS, number=st.none() | NUMBERS)
    def compact(self, who, number):
        key = None if number is None else self.known(who, number)
        self.add(who, "compaction", lambda session: session.append_compaction("short", key))

    @rule(who=WRITERS)
    def keep_data(self, who):
        self.add(who, "custom", lambda session: session.append_custom("x", {"n": 1}))

    @rule(who=WRITERS, text=WORDS)
    def name_it(self, who, text):
        self.add(who, "session_info", lambda session: session.set_title(text), text=text.strip())

    @rule(who=WRITERS, number=NUMBERS, text=st.none() | WORDS)
    def label(self, who, number, text):
        key = self.known(who, number)
        if key is not None:
            self.add(who, "label", lambda session: session.append_label(key, text), target=key, text=text)

    @rule(who=WRITERS, number=NUMBERS)
    def edit(self, who, number):
        lines = self.model.by_id()
        session = self.program(who)
        path = [key for key in session.path() if key in lines and lines[key].type == "custom_message"]
        if path and session.leaf in lines:
            key = path[number % len(path)]
            self.add(who, "context_edit", lambda session: session.append_context_edit(key, None), target=key)

    @rule(who=WRITERS, number=NUMBERS)
    def branch(self, who, number):
        key = self.known(who, number)
        if key is not None:
            self.move(who, self.model.conversation(key), lambda session: session.branch(key))

    @rule(who=WRITERS)
    def reset(self, who):
        self.move(who, None, lambda session: session.reset())

    def move(self, who: str, target: str | None, verb: Any) -> None:
        """A move is recorded unless the file stands there anyway."""
        session = self.program(who)
        verb(session)
        if self.model.leaf() != target:
            last = session.entries()[-1]
            assert last.type == "leaf"
            self.model.lines.append(Line(last.id, target, "leaf", target=target))
        self.standing[who] = target
        self.check(who)

    @rule(who=WRITERS, number=st.none() | NUMBERS)
    def branch_with_summary(self, who, number):
        key = None if number is None else self.known(who, number)
        self.add(
            who,
            "branch_summary",
            lambda session: session.branch_with_summary(key, "left"),
            parent=self.model.conversation(key),
        )

    @rule(who=WRITERS)
    def refresh(self, who):
        session = self.program(who)
        session.refresh()
        self.standing[who] = self.model.leaf()
        self.check(who)
        if self.path() is not None:
            assert facts(session) == facts(reopened(session))

    @rule(who=WRITERS, number=st.none() | NUMBERS, scope=st.sampled_from(["path", "tree"]))
    def fork(self, who, number, scope):
        key = None if number is None else self.known(who, number)
        with self.program(who).fork(key, scope=scope, store=MemoryStore()) as made:
            self.caught_up(who)
            self.check(who)
            leaf = self.standing[who] if key is None else self.model.conversation(key)
            assert made.leaf == leaf
            assert made.path() == self.model.path(leaf)
            assert made.labels == {
                key: text
                for key, text in self.model.labels().items()
                if scope == "tree" or self.copied(key, made)
            }
            if scope == "tree":
                assert list(made.index)[: len(self.sessions[who])] == list(self.sessions[who].index)
            if len(made):
                assert facts(made) == facts(reopened(made))

    def copied(self, key: str, made: Session) -> bool:
        """Whether this entry is in a fork; a new label there may have the id of an entry that was left out."""
        return key in made and made.entry(key).type == self.model.by_id()[key].type not in ("label", "leaf")

    # -- what happens to them -----------------------------------------------------------------------------

    @rule(who=WRITERS)
    def kill(self, who):
        """The process is gone; another one opens the session, if there is something to open."""
        if who in self.sessions and self.path() is not None:
            del self.sessions[who]
            self.open(who)

    @precondition(lambda self: any(line.type == "message" for line in self.model.lines))
    @rule(who=WRITERS)
    def close(self, who):
        if who in self.sessions:
            self.sessions[who].close()
            self.open(who)

    @precondition(lambda self: self.path() is not None and not self.unfinished())
    @rule(kind=st.sampled_from(["message", "label", "custom", "session_info"]), number=NUMBERS)
    def pi_writes(self, kind, number):
        """A program that does not lock writes a line below the last one."""
        newcomer = self.open("newcomer")
        if kind == "label" and not self.model.lines:
            return
        record = as_pi_does(newcomer, kind, number)
        text = record.get("label", record.get("name"))
        self.model.lines.append(Line(record["id"], record["parentId"], kind, record.get("targetId"), text))

    @precondition(lambda self: self.model.lines and self.path() is not None and self.ends_in_the_last_line())
    @rule(cut=st.integers(1, 300))
    def tear(self, cut):
        """The last line loses its end, as after a crash. Whoever has read it notices."""
        path = self.path()
        size = path.stat().st_size
        start = path.read_bytes().rstrip(b"\n").rfind(b"\n") + 1
        end = max(start, size - cut)
        finished = self.unfinished() is False
        os.truncate(path, end)
        if end < size - finished:
            gone = self.model.lines.pop()
            self.torn[gone.id] = gone.parent
        for who, session in list(self.sessions.items()):
            if session.transcript.reading.consumed > end:
                with pytest.raises(LogShrank):
                    session.refresh()
                self.open(who)
            else:
                session.refresh_log()  # it may have read a last line without a newline, which is shorter now
                self.caught_up(who)

    @precondition(lambda self: self.path() is not None)
    @rule(garbage=st.sampled_from(GARBAGE))
    def litter(self, garbage):
        """Somebody writes half a line of no use at the end."""
        with open(self.path(), "ab") as file:
            file.write(garbage)

    def unfinished(self) -> bool:
        return not self.path().read_bytes().endswith(b"\n")

    def ends_in_the_last_line(self) -> bool:
        """Whether the last line of the file is the last one of the model, and nothing else stands in it."""
        last = lines_of(self.path())[-1]
        try:
            return json.loads(last).get("id") == self.model.lines[-1].id
        except (ValueError, AttributeError):
            return False

    @invariant()
    def whoever_opens_it_now_sees_what_the_model_says(self):
        if self.sessions and self.path() is not None:
            self.open("newcomer")
            del self.sessions["newcomer"]
            assert (
                len([found for found in self.store.drafts() if found.key == self.key])
                + len([found for found in self.store.scan().found if found.key == self.key])
                == 1
            )


class TestPrograms(Programs.TestCase):
    settings = settings(
        max_examples=120 * MANY,
        stateful_step_count=40,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )


@pytest.mark.slow
class TestProgramsAtLength(Programs.TestCase):
    settings = settings(TestPrograms.settings, max_examples=2500, stateful_step_count=60)
