"""Two programs, a draft, crashes, torn tails and forks against a model of a session that is a plain list.

The model knows what each line of the file says, and finds leaf, path, labels and title by the sentences of the
format's description, not by the code under test.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from branchline import Session
from branchline.errors import LogReplaced, LogShrank
from branchline.stores import FilesStore
from session.kit import CWD, assistant, clock, facts, lines_of, reopened, user
from session.steps import as_pi_does, somewhere

MANY = int(os.environ.get("BRANCHLINE_EXAMPLES", "1"))
SIDE = {"label", "session_info", "usage", "custom", "leaf"}
WRITERS = st.sampled_from(["one", "other"])
WORDS = st.text("ab ü", max_size=5)
GARBAGE = [b"\x00\x00", b"garbage", b'{"type":"message","id":"half', b"}", b'{"a":1', b"\xff", b"{}", b"[1]"]


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
    def __init__(self) -> None:
        super().__init__()
        self.place = somewhere()
        self.directory = self.place.__enter__()
        self.store = FilesStore(self.directory)
        self.model = Model()
        self.standing: dict[str, str | None] = {"one": None}
        self.sessions: dict[str, Session] = {}
        self.cut = {"one": False, "other": False}

    def teardown(self) -> None:
        self.sessions.clear()
        self.place.__exit__(None, None, None)

    @initialize(at_once=st.booleans())
    def begin(self, at_once: bool) -> None:
        persist = "at_once" if at_once else "with_reply"
        session = Session.create(CWD, store=self.store, clock=clock(), persist=persist, durability="os")
        self.key = session.key
        self.sessions["one"] = session
        self.at_once = at_once

    # -- what the programs do -----------------------------------------------------------------------------

    def session(self, who: str) -> Session:
        """The session of this program, which opens it if it has not yet."""
        if who not in self.sessions:
            if self.log_path() is None:
                who = "one"
            else:
                self.open(who)
        return self.sessions[who]

    def open(self, who: str) -> None:
        self.sessions[who] = Session.from_store(self.store, self.key, clock=clock(), durability="os")
        self.standing[who] = self.model.leaf()
        self.cut[who] = False

    def log_path(self) -> str | None:
        log = self.sessions["one"]._pen.log
        return None if log is None else log.path  # type: ignore[attr-defined]

    def act(self, who: str, verb: Any, *lines: Line, to: Any = "the last line") -> Session:
        """Let a program use a verb; if the file was cut off under it, it is told so and opens it again."""
        session = self.session(who)
        who = next(name for name, each in self.sessions.items() if each is session)
        try:
            made = verb(session)
        except (LogShrank, LogReplaced):
            assert self.cut[who], "nobody has cut anything off"
            self.open(who)
            session = self.sessions[who]
            made = verb(session)
        ids = {line.id for line in self.model.lines}
        if self.standing[who] is not None and self.standing[who] not in ids:
            self.standing[who] = self.model.leaf()
        return session, who, made

    def add(self, who: str, verb: Any, kind: str, **more: Any) -> None:
        session, who, made = self.act(who, verb)
        parent = more.pop("parent", self.standing[who])
        self.model.lines.append(Line(made, parent, kind, **more))
        if kind not in SIDE:
            self.standing[who] = made
        self.check(session, who)

    def check(self, session: Session, who: str) -> None:
        model, tree = self.model, session.index
        readable = [key for key in tree.keys if tree.positions[key] not in tree.placeholders]
        assert readable == [line.id for line in model.lines]
        assert session.leaf == self.standing[who]
        assert session.path() == model.path(self.standing[who])
        assert session.labels == model.labels()
        assert session.title == model.title()
        for line in model.lines:
            assert tree.parent(line.id) == line.parent

    def choose(self, number: int) -> str | None:
        return self.model.lines[number % len(self.model.lines)].id if self.model.lines else None

    def known(self, who: str, number: int) -> str | None:
        """An entry that this program knows, if it may still be there."""
        keys = [key for key in self.session(who).index.keys if key in self.model.by_id()]
        return keys[number % len(keys)] if keys else None

    @rule(who=WRITERS, text=WORDS)
    def ask(self, who, text):
        self.add(who, lambda session: session.append_message(user(text)), "message")

    @rule(who=WRITERS, text=WORDS)
    def reply(self, who, text):
        self.add(who, lambda session: session.append_message(assistant(text)), "message")

    @rule(who=WRITERS, text=WORDS)
    def say_for_an_extension(self, who, text):
        self.add(who, lambda session: session.append_custom_message("x", text * 100), "custom_message")

    @rule(who=WRITERS, kind=st.sampled_from(["model", "thinking", "compaction"]))
    def change_state(self, who, kind):
        verb = {
            "model": lambda session: session.append_model_change("a", "b"),
            "thinking": lambda session: session.append_thinking_level_change("high"),
            "compaction": lambda session: session.append_compaction("short"),
        }[kind]
        name = {"model": "model_change", "thinking": "thinking_level_change", "compaction": "compaction"}[
            kind
        ]
        self.add(who, verb, name)

    @rule(who=WRITERS)
    def keep_data(self, who):
        self.add(who, lambda session: session.append_custom("x", {"n": 1}), "custom")

    @rule(who=WRITERS, text=WORDS)
    def name_it(self, who, text):
        self.add(who, lambda session: session.set_title(text), "session_info", text=text.strip())

    @rule(who=WRITERS, number=st.integers(0, 99), text=st.none() | WORDS)
    def label(self, who, number, text):
        key = self.known(who, number)
        if key is not None:
            self.add(who, lambda session: session.append_label(key, text), "label", target=key, text=text)

    @rule(who=WRITERS, number=st.integers(0, 99))
    def edit(self, who, number):
        standing = self.standing.get(who, self.standing["one"])
        lines = self.model.by_id()
        if standing not in lines:
            return
        path = [key for key in self.model.path(standing) if lines[key].type == "custom_message"]
        if path:
            key = path[number % len(path)]
            if key in self.session(who).path():
                self.add(
                    who, lambda session: session.append_context_edit(key, None), "context_edit", target=key
                )

    @rule(who=WRITERS, number=st.integers(0, 99))
    def branch(self, who, number):
        key = self.known(who, number)
        if key is not None:
            self.move(who, self.model.conversation(key), lambda session: session.branch(key))

    @rule(who=WRITERS)
    def reset(self, who):
        self.move(who, None, lambda session: session.reset())

    def move(self, who, target, verb):
        count = len(self.model.lines)
        session, who, _ = self.act(who, verb)
        written = session.entries()[-1:]
        if self.model.leaf() != target:
            assert written[0].type == "leaf"
            self.model.lines.append(Line(written[0].id, target, "leaf", target=target))
        self.standing[who] = target
        assert len(self.model.lines) - count in (0, 1)
        self.check(session, who)

    @rule(who=WRITERS, number=st.none() | st.integers(0, 99))
    def branch_with_summary(self, who, number):
        key = None if number is None else self.known(who, number)
        parent = self.model.conversation(key)
        self.add(
            who, lambda session: session.branch_with_summary(key, "left"), "branch_summary", parent=parent
        )

    @rule(who=WRITERS)
    def refresh(self, who):
        session, who, _ = self.act(who, lambda session: session.refresh())
        self.standing[who] = self.model.leaf()
        self.check(session, who)
        if session._pen.log is not None:
            assert facts(session) == facts(reopened(session))

    @rule(who=WRITERS, number=st.none() | st.integers(0, 99))
    def fork(self, who, number):
        key = None if number is None else self.known(who, number)
        session, who, made = self.act(who, lambda session: session.fork(key))
        leaf = self.standing[who] if key is None else self.model.conversation(key)
        assert made.path() == self.model.path(leaf)
        assert made.leaf == leaf
        assert made.title is None
        assert made.labels == {
            key: text for key, text in self.model.labels().items() if key in made.path()
        } or {label for label in made.labels if made.entry(label).type in SIDE}
        with made:
            pass

    # -- what happens to them -----------------------------------------------------------------------------

    @rule(who=WRITERS)
    def kill(self, who):
        """The process is gone; another one opens the session, if there is something to open."""
        if self.log_path() is not None and who in self.sessions:
            del self.sessions[who]
            self.open(who)
            self.check(self.sessions[who], who)

    @precondition(lambda self: any(line.type == "message" for line in self.model.lines))
    @rule(who=WRITERS)
    def close(self, who):
        if who in self.sessions:
            self.sessions[who].close()
            self.open(who)
            self.check(self.sessions[who], who)

    @precondition(lambda self: self.log_path() is not None and not self.unfinished())
    @rule(kind=st.sampled_from(["message", "label", "custom", "session_info"]), number=st.integers(0, 99))
    def pi_writes(self, kind, number):
        """A program that does not lock writes a line below the last one."""
        session, who, _ = self.act("one", lambda session: session.refresh_log())
        as_pi_does(session, kind, number)
        session.refresh_log()
        key = session.index.keys[-1]
        entry = session.entry(key)
        placeholder_parent = entry.parent is not None and entry.parent not in self.model.by_id()
        parent = entry.parent
        if placeholder_parent:
            # pi hangs its line from a torn one; the path goes through the placeholder.
            self.model.lines.append(Line(key, parent, kind, getattr(entry, "target", None), text_of(entry)))
            self.through_placeholder(parent, session)
        else:
            self.model.lines.append(Line(key, parent, kind, getattr(entry, "target", None), text_of(entry)))
        self.check(session, who)

    def through_placeholder(self, key, session):
        """Nothing else hangs from what cannot be read; say in the model what the placeholder says."""
        line = self.model.lines.pop()
        grandparent = session.index.parent(key)
        while grandparent is not None and grandparent not in self.model.by_id():
            grandparent = session.index.parent(grandparent)
        line.parent = grandparent
        self.model.lines.append(line)
        # The model has no placeholders, so from here on the parents are compared without them.
        self.skipping = True

    @precondition(
        lambda self: self.model.lines and self.log_path() is not None and not self.junk_at_the_end()
    )
    @rule(cut=st.integers(1, 400))
    def tear(self, cut):
        """The last line loses its end, as after a crash; the programs that had read it do not know."""
        path = self.log_path()
        with open(path, "rb") as file:
            data = file.read()
        finished = data.endswith(b"\n")
        last = len(lines_of(data)[-1])
        keep = last - min(cut - finished, last) if cut >= finished else last
        end = len(data) - last - finished
        os.truncate(path, end + keep)
        if keep < last:
            self.model.lines.pop()
        self.cut = dict.fromkeys(self.cut, True)

    @precondition(lambda self: self.log_path() is not None)
    @rule(garbage=st.sampled_from(GARBAGE))
    def litter(self, garbage):
        """Somebody writes half a line of no use at the end."""
        with open(self.log_path(), "ab") as file:
            file.write(garbage)

    def unfinished(self) -> bool:
        with open(self.log_path(), "rb") as file:
            return not file.read().endswith(b"\n")

    def junk_at_the_end(self) -> bool:
        """Whether the last line of the file is not the last one of the model."""
        with open(self.log_path(), "rb") as file:
            last = lines_of(file.read())[-1]
        return self.model.lines[-1].id.encode() not in last or not last.endswith(b"}")

    @invariant()
    def whoever_opens_it_now_sees_what_the_model_says(self):
        if not self.sessions or self.log_path() is None:
            return
        again = reopened(self.sessions["one"])
        self.standing["newcomer"] = self.model.leaf()
        self.check(again, "newcomer")
        drafts, listed = self.store.drafts(), self.store.scan().found
        assert len({found.key for found in drafts + listed}) >= 1


def text_of(entry):
    return getattr(entry, "label", None) or getattr(entry, "name", None)


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(
    max_examples=120 * MANY,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
