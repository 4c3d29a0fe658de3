"""Anything that a person may do, in any order, against a plain model of the tree.

After every step what is in memory is what a fresh look at the file gives, nothing that was ever written has
changed, and every request that went to the model is the one that the file would have made at that moment.
`BRANCHLINE_EXAMPLES=20` tries twenty times as many.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from branchline import Session
from branchline.clock import FixedClock
from branchline.conductor import Conductor, MessageAppended, Policy, TextDelta, TurnEnded
from branchline.entries import AssistantMessage, message_text
from branchline.errors import NothingToCompact, SummaryFailed
from branchline.models import COUNT_WORDS, ModelRequest, OfflineModel
from conductor.kit import Watched, bytes_of, reopened, request_from_disk, require_kept

MANY = int(os.environ.get("BRANCHLINE_EXAMPLES", "1"))
POLICY = Policy(retries=1, retry_delay=0, reserve_tokens=300, keep_recent_tokens=60)
ORDERS = [
    "hello",
    "offline: say fine",
    'offline: call count_words {"text": "a b"}',
    'offline: call count_words {"text": "a"}\noffline: call missing {}\noffline: rounds 2',
    "word " * 150,
    "offline: cut\noffline: say one two three four",
]
FAILURES = [
    f"offline: fail {kind}{midway}\noffline: say one two three four"
    for kind in ("network", "rate_limit 1", "malformed", "overflow", "overflow 1", "auth")
    for midway in ("", " midway")
]
numbers = st.integers(0, 1000)


class Tree:
    """What must be there: every entry ever seen with its parent, and the words of what was shown."""

    def __init__(self) -> None:
        self.parents: dict[str, str | None] = {}
        self.words: dict[str, str] = {}
        self.leaf: str | None = None

    def learn(self, session: Session) -> None:
        """Nothing that was there has gone or moved; what is new is remembered."""
        keys = session.index.keys
        assert list(self.parents) == keys[: len(self.parents)]
        for key in keys:
            parent = session.index.parent(key)
            assert self.parents.setdefault(key, parent) == parent
        for key, words in self.words.items():
            assert message_text(session.entry(key).message) == words


class Conversation(RuleBasedStateMachine):
    @initialize(draft=st.booleans())
    def begin(self, draft: bool) -> None:
        self.loop = asyncio.new_event_loop()
        self.directory = tempfile.TemporaryDirectory()
        self.clock = FixedClock()
        self.model = Watched(OfflineModel(context_window=1200), self.look)
        session = Session.create(
            "/project",
            directory=self.directory.name,
            durability="os",
            clock=self.clock,
            persist="with_reply" if draft else "at_once",
        )
        self.start(session)

    def start(self, session: Session) -> None:
        self.tree = Tree()
        self.talking = Conductor(session, self.model, tools=(COUNT_WORDS,), policy=POLICY)
        self.tree.learn(session)
        self.tree.leaf = session.leaf

    @property
    def session(self) -> Session:
        return self.talking.session

    def look(self, request: ModelRequest) -> None:
        if not request.system:  # not a summary
            assert request == request_from_disk(self.session, tools=(COUNT_WORDS,))

    def run(self, work):
        return self.loop.run_until_complete(work)

    def check(self) -> None:
        self.tree.learn(self.session)
        self.tree.leaf = self.session.leaf
        if len(self.session):
            require_kept(self.talking)

    async def listen(self, events, *, stop_after: int | None = None, abort_after: int | None = None):
        """Take events; abort or walk away after so many pieces."""
        pieces, text, last = 0, "", None
        async for event in events:
            last = event
            if isinstance(event, MessageAppended):
                self.tree.words[event.entry] = message_text(event.message)
                text = ""
                with reopened(self.session) as again:
                    assert again.entry(event.entry).message == event.message
            elif isinstance(event, TextDelta):
                text += event.text
            pieces += 1
            if pieces == abort_after:
                self.talking.abort()
            if pieces == stop_after:
                await events.aclose()
                break
        return last, text

    # -- what a person may do -----------------------------------------------------------------------------

    @rule(prompt=st.sampled_from(ORDERS))
    def send(self, prompt: str) -> None:
        last, _text = self.run(self.listen(self.talking.send(prompt)))

        assert isinstance(last, TurnEnded)
        assert last.entry is None or last.entry in self.session
        self.check()

    @rule(prompt=st.sampled_from(FAILURES))
    def fail(self, prompt: str) -> None:
        last, _text = self.run(self.listen(self.talking.send(prompt)))

        assert isinstance(last, TurnEnded)
        self.check()

    @rule(prompt=st.sampled_from(ORDERS), after=st.integers(1, 25))
    def abort(self, prompt: str, after: int) -> None:
        last, _text = self.run(self.listen(self.talking.send(prompt), abort_after=after))

        assert isinstance(last, TurnEnded)
        self.check()

    @rule(prompt=st.sampled_from(ORDERS + FAILURES), after=st.integers(1, 25))
    def walk_away(self, prompt: str, after: int) -> None:
        _last, text = self.run(self.listen(self.talking.send(prompt), stop_after=after))

        assert not self.talking.running
        if text:
            answers = [
                message_text(entry.message)
                for entry in self.session.entries()
                if entry.type == "message" and isinstance(entry.message, AssistantMessage)
            ]
            assert any(answer.startswith(text) for answer in answers)
        self.check()

    @rule(prompt=st.sampled_from(ORDERS), first=st.integers(1, 12))
    def steer(self, prompt: str, first: int) -> None:
        async def work():
            count, unsent, steered = 0, (), False
            async for event in self.talking.send(prompt):
                count += 1
                if count == first and not isinstance(event, TurnEnded):
                    self.talking.steer("offline: say steered")
                    steered = True
                if isinstance(event, MessageAppended):
                    self.tree.words[event.entry] = message_text(event.message)
                if isinstance(event, TurnEnded):
                    unsent = event.unsent
            return steered, unsent

        steered, unsent = self.run(work())
        texts = [message_text(item.message) for item in self.session.context().messages]
        if steered and not unsent:
            assert "offline: say steered" in texts or "compaction" in self.session.index.types
        self.check()

    @precondition(lambda self: self.session.context().messages)
    @rule()
    def retry(self) -> None:
        before = self.session.leaf
        was_answer = self.session.index.roles[self.session.index.position(before)] == "assistant"

        self.run(self.listen(self.talking.retry()))

        if was_answer:
            assert before not in self.session.path()
        assert before in self.session
        self.check()

    @precondition(lambda self: len(self.session) > 0)
    @rule(number=numbers)
    def branch(self, number: int) -> None:
        self.talking.branch(self.session.index.keys[number % len(self.session)])
        self.check()

    @rule()
    def reset(self) -> None:
        self.talking.reset()
        assert self.session.leaf is None
        self.check()

    @precondition(lambda self: len(self.session) > 0)
    @rule(number=numbers, summarize=st.booleans(), fails=st.booleans())
    def navigate(self, number: int, summarize: bool, fails: bool) -> None:
        target, before = self.session.index.keys[number % len(self.session)], self.session.leaf
        size = len(self.session)
        instructions = "offline: fail malformed" if fails else None
        try:
            done = self.run(self.talking.navigate(target, summarize=summarize, instructions=instructions))
        except SummaryFailed:
            assert (self.session.leaf, len(self.session)) == (before, size)
        else:
            assert done.new_leaf == self.session.leaf
        self.check()

    @precondition(lambda self: len(self.session) > 0)
    @rule(number=numbers)
    def label(self, number: int) -> None:
        key, before = self.session.index.keys[number % len(self.session)], self.session.leaf

        self.talking.label(key, f"label {number}")

        assert self.session.leaf == before
        assert self.session.label(key) == f"label {number}"
        self.check()

    @rule(fails=st.booleans())
    def compact(self, fails: bool) -> None:
        before, size = self.session.leaf, len(self.session)
        try:
            self.run(self.talking.compact("offline: fail malformed" if fails else None))
        except (NothingToCompact, SummaryFailed):
            assert (self.session.leaf, len(self.session)) == (before, size)
        else:
            assert self.session.index.parent(self.session.leaf) == before
        self.check()

    @precondition(lambda self: self.session.leaf is not None)
    @rule(number=numbers, scope=st.sampled_from(["path", "tree"]), position=st.sampled_from(["at", "before"]))
    def fork(self, number: int, scope: str, position: str) -> None:
        old, path = self.session, self.session.path()
        key = path[number % len(path)]
        length = len(path[: path.index(key)]) + (position == "at")

        done = self.run(self.talking.fork(key, position=position, scope=scope))

        assert self.session is done.session is not old
        assert self.session.path() == path[:length]
        self.tree = Tree()
        self.check()

    @rule(level=st.sampled_from(["off", "low", "high"]))
    def think(self, level: str) -> None:
        self.talking.set_thinking(level)
        assert self.session.context().thinking_level == level
        self.check()

    @precondition(lambda self: not self.session.is_draft)
    @rule()
    def somebody_else(self) -> None:
        """Another program appends to the same file."""
        before = self.session.leaf
        with Session.open(self.session.file, durability="os") as other:
            other.append_message("from elsewhere")
        assert self.talking.poll() == 1
        assert self.session.leaf == before
        if before is None:
            self.talking.reset()
        else:
            self.talking.branch(before)
        self.check()

    @precondition(lambda self: len(self.session) > 0)
    @rule()
    def reopen(self) -> None:
        """Leave and come back."""
        store, key, draft = self.session.store, self.session.key, self.session.is_draft
        leaf, usage = self.talking.session.transcript.leaf, self.talking.usage
        words = draft and not {"message", "compaction", "branch_summary"} & set(self.session.index.types)
        self.run(self.talking.aclose())
        if words:
            self.teardown()
            self.begin(True)  # nothing was said, nothing is left
            return
        session = Session.from_store(store, key, durability="os", clock=self.clock)
        assert session.leaf == leaf
        tree = self.tree
        self.talking = Conductor(session, self.model, tools=(COUNT_WORDS,), policy=POLICY)
        self.tree = tree
        assert self.talking.usage == usage
        self.check()

    @precondition(lambda self: not self.session.is_draft)
    @rule(prompt=st.sampled_from(ORDERS + FAILURES), after=st.integers(1, 25))
    def kill(self, prompt: str, after: int) -> None:
        """The program is gone after some event: the file is what it was at that moment."""
        file = self.session.file

        async def work():
            events, count, snapshot = self.talking.send(prompt), 0, b""
            shown = dict(self.tree.words)
            async for event in events:
                count += 1
                if isinstance(event, MessageAppended):
                    shown[event.entry] = message_text(event.message)
                if count == after or isinstance(event, TurnEnded):
                    snapshot = bytes_of(file)
                    break
            await events.aclose()
            await self.talking.aclose()
            return snapshot, shown

        snapshot, shown = self.run(work())
        Path(file).write_bytes(snapshot)
        session = Session.open(file, durability="os", clock=self.clock)
        assert not session.findings
        parents = self.tree.parents
        self.talking = Conductor(session, self.model, tools=(COUNT_WORDS,), policy=POLICY)
        self.tree = Tree()
        self.tree.parents, self.tree.words = parents, shown
        self.check()

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        self.run(self.talking.aclose())
        self.run(self.loop.shutdown_asyncgens())
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()
        self.directory.cleanup()


TestConversation = Conversation.TestCase
TestConversation.settings = settings(
    max_examples=15 * MANY,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # explaining takes minutes
    report_multiple_bugs=False,
)
