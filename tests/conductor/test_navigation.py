"""Moving in the tree and between sessions, with plugins."""

import pytest

from branchline import Session
from branchline.conductor import Conductor
from branchline.entries import BranchSummary, message_text
from branchline.errors import NoSummarizer, SummaryFailed
from branchline.flows import Cancel, Chosen, HookSummary, SessionBeforeTreeResult
from branchline.models import OfflineModel
from branchline.plugins import Plugins, hookimpl
from conductor.kit import Watched, conductor, ended, events_of, new_session, reopened, require_kept, talk


async def talked(talking, *prompts):
    """The entries of the prompts and of the answers."""
    entries = []
    for prompt in prompts:
        end = ended(await events_of(talking.send(prompt)))
        entries.append((talking.session.index.parent(end.entry), end.entry))
    return entries


class Spy:
    """A plugin that remembers what it was told, and answers what it is given."""

    def __init__(self, answer=None):
        self.heard = []
        self.answer = answer

    @hookimpl
    def session_before_tree(self, event):
        self.heard.append(event)
        return self.answer

    @hookimpl
    def session_tree(self, event):
        self.heard.append(event)

    @hookimpl
    def session_before_fork(self, event):
        self.heard.append(event)

    @hookimpl
    def session_fork(self, event):
        self.heard.append(event)

    @hookimpl
    def session_before_branch(self, event):
        self.heard.append(event)

    @hookimpl
    def session_branch(self, event):
        self.heard.append(event)

    @hookimpl
    def session_before_switch(self, event):
        self.heard.append(event)
        return self.answer

    @hookimpl
    def session_switch(self, event):
        self.heard.append(event)

    @hookimpl
    def session_start(self, event):
        self.heard.append(event)

    @hookimpl
    def session_shutdown(self, event):
        self.heard.append(event)

    @hookimpl
    def entry_appended(self, event):
        self.heard.append(event)

    def of(self, *names):
        return [event for event in self.heard if type(event).__name__ in names]


def spied(answer=None):
    spy, plugins = Spy(answer), Plugins()
    assert plugins.register(spy, "spy")
    return spy, plugins


