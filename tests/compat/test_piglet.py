"""The complete index of piglet's session package, in Python spelling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from branchline.compat import piglet
from branchline.entries import message_text
from session.kit import assistant, user


def texts(session: piglet.Session) -> list[str]:
    return [message_text(message) for message in session.messages()]


@pytest.fixture
def session(tmp_path: Path) -> piglet.Session:
    made = piglet.create(tmp_path, "/proj", "opus")
    for text, build in (("one", user), ("two", assistant), ("three", user), ("four", assistant)):
        made.append(build(text))
    return made


@pytest.mark.parity("PIG-19")
def test_open_and_append(session):
    again = piglet.open(session.path())

    assert texts(again) == ["one", "two", "three", "four"]
    assert again.id() == session.id()
    assert again.leaf_id() == session.leaf_id()


@pytest.mark.parity("PIG-19")
def test_append_compact(session):
    session.append_compact([user("so far"), assistant("yes")], 4321)
    session.append(user("five"))

    again = piglet.open(session.path())
    assert texts(again) == ["so far", "yes", "five"]
    assert [node.tokens_before for node in again.full_tree() if node.type == "compact"] == [4321]
    again.append_compact([], 0)
    assert texts(piglet.open(session.path())) == []


@pytest.mark.parity("PIG-19")
def test_append_custom_and_custom_message(session):
    session.append_custom("ext:memory:facts", {"a": 1})
    session.append_custom_message("user", "noted")
    session.append_custom_message("assistant", "understood")
    with pytest.raises(ValueError, match="role"):
        session.append_custom_message("system", "no")

    again = piglet.open(session.path())
    assert texts(again) == ["one", "two", "three", "four", "noted", "understood"]
    rows = [json.loads(line) for line in Path(session.path()).read_text().splitlines()]
    assert [row["data"]["role"] for row in rows if row["type"] == "custom_message"] == ["user", "assistant"]
    assert [row["data"] for row in rows if row["type"] == "ext:memory:facts"] == [{"a": 1}]


@pytest.mark.parity("PIG-19")
def test_labels(session):
    first = session.entry_infos()[0].id

    session.append_label(first, "one")
    session.append_label(first, "two")
    assert piglet.open(session.path()).label(first) == "two"
    session.append_label(first, "")

    assert piglet.open(session.path()).label(first) == ""
    assert session.label("nowhere") == ""


@pytest.mark.parity("PIG-19")
def test_branch_branch_with_summary_and_reset(session):
    first, second, *_rest = (info.id for info in session.entry_infos())
    left = session.leaf_id()

    session.branch(second)
    assert texts(piglet.open(session.path())) == ["one", "two"]
    session.branch_with_summary(first, "what was left")
    again = piglet.open(session.path())
    rows = [json.loads(line) for line in Path(session.path()).read_text().splitlines()]
    assert rows[-1]["id"] == again.leaf_id()
    assert rows[-1]["data"]["summary"] == "what was left"
    with pytest.raises(ValueError, match="nowhere"):
        session.branch("nowhere")
    session.reset_leaf()
    assert (session.messages(), session.leaf_id()) == ([], "")
    session.append(user("a new trunk"))
    assert texts(piglet.open(session.path())) == ["a new trunk"]
    assert left in [node.id for node in session.full_tree()]


@pytest.mark.parity("PIG-19")
def test_entry_infos_and_full_tree(session):
    session.append_label(session.leaf_id(), "here")

    infos = session.entry_infos()
    tree = session.full_tree()

    assert [info.type for info in infos] == ["user", "assistant", "user", "assistant"]
    assert [info.parent_id for info in infos] == ["", *(info.id for info in infos[:-1])]
    assert infos[-1].label == "here"
    said = [node for node in tree if node.type in ("user", "assistant")]
    assert [node.preview for node in said] == ["one", "", "three", ""]
    assert [node.depth for node in said] == [0, 1, 2, 3]
    assert all(node.on_active_path for node in said)
    assert (said[0].children, said[0].parent_id, said[0].tokens_before) == (1, "", 0)


@pytest.mark.parity("PIG-19")
def test_fork_list_meta_and_setters(session, tmp_path):
    session.set_title("A title")
    session.set_model("haiku")

    child = session.fork(2)

    assert Path(child.path()).exists()
    assert texts(child) == ["one", "two"]
    assert texts(session.fork(0)) == ["one", "two", "three", "four"]
    meta = child.meta()
    assert (meta.parent_id, meta.fork_point) == (session.id(), 2)
    meta = piglet.open(session.path()).meta()
    assert (meta.id, meta.cwd, meta.model, meta.title) == (session.id(), "/proj", "haiku", "A title")
    assert meta.created_at
    rows = {row.id: row for row in piglet.list(tmp_path)}
    row = rows[session.id()]
    assert (row.title, row.model, row.cwd, row.messages) == ("A title", "haiku", "/proj", 4)
    assert row.path == session.path()
    assert rows[child.id()].parent_id == session.id()
    assert len(rows) == 3


@pytest.mark.parametrize(
    "write",
    [
        lambda made: made.append_custom("ext:memory:facts", {"k": 1}),
        lambda made: made.set_title("T"),
        lambda made: made.set_model("haiku"),
    ],
)
def test_close_keeps_what_was_written_without_a_message(tmp_path, write):
    made = piglet.create(tmp_path, "/proj")
    write(made)
    data, shown = Path(made.path()).read_bytes(), (made.meta(), made.full_tree())

    made.close()

    again = piglet.open(made.path())
    assert Path(made.path()).read_bytes() == data
    assert (again.meta(), again.full_tree()) == shown


@pytest.mark.parity("PIG-19")
def test_close_leaves_no_empty_file(tmp_path):
    made = piglet.create(tmp_path, "/proj")

    made.close()

    assert not Path(made.path()).exists()
