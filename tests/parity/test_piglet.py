"""The promises of piglet, each as it is worded; natively and in piglet's own form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.context import to_model
from branchline.entries import AssistantMessage, Text, UserMessage
from parity.kit import aged, files, talk, texts
from session.kit import CWD, assistant, clock, user

BOTH = pytest.mark.parametrize("format_", ["branchline", "piglet"])


def roles(session: Session) -> list[str]:
    return [message.role for message in to_model(session.context())]


@BOTH
@pytest.mark.parity("PIG-01")
def test_append(tmp_path, format_):
    session = talk(tmp_path, "hello", format=format_)
    before = session.leaf

    made = session.append_message(assistant("hi"))

    found = Session.open(session.file)
    assert (found.leaf, found.entry(made).parent) == (made, before)
    assert texts(found) == ["hello", "hi"]


@BOTH
@pytest.mark.parity("PIG-02", "PIG-16")
def test_a_checkpoint_of_messages_replaces_everything_before_it_on_the_path(tmp_path, format_):
    session = talk(tmp_path, "one", "two", format=format_)
    messages = [
        UserMessage(content=(Text(text="so far: one"),), timestamp=5),
        AssistantMessage(content=(Text(text="and two"),), timestamp=6),
    ]

    made = session.append_compaction(messages=messages, tokens_before=1234)
    session.append_message(user("three"))

    for found in (session, Session.open(session.file)):
        assert texts(found) == ["so far: one", "and two", "three"]
        assert roles(found) == ["user", "assistant", "user"]
        assert found.entry(made).tokens_before == 1234
        assert next(node for node in found.nodes() if node.id == made).tokens_before == 1234
    if format_ == "piglet":
        line = next(
            row
            for row in map(json.loads, Path(session.file).read_text().splitlines())
            if row.get("id") == made
        )
        assert (line["type"], line["tokensBefore"]) == ("compact", 1234)
        assert [item["type"] for item in line["data"]] == ["user", "assistant"]


@BOTH
@pytest.mark.parity("PIG-02", "PIG-16")
def test_an_empty_checkpoint_stays_in_force_after_reopening(tmp_path, format_):
    session = talk(tmp_path, "one", "two", format=format_)

    session.append_compaction(messages=[], tokens_before=10)

    found = Session.open(session.file)
    assert texts(session) == texts(found) == []
    found.append_message(user("anew"))
    assert texts(Session.open(session.file)) == ["anew"]
    with pytest.raises(ValueError, match="not both"):
        session.append_compaction("s", session.path()[0], messages=[])


@BOTH
@pytest.mark.parity("PIG-03")
def test_custom_entries_with_a_namespaced_kind_are_in_the_tree_and_not_in_the_messages(tmp_path, format_):
    session = talk(tmp_path, format=format_)

    made = session.append_custom("ext:memory:facts", {"a": [1, 2]})

    found = Session.open(session.file)
    assert texts(found) == ["question", "answer"]
    assert (found.entry(made).custom_type, found.entry(made).data) == ("ext:memory:facts", {"a": [1, 2]})
    assert made in [node.id for node in found.nodes()]


@BOTH
@pytest.mark.parity("PIG-04", "PIG-17")
def test_a_custom_message_is_one_of_the_user_or_the_assistant_and_no_other(tmp_path, format_):
    session = talk(tmp_path, format=format_)

    session.append_custom_message("ext", "from the user", role="user")
    session.append_custom_message("ext", "from the model", role="assistant")
    before = files(tmp_path)
    for role in ("system", "toolResult", "", "User"):
        with pytest.raises(ValueError, match="role"):
            session.append_custom_message("ext", "no", role=role)

    assert files(tmp_path) == before
    for found in (session, Session.open(session.file)):
        assert texts(found)[2:] == ["from the user", "from the model"]
        assert roles(found)[2:] == ["user", "assistant"]
    rows = [json.loads(line) for line in Path(session.file).read_text().splitlines()]
    stored = [row for row in rows if row["type"] == "custom_message"]
    if format_ == "piglet":
        assert [row["data"]["role"] for row in stored] == ["user", "assistant"]
    else:
        assert [row.get("role", "user") for row in stored] == ["user", "assistant"]


@BOTH
@pytest.mark.parity("PIG-05")
def test_labels_last_write_wins_empty_clears_and_nothing_moves(tmp_path, format_):
    session = talk(tmp_path, format=format_)
    first, leaf = session.path()[0], session.leaf

    session.append_label(first, "one")
    session.append_label(first, "two")
    assert Session.open(session.file).labels == {first: "two"}
    assert Session.open(session.file).leaf == leaf
    session.append_label(first, "")

    found = Session.open(session.file)
    assert found.labels == {}
    assert session.leaf == found.leaf == leaf


@BOTH
@pytest.mark.parity("PIG-06")
def test_a_branch_survives_a_reload(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", "four", format=format_)

    session.branch(session.path()[1])

    assert texts(Session.open(session.file)) == ["one", "two"]
    assert len(list(tmp_path.glob("*.jsonl"))) == 1


@BOTH
@pytest.mark.parity("PIG-07")
def test_a_branch_summary_becomes_the_leaf_and_names_the_abandoned_leaf(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", format=format_)
    left, target = session.leaf, session.path()[0]

    made = session.branch_with_summary(target, "it did not work")

    found = Session.open(session.file)
    assert found.leaf == made
    entry = found.entry(made)
    assert (entry.type, entry.from_id, entry.parent) == ("branch_summary", left, target)
    assert entry.summary == "it did not work"


@BOTH
@pytest.mark.parity("PIG-08")
def test_the_entries_of_the_current_path_for_display(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", "four", format=format_)
    session.branch(session.path()[1])

    entries = session.entries(session.path())
    nodes = [node for node in session.nodes() if node.on_active_path and node.type == "message"]

    assert [entry.message.role for entry in entries] == ["user", "assistant"]
    assert [node.id for node in nodes] == [entry.id for entry in entries]
    assert [node.preview for node in nodes] == ["one", "two"]


@BOTH
@pytest.mark.parity("PIG-09", "PIG-15")
def test_a_fork_keeps_the_first_messages_of_the_path_and_zero_keeps_all(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", "four", format=format_)

    for keep in range(5):
        made = session.fork_first(keep)
        found = Session.open(made.file)
        assert Path(made.file).exists()
        assert texts(found) == ["one", "two", "three", "four"][: keep or 4]
        assert found.id != session.id
        assert found.parent_session in (session.id, session.file)
    if format_ == "piglet":
        header = Session.open(session.fork_first(2).file).header
        assert (header.parent_session, header.metadata["fork_point"]) == (session.id, 2)
        lines = map(json.loads, Path(session.fork_first(2).file).read_text().splitlines())
        metas = [line["data"] for line in lines if line["type"] == "meta"]
        assert (metas[-1]["parentId"], metas[-1]["forkPoint"]) == (session.id, 2)


@BOTH
@pytest.mark.parity("PIG-10", "PIG-18")
def test_the_full_tree_depth_first_the_active_subtree_first_then_the_oldest(tmp_path, format_):
    session = talk(tmp_path, "root", format=format_)
    root = session.leaf
    branches = []
    for text in ("old", "middle", "new"):
        session.branch(root)
        branches.append(session.append_message(assistant(text)))
    session.branch(branches[1])
    inner = session.append_message(user("a question\nin two lines"))
    compact = session.append_compaction(messages=[user("kept")], tokens_before=77)
    session.append_label(inner, "here")

    nodes = {node.id: node for node in session.nodes()}
    order = [node.id for node in session.nodes() if node.type in ("message", "compaction")]

    assert order == [root, branches[1], inner, compact, branches[0], branches[2]]
    assert len(session.nodes()) == len(session)
    above = {key: 0 if nodes[key].parent is None else nodes[nodes[key].parent].depth + 1 for key in nodes}
    assert {key: node.depth for key, node in nodes.items()} == above
    assert [nodes[key].on_active_path for key in order] == [True, True, True, True, False, False]
    assert nodes[root].children == len(session.index.children(root))
    assert nodes[inner].preview == "a question in two lines"
    assert (nodes[inner].label, nodes[root].label) == ("here", None)
    assert (nodes[compact].tokens_before, nodes[inner].tokens_before) == (77, None)
    assert nodes[root].parent is None
    assert nodes[compact].parent == inner
    assert nodes[root].timestamp == session.entry(root).timestamp
    assert not {"position", "level"} & set(type(nodes[root]).__struct_fields__)


@BOTH
@pytest.mark.parity("PIG-11")
def test_after_a_reset_the_context_is_empty_and_the_next_append_is_a_new_trunk(tmp_path, format_):
    session = talk(tmp_path, format=format_)

    session.reset()

    assert texts(session) == texts(Session.open(session.file)) == []
    made = session.append_message(user("a new trunk"))
    assert session.path() == Session.open(session.file).path() == [made]
    assert len(session.children(None)) == 2


@BOTH
@pytest.mark.parity("PIG-12")
def test_model_title_and_meta(tmp_path, format_):
    session = talk(tmp_path, format=format_)

    session.append_model_change("anthropic", "opus")
    session.set_title("A title")

    found = Session.open(session.file)
    assert found.title == "A title"
    assert found.context().model.id == "opus"
    assert (found.header.id, found.header.cwd) == (session.id, CWD)
    assert found.header.timestamp


@BOTH
@pytest.mark.parity("PIG-13")
def test_list_rows(tmp_path, format_):
    session = talk(tmp_path, format=format_)
    session.append_model_change("anthropic", "opus")
    session.set_title("A title")
    fork = session.fork()
    aged(fork.file, 1)
    aged(session.file, 2)

    child, row = SessionLibrary(tmp_path).list(deep=True)

    assert (row.id, row.path, row.title, row.model, row.cwd) == (
        session.id,
        session.file,
        "A title",
        "opus",
        CWD,
    )
    assert (row.created, row.messages, row.parent_session) == (session.header.timestamp, 2, None)
    assert child.parent_session in (session.id, session.file)


@pytest.mark.parity("PIG-14")
def test_legacy_files_without_ids_are_upgraded_in_memory_and_appended_to_correctly(tmp_path):
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    time = "2026-01-05T09:00:00Z"
    meta = {"id": path.stem, "cwd": CWD, "createdAt": time}
    rows = [
        {"type": "meta", "ts": time, "data": meta},
        {"type": "user", "ts": time, "data": {"content": "hello", "timestamp": time}},
        {"type": "assistant", "ts": time, "data": {"content": [{"text": "hi"}], "timestamp": time}},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = path.read_bytes()

    first, second = Session.open(path, clock=clock()), Session.open(path)

    assert first.path() == second.path()
    assert path.read_bytes() == before
    made = first.append_message(user("more"))
    found = Session.open(path)
    assert found.path() == [*second.path(), made]
    assert texts(found) == ["hello", "hi", "more"]
    assert path.read_bytes().startswith(before)