@pytest.mark.parity("OMP-03")
def test_picking_a_prompt_goes_before_it_and_gives_its_text_back(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            (_p1, a1), (p2, a2) = await talked(talking, "first", "second")
            back = await talking.navigate(p2)
            assert talking.session.leaf == a1
            require_kept(talking)
            there = await talking.navigate(a2)
            assert talking.session.leaf == a2
            same = await talking.navigate(a2)
            require_kept(talking)
            return back, there, same

    back, there, same = talk(work)
    assert (back.status, back.text) == ("done", "second")
    assert (there.status, there.text) == ("done", None)
    assert same.status == "unchanged"


@pytest.mark.parity("OMP-04")
def test_a_summary_of_what_is_left_stands_at_the_new_place_and_is_seen_by_the_model(tmp_path):
    async def work():
        model = Watched()
        async with conductor(tmp_path, model) as talking:
            (_p1, a1), (p2, a2) = await talked(talking, "first", "second")
            pieces = []
            done = await talking.navigate(p2, summarize=True, on_progress=pieces.append)
            require_kept(talking)
            await events_of(talking.send("third"))
            session = talking.session
            assert session.children(a2) == []
            return session.entry(done.summary_entry), a1, "".join(pieces), model.requests[-1]

    made, a1, pieces, request = talk(work)
    assert isinstance(made, BranchSummary)
    assert made.parent == a1
    assert pieces in made.summary
    assert pieces in message_text(request.messages[-2])
    assert made.usage.total_tokens > 0


@pytest.mark.parity("OMP-05", "OMP-06")
def test_plugins_hear_of_a_move_before_and_after_and_may_bring_the_summary(tmp_path):
    async def work():
        spy, plugins = spied(SessionBeforeTreeResult(summary=HookSummary(text="mine")))
        async with conductor(tmp_path, hooks=plugins) as talking:
            _first, (p2, a2) = await talked(talking, "first", "second")
            done = await talking.navigate(p2, summarize=True)
            return spy, done, p2, a2, talking.session.entry(done.summary_entry).summary

    spy, done, p2, a2, summary = talk(work)
    (before,), (after,) = spy.of("SessionBeforeTreeEvent"), spy.of("SessionTreeEvent")
    assert (before.target, before.old_leaf, before.common_ancestor) == (p2, a2, p2)
    assert before.entries_to_summarize == (a2,)
    assert before.wants_summary
    assert (after.old_leaf, after.new_leaf, after.from_hook) == (a2, done.summary_entry, True)
    assert summary == "mine"


def test_a_plugin_may_forbid_a_move(tmp_path):
    async def work():
        _spy, plugins = spied(Cancel("not now"))
        async with conductor(tmp_path, hooks=plugins) as talking:
            _first, (p2, a2) = await talked(talking, "first", "second")
            done = await talking.navigate(p2)
            return done.status, done.reason, talking.session.leaf == a2

    assert talk(work) == ("cancelled", "not now", True)


@pytest.mark.parity("OMP-14", part="conductor")
def test_a_summary_without_a_model_fails_before_anything_moves(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            _first, (p2, a2) = await talked(talking, "first", "second")
            file = talking.session.file
        async with Conductor(Session.open(file), find_model=lambda _: OfflineModel()) as again:
            again._model = None
            before = len(again.session)
            with pytest.raises(NoSummarizer):
                await again.navigate(p2, summarize=True)
            assert (again.session.leaf, len(again.session)) == (a2, before)
            assert (await again.navigate(p2)).status == "done"

    talk(work)


def test_a_summary_that_fails_moves_nothing(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            _first, (p2, a2) = await talked(talking, "first", "second")
            with pytest.raises(SummaryFailed, match="drop the connection"):
                await talking.navigate(p2, summarize=True, instructions="offline: fail network")
            assert talking.session.leaf == a2
            assert not talking.running
            require_kept(talking)

    talk(work)


def test_a_summary_can_be_aborted_while_it_is_written(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            _first, (p2, a2) = await talked(talking, "first", "second")
            done = await talking.navigate(p2, summarize=True, on_progress=lambda _text: talking.abort())
            require_kept(talking)
            return done.status, talking.session.leaf == a2

    assert talk(work) == ("aborted", True)


def test_the_person_is_asked_whether_to_sum_up(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            _first, (p2, a2) = await talked(talking, "first", "second")
            asked = []

            def choose(step):
                asked.append(step.question)
                return None if len(asked) == 1 else Chosen(key="summarize")

            no = await talking.navigate(p2, summarize=None, choose=choose)
            stayed = talking.session.leaf == a2
            yes = await talking.navigate(p2, summarize=None, choose=choose)
            return no.status, stayed, yes.summary_entry is not None

    assert talk(work) == ("cancelled", True, True)


@pytest.mark.parity("OMP-07")
def test_a_prompt_is_continued_in_a_new_session_up_to_its_parent(tmp_path):
    async def work():
        spy, plugins = spied()
        async with conductor(tmp_path, hooks=plugins) as talking:
            (p1, a1), (p2, _a2) = await talked(talking, "first", "second")
            old = talking.session
            path, data = old.file, old.path()
            done = await talking.branch_to_new_session(p2)
            new = talking.session
            assert new is done.session is not old
            assert new.path() == data[: data.index(a1) + 1]
            assert new.parent_session == path
            await events_of(talking.send("second, better"))
            require_kept(talking)
            with Session.open(path) as parent:
                assert parent.path() == data
                await talking.resume(path)
                first = await talking.branch_to_new_session(p1)
                return done, first, talking.session.parent_session == path, spy

    done, first, linked, spy = talk(work)
    assert (done.text, first.text) == ("second", "first")
    assert linked
    assert len(spy.of("SessionBeforeBranchEvent")) == len(spy.of("SessionBranchEvent")) == 2


def test_the_first_prompt_gives_an_empty_session_with_a_link(tmp_path):
    async def work():
        session = new_session(tmp_path)
        async with conductor(session) as talking:
            talking.set_thinking("low")
            ((p1, _a1),) = await talked(talking, "first")
            done = await talking.branch_to_new_session(p1)
            path = talking.session.path()
            await events_of(talking.send("again"))
            require_kept(talking)
            return done.text, [
                talking.session.index.types[talking.session.index.position(key)] for key in path
            ]

    text, types = talk(work)
    assert text == "first"
    assert "message" not in types


def test_a_fork_is_gone_on_in_and_the_old_session_stays_as_it_was(tmp_path):
    async def work():
        spy, plugins = spied()
        async with conductor(tmp_path, hooks=plugins) as talking:
            (_p1, a1), (p2, _a2) = await talked(talking, "first", "second")
            old = talking.session.file
            before = reopened(talking.session).path()
            done = await talking.fork(p2, position="before")
            assert talking.session.leaf == a1
            await talked(talking, "third")
            require_kept(talking)
            with Session.open(old) as parent:
                same = parent.path() == before
            tree = await talking.fork(scope="tree")
            return done, same, tree.session.path() == talking.session.path(), spy

    done, same, whole, spy = talk(work)
    assert (done.status, done.text) == ("done", "second")
    assert same
    assert whole
    assert len(spy.of("SessionForkEvent")) == 2
    assert [event.reason for event in spy.of("SessionStartEvent")] == ["startup", "fork", "fork"]
    assert [event.reason for event in spy.of("SessionShutdownEvent")] == ["fork", "fork", "quit"]


@pytest.mark.parity("IND-10")
def test_a_reset_starts_a_new_root_and_a_new_session_starts_afresh(tmp_path):
    async def work():
        spy, plugins = spied()
        async with conductor(tmp_path, hooks=plugins) as talking:
            talking.set_thinking("low")
            ((p1, _a1),) = await talked(talking, "first")
            talking.reset()
            assert talking.context().messages == []
            ((p2, _a2),) = await talked(talking, "second")
            session, roots = talking.session, talking.session.children(None)
            assert p1 not in session.path()
            assert p2 in session.path()
            require_kept(talking)
            done = await talking.new_session()
            assert talking.session is done.session is not session
            await talked(talking, "third")
            require_kept(talking)
            return len(roots), talking.thinking, talking.session.parent_session, spy

    roots, thinking, parent, spy = talk(work)
    assert roots == 2
    assert (thinking, parent) == ("low", None)
    assert [event.reason for event in spy.of("SessionSwitchEvent")] == ["new"]


def test_another_session_is_resumed_where_it_stands(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            ((_p1, a1),) = await talked(talking, "first")
            first = talking.session.file
            await talking.new_session()
            await talked(talking, "second")
            done = await talking.resume(first)
            assert talking.session is done.session
            assert talking.session.leaf == a1
            await talked(talking, "third")
            require_kept(talking)
            await talking.resume(lambda: Session.open(first))
            assert talking.session is not done.session
            done = await talking.resume(first)
            with pytest.raises(FileNotFoundError):
                await talking.resume(tmp_path / "nowhere.jsonl")
            assert talking.session is done.session
            await talked(talking, "fourth")

    talk(work)


def test_a_plugin_may_forbid_leaving_a_session(tmp_path):
    async def work():
        _spy, plugins = spied(Cancel("stay"))
        async with conductor(tmp_path, hooks=plugins) as talking:
            session = talking.session
            await talked(talking, "first")
            done = await talking.new_session()
            assert talking.session is session
            await talked(talking, "second")
            return done.status

    assert talk(work) == "cancelled"


def test_plugins_hear_of_every_entry_also_in_the_next_session(tmp_path):
    async def work():
        spy, plugins = spied()
        async with conductor(tmp_path, hooks=plugins) as talking:
            await talked(talking, "first")
            one = list(talking.session.index.keys)
            await talking.new_session()
            await talked(talking, "second")
            return [event.entry for event in spy.of("EntryAppendedEvent")], one + talking.session.index.keys

    told, written = talk(work)
    assert told == written
