"""Every call of oh-my-pi's session tree documentation, in snake and camel case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from branchline import NoSummarizer
from branchline.compat.oh_my_pi import AgentSession, SessionManager
from branchline.entries import message_text
from session.kit import CWD, assistant, user


def texts(manager: SessionManager) -> list[str]:
    return [message_text(item.message) for item in manager.build_session_context().messages]


@pytest.fixture
def manager(tmp_path: Path) -> SessionManager:
    made = SessionManager.create(CWD, tmp_path)
    for text, build in (("one", user), ("two", assistant), ("three", user), ("four", assistant)):
        made.append_message(build(text))
    return made


@pytest.mark.parity("OMP-22")
def test_the_tree_apis(manager):
    one, two, three, four = (entry.id for entry in manager.getBranch())
    manager.branch(two)
    other = manager.appendMessage(user("other"))
    manager.appendLabelChange(one, "start")

    (root,) = manager.getTree()

    assert [entry.id for entry in manager.getBranch(three)] == [one, two, three]
    assert [entry.id for entry in manager.getChildren(two)] == [three, other]
    assert [entry.id for entry in manager.getChildren(None)] == [one]
    assert (manager.getLabel(one), manager.getLabel(two)) == ("start", None)
    assert (root.entry.id, root.label) == (one, "start")
    (second,) = [node for node in root.children if node.entry.id == two]
    assert [node.entry.id for node in second.children if node.entry.type == "message"] == [three, other]
    assert manager.getEntry("nowhere") is None
    assert manager.getEntry(four).message.role == "assistant"


@pytest.mark.parity("OMP-22")
def test_the_three_ways_to_move_the_leaf(manager):
    one, two, *_rest = (entry.id for entry in manager.get_branch())

    manager.branch(two)
    assert manager.getLeafId() == two
    for wrong in ("nowhere", None):
        with pytest.raises(ValueError, match=str(wrong)):
            manager.branch(wrong)
    manager.resetLeaf()
    assert manager.getLeafId() is None
    root = manager.append_message(user("a new root"))
    assert manager.getEntry(root).parent is None
    made = manager.branchWithSummary(one, "what was left", {"readFiles": []}, True)
    assert (manager.getEntry(made).parent, manager.getLeafId()) == (one, made)
    at_root = manager.branchWithSummary(None, "from nothing")
    lines = [json.loads(line) for line in Path(manager.getSessionFile()).read_text().splitlines()]
    assert next(line for line in lines if line.get("id") == at_root)["fromId"] == "root"


@pytest.mark.parity("OMP-22")
def test_create_branched_session_switches_and_returns_the_file(manager, tmp_path):
    one, two, _three, four = (entry.id for entry in manager.get_branch())
    manager.append_label_change(one, "start")
    old = manager.getSessionFile()

    path = manager.createBranchedSession(two)

    assert path == manager.getSessionFile() != old
    assert Path(path).exists()
    assert texts(manager) == ["one", "two"]
    assert manager.getLabel(one) == "start"
    assert SessionManager.open(old).getBranch()[-1].id == four
    with pytest.raises(ValueError, match="nowhere"):
        manager.createBranchedSession("nowhere")


@pytest.mark.parity("OMP-22")
def test_in_memory_a_branched_session_has_no_path():
    manager = SessionManager.inMemory(CWD)
    first = manager.append_message(user("one"))
    manager.append_message(assistant("two"))

    assert manager.createBranchedSession(first) is None
    assert texts(manager) == ["one"]


@pytest.mark.parity("OMP-22")
@pytest.mark.parametrize(
    "options", [lambda old: {"parentSession": old}, lambda old: old, lambda old: {"parentSession": Path(old)}]
)
def test_new_session_names_its_parent(manager, options):
    old = manager.getSessionFile()

    manager.newSession(options(old))
    manager.append_message(assistant("hello"))

    assert manager.getSessionFile() != old
    reopened = SessionManager.open(manager.getSessionFile()).session
    assert reopened.parent_session == old
    assert json.loads(Path(reopened.file).read_bytes().splitlines()[1])["parentSession"] == old
    manager.new_session(parent_session=reopened.file)
    assert manager.session.parent_session == reopened.file
    manager.newSession({"parentSession": None})
    assert manager.session.parent_session is None


@pytest.mark.parametrize("options", [{"parent": "a.jsonl"}, {"parentSession": {"id": "a"}}, ["a.jsonl"], 3])
def test_new_session_refuses_other_options_and_stays_in_its_session(manager, options):
    before = manager.getSessionFile()

    with pytest.raises(TypeError):
        manager.newSession(options)

    assert manager.getSessionFile() == before
    with pytest.raises(TypeError):
        type(manager.session).create(parent_session=options)


@pytest.mark.parity("OMP-22")
def test_navigate_tree_and_branch(manager):
    one, two, three, four = (entry.id for entry in manager.get_branch())
    agent = AgentSession(manager, summarizer=lambda *_: "a summary")

    done = agent.navigateTree(three)
    assert (done.text, manager.getLeafId()) == ("three", two)
    done = agent.navigate_tree(four, summarize=True)
    assert manager.getLeafId() in (four, done.summary_entry)
    with pytest.raises(NoSummarizer):
        AgentSession(manager).navigateTree(one, summarize=True)
    old = manager.getSessionFile()
    done = agent.branch(three)
    assert done.text == "three"
    assert manager.getSessionFile() != old
    assert texts(manager) == ["one", "two"]


@pytest.mark.parity("OMP-22")
def test_context_and_factories(manager, tmp_path):
    kept = manager.get_branch()[2].id

    manager.appendCompaction("in short", kept, 100)
    manager.appendCustomMessageEntry("ext", "noted")

    assert texts(manager) == ["in short", "three", "four", "noted"]
    context = manager.buildSessionContext()
    assert (context.mode, context.injected_rules) == ("none", ())
    assert SessionManager.continueRecent(CWD, tmp_path).getSessionId() == manager.getSessionId()
