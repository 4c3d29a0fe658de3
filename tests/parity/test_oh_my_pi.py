"""The promises of oh-my-pi, each as it is worded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from branchline import NoSummarizer, Session, flows
from branchline.context import to_model
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomContent,
    SystemMessage,
    ToolResult,
    UnknownMessage,
    UserMessage,
)
from branchline.flows import AbortSignal, Cancel, HookSummary, SessionBeforeTreeResult, run
from branchline.plugins import Plugins, hookimpl
from parity.kit import files, talk, texts
from session.kit import CWD, assistant, user

BOTH = pytest.mark.parametrize("format_", ["branchline", "oh-my-pi"])


def summary(request, *_more):
    return "a summary"


class Recorder:
    """A plugin that writes down what it is asked and told."""

    def __init__(self, answer=None):
        self.before, self.after, self.answer = [], [], answer

    @hookimpl
    def session_before_tree(self, event, context):
        self.before.append(event)
        return self.answer

    @hookimpl
    def session_tree(self, event, context):
        self.after.append(event)


def hooks(plugin) -> Plugins:
    plugins = Plugins()
    plugins.register(plugin, "recorder")
    return plugins


@BOTH
@pytest.mark.parity("OMP-01")
def test_branch_tree_children_and_label(tmp_path, format_):
    session = talk(tmp_path, "root", format=format_)
    root = session.leaf
    old = session.append_message(assistant("old"))
    session.branch(root)
    new = session.append_message(assistant("new"))
    session.append_label(old, "before")
    session.close()
    lines = Path(session.file).read_text().splitlines()
    orphan = {
        "type": "message",
        "id": "orphan01",
        "parentId": "gone",
        "timestamp": "2031-01-01T00:00:00.000Z",
    }
    orphan["message"] = {"role": "user", "content": [{"type": "text", "text": "lost"}], "timestamp": 1}
    found = Session.in_memory(data=("\n".join([*lines, json.dumps(orphan)]) + "\n").encode())

    assert found.path(old) == [root, old]
    assert {node.id for node in found.tree()} >= {root, "orphan01"}
    assert found.children(root) == [old, new]
    assert [found.label(key) for key in (old, new)] == ["before", None]


@BOTH
@pytest.mark.parity("OMP-02")
def test_branch_validates_reset_moves_before_the_first_and_a_summary_at_none_records_root(tmp_path, format_):
    session = talk(tmp_path, "one", "two", format=format_)

    with pytest.raises(ValueError, match="nowhere"):
        session.branch("nowhere")
    session.reset()
    assert session.leaf is None
    root = session.append_message(user("a new root"))
    assert session.entry(root).parent is None
    made = session.branch_with_summary(None, "from the start")

    found = Session.open(session.file)
    assert (found.entry(made).parent, found.entry(made).from_id) == (None, "root")
    line = next(line for line in Path(session.file).read_text().splitlines() if f'"{made}"' in line)
    assert json.loads(line)["fromId"] == "root"
    assert found.leaf == made


@BOTH
@pytest.mark.parity("OMP-03")
def test_navigating_to_a_prompt_gives_its_text_back_and_any_other_entry_becomes_the_leaf(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", "four", format=format_)
    one, two, three, four = (item.entry for item in session.context().messages)
    custom = session.append_custom_message("ext", "from an extension")

    done = run(flows.navigate(session, three))
    assert (session.leaf, done.text) == (session.entry(three).parent, "three")
    assert texts(session) == ["one", "two"]
    done = run(flows.navigate(session, custom))
    assert (session.leaf, done.text) == (session.entry(custom).parent, "from an extension")
    done = run(flows.navigate(session, four))
    assert (session.leaf, done.text) == (four, None)
    run(flows.navigate(session, two))
    assert session.leaf == two
    done = run(flows.navigate(session, one))
    assert (session.leaf, done.text) == (None, "one")


@BOTH
@pytest.mark.parity("OMP-04")
def test_the_summary_is_at_the_new_position(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", "four", format=format_)
    two, left = session.context().messages[1].entry, session.leaf

    done = run(flows.navigate(session, two, summarize=True), summarizer=summary)

    assert session.entry(done.summary_entry).parent == two
    assert session.leaf == done.summary_entry
    assert not session.children(left)


@pytest.mark.parity("OMP-05")
def test_before_tree_tells_everything_and_may_cancel_or_bring_a_summary(tmp_path):
    session = talk(tmp_path, "one", "two", "three", "four")
    _one, two, _three, four = session.path()
    session.branch(two)
    other = session.append_message(user("other"))
    abort = AbortSignal()
    asked = Recorder(Cancel("not now"))
    before = files(tmp_path)

    done = run(
        flows.navigate(session, four, summarize=True, abort=abort), hooks=hooks(asked), summarizer=summary
    )

    (event,) = asked.before
    assert done.status == "cancelled"
    assert files(tmp_path) == before
    assert (event.target, event.old_leaf, event.common_ancestor) == (four, other, two)
    assert event.entries_to_summarize == (other,)
    assert event.wants_summary is True
    assert event.abort is abort
    own = Recorder(SessionBeforeTreeResult(summary=HookSummary(text="in my words")))
    done = run(flows.navigate(session, four, summarize=True), hooks=hooks(own))
    assert session.entry(done.summary_entry).summary == "in my words"
    run(flows.navigate(session, two), hooks=hooks(plain := Recorder(Cancel("not now"))))
    assert [event.wants_summary for event in plain.before] == [False]


@pytest.mark.parity("OMP-06")
def test_the_tree_event_names_both_leaves_the_summary_and_who_wrote_it(tmp_path):
    session = talk(tmp_path, "one", "two", "three", "four")
    _one, two, _three, four = session.path()
    built_in, own = Recorder(), Recorder(SessionBeforeTreeResult(summary=HookSummary(text="mine")))

    first = run(flows.navigate(session, two, summarize=True), hooks=hooks(built_in), summarizer=summary)
    second = run(flows.navigate(session, four, summarize=True), hooks=hooks(own))
    run(flows.navigate(session, two), hooks=hooks(third := Recorder()))

    (event,) = built_in.after
    assert (event.new_leaf, event.old_leaf, event.from_hook) == (first.summary_entry, four, False)
    assert event.summary_entry == first.summary_entry
    (event,) = own.after
    assert (event.new_leaf, event.old_leaf) == (second.summary_entry, first.summary_entry)
    assert event.from_hook is True
    assert third.after[0].summary_entry is None


@BOTH
@pytest.mark.parity("OMP-07")
def test_branching_from_a_prompt_makes_a_new_session_up_to_its_parent(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", "four", format=format_)
    one, two, three, _four = (item.entry for item in session.context().messages)

    done = run(flows.branch_to_new_session(session, three))
    first = run(flows.branch_to_new_session(session, one))

    assert done.text == "three"
    assert Path(done.session.file).exists()
    assert texts(Session.open(done.session.file)) == ["one", "two"]
    assert (first.text, len(first.session)) == ("one", 0)
    first.session.append_message(assistant("anew"))
    assert Session.open(first.session.file).parent_session in (session.file, session.id)
    with pytest.raises(ValueError, match="prompt"):
        run(flows.branch_to_new_session(session, two))


@BOTH
@pytest.mark.parity("OMP-08")
def test_a_branched_session_rebuilds_labels_and_stays_chained(tmp_path, format_):
    session = talk(tmp_path, "one", "two", format=format_)
    one, two = (item.entry for item in session.context().messages)
    session.append_label(one, "start")
    session.append_label(two, "gone")
    session.append_label(two, None)
    three = session.append_message(user("three"))
    session.append_message(assistant("four"))
    session.append_label(session.leaf, "beyond")

    found = Session.open(session.fork(three).file)

    assert texts(found) == ["one", "two", "three"]
    assert found.labels == {one: "start"}
    assert not [finding for finding in found.findings if finding.kind == "missing-parent"]
    memory = Session.in_memory(CWD, format=None if format_ == "branchline" else format_)
    key = memory.append_message(user("hello"))
    assert memory.fork(key).file is None


@BOTH
@pytest.mark.parity("OMP-09")
def test_summaries_and_custom_messages_become_user_messages(tmp_path, format_):
    session = talk(tmp_path, "one", "two", format=format_)
    session.append_thinking_level_change("high")
    session.append_model_change("openai", "gpt-5")
    session.append_compaction("in short", None, 5)
    session.branch_with_summary(session.leaf, "left")
    session.append_custom_message("ext", "noted")

    context = session.context()

    assert [message.role for message in to_model(context)] == ["user", "user", "user"]
    assert texts(session) == ["in short", "left", "noted"]
    assert (context.model.id, context.thinking_level) == ("gpt-5", "high")


@pytest.mark.parity("OMP-09", "OMP-21")
def test_the_context_of_an_oh_my_pi_session_carries_mode_and_injected_rules(tmp_path):
    session = talk(tmp_path, "one", "two", format="oh-my-pi")
    session.close()
    leaf = Session.open(session.file).leaf
    time = "2030-01-01T00:00:00.000Z"
    rows = [
        {
            "type": "mode_change",
            "id": "m1",
            "parentId": leaf,
            "timestamp": time,
            "mode": "plan",
            "data": {"a": 1},
        },
        {
            "type": "ttsr_injection",
            "id": "t1",
            "parentId": "m1",
            "timestamp": time,
            "injectedRules": ["x", "y"],
        },
        {
            "type": "ttsr_injection",
            "id": "t2",
            "parentId": "t1",
            "timestamp": time,
            "injectedRules": ["y", "z"],
        },
    ]
    with Path(session.file).open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)

    found = Session.open(session.file)

    context = found.context()
    assert (context.mode, context.mode_data, context.injected_rules) == ("plan", {"a": 1}, ("x", "y", "z"))
    earlier = found.context(leaf)
    assert (earlier.mode, earlier.mode_data, earlier.injected_rules) == ("none", None, ())
    assert found.context("t1").injected_rules == ("x", "y")


@BOTH
@pytest.mark.parity("OMP-10", part="entries and nodes; the keys are tested in the screens")
def test_labels_are_entries_and_shown_on_the_nodes_at_once(tmp_path, format_):
    session = talk(tmp_path, format=format_)
    first = session.path()[0]

    made = session.append_label(first, "here")

    line = next(line for line in Path(session.file).read_text().splitlines() if made in line)
    assert json.loads(line)["type"] == "label"
    assert next(node for node in session.nodes() if node.id == first).label == "here"
    assert session.tree()[0].label == "here"
    assert Session.open(session.file).label(first) == "here"


@pytest.mark.parity("OMP-13")
def test_hooks_around_branching_and_compaction(tmp_path):
    seen = []

    class Everything:
        @hookimpl
        def session_before_branch(self, event, context):
            seen.append(("before_branch", event.entry))

        @hookimpl
        def session_branch(self, event, context):
            seen.append(("branch", event.entry))

        @hookimpl
        def session_before_compact(self, event, context):
            seen.append(("before_compact", None))

        @hookimpl
        def session_compact(self, event, context):
            seen.append(("compact", None))

    session = talk(tmp_path, "one", "two", "three", "four")
    plugins = hooks(Everything())
    three = session.path()[2]

    run(flows.branch_to_new_session(session, three), hooks=plugins)
    run(flows.compact(session, keep_recent_tokens=1), hooks=plugins, summarizer=summary)

    assert seen == [("before_branch", three), ("branch", three), ("before_compact", None), ("compact", None)]


@pytest.mark.parity("OMP-14")
def test_the_edges_of_navigation(tmp_path):
    session = talk(tmp_path, "one", "two", "three", "four")
    leaf, two = session.leaf, session.path()[1]
    before = files(tmp_path)
    asked = Recorder()

    run(flows.navigate(session, leaf), hooks=hooks(asked))
    with pytest.raises(NoSummarizer):
        run(flows.navigate(session, two, summarize=True))
    abort = AbortSignal()

    def stop(*_arguments):
        abort.set("enough")
        return "too late"

    done = run(flows.navigate(session, two, summarize=True, abort=abort), summarizer=stop)

    assert done.status == "aborted"
    assert session.leaf == leaf
    with pytest.raises(ValueError, match="None"):
        session.branch(None)
    assert files(tmp_path) == before
    assert asked.before == []


@pytest.mark.parity("OMP-15")
@pytest.mark.parametrize("version", [1, 2])
def test_older_versions_are_upgraded_in_memory_and_on_disk_only_with_the_first_append(tmp_path, version):
    header = {"type": "session", "id": "old", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": CWD}
    rows = [header | ({"version": 2} if version == 2 else {})]
    for number, role in enumerate(("user", "hookMessage" if version == 2 else "assistant")):
        message = {"role": role, "content": [{"type": "text", "text": f"words {number}"}], "timestamp": 1}
        if role == "hookMessage":
            message |= {"customType": "ext", "display": True}
        ids = {"id": f"e{number}", "parentId": f"e{number - 1}" if number else None} if version == 2 else {}
        rows.append({"type": "message", **ids, "timestamp": "2026-01-01T00:00:01.000Z", "message": message})
    path = tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = path.read_bytes()

    first, second = Session.open(path), Session.open(path)

    assert first.path() == second.path()
    assert len(first.path()) == 2
    assert path.read_bytes() == before
    if version == 2:
        assert first.context().messages[1].message.role == "custom"
    first.append_message(user("more"))
    found = Session.open(path)
    assert found.header.version == 3
    assert texts(found) == ["words 0", "words 1", "more"]
    assert found.path()[:2] == second.path()
    backups = [file for file in (tmp_path / ".branchline").rglob("*") if file.is_file()]
    assert before in [file.read_bytes() for file in backups]


@pytest.mark.parity("OMP-16", "OMP-20")
def test_an_extension_can_branch_into_a_file_navigate_and_move_the_leaf(tmp_path):
    session = talk(tmp_path, "one", "two", "three", "four")
    _one, two, three, four = session.path()
    seen = {}

    class Acting:
        @hookimpl
        def session_compact(self, event, context):
            context.move_to(two)
            seen["moved"] = context.session.leaf
            seen["branched"] = context.branch(three)
            seen["leaf"] = context.session.leaf
            seen["navigated"] = context.navigate(four, summarize=False)

    run(flows.compact(session, keep_recent_tokens=1), hooks=hooks(Acting()), summarizer=summary)

    assert seen["moved"] == two
    assert Path(seen["branched"].session.file).exists()
    assert seen["branched"].text == "three"
    assert texts(seen["branched"].session) == ["one", "two"]
    assert seen["leaf"] == two  # a branched file does not move this session
    assert seen["navigated"].status == "done"
    assert session.leaf == four


@pytest.mark.parity("OMP-23")
def test_every_message_has_a_role():
    messages = [
        UserMessage(content="x"),
        AssistantMessage(content="x"),
        ToolResult(tool_call_id="c", tool_name="n", content="x"),
        SystemMessage(content="x"),
        BashExecution(command="ls", output=""),
        CustomContent(custom_type="ext", content="x"),
        BranchSummaryMessage(summary="s"),
        CompactionSummaryMessage(summary="s"),
        UnknownMessage(role="note", fields={}),
    ]

    assert [message.role for message in messages] == [
        "user",
        "assistant",
        "toolResult",
        "system",
        "bashExecution",
        "custom",
        "branchSummary",
        "compactionSummary",
        "note",
    ]


@pytest.mark.parity("OMP-23", part="messages of a context")
def test_a_message_of_a_context_has_the_role_of_its_message():
    session = Session.in_memory()
    session.append_message("a question")
    session.append_message({"role": "assistant", "content": [{"type": "text", "text": "an answer"}]})

    assert [message.role for message in session.context().messages] == ["user", "assistant"]
