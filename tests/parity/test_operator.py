"""The promises of Operator, each as it is worded."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from branchline import Session, SessionLibrary
from branchline.actions.check import check_file
from branchline.cli.app import cli
from branchline.compat.operator import SessionManager, get_default_session_dir
from branchline.entries import CONVERSATION_TYPES, SIDE_TYPES, blocks_text
from branchline.log import SYSTEM
from parity.kit import aged, files, talk, texts
from session.kit import CWD, assistant, user
from support import CORPUS

DOCUMENTED = CORPUS / "operator" / "documented" / "session.jsonl"
BOTH = pytest.mark.parametrize("format_", ["branchline", "operator"])


@BOTH
@pytest.mark.parity("OPR-01")
def test_a_file_is_a_header_and_then_entries_with_id_parent_and_time(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", format=format_)

    header, *entries = map(json.loads, Path(session.file).read_text().splitlines())

    assert (header["type"], header["id"], header["cwd"]) == ("session", session.id, CWD)
    parent = "parent_id" if format_ == "operator" else "parentId"
    assert [entry.get(parent) for entry in entries[1:]] == [entry["id"] for entry in entries[:-1]]
    assert entries[0].get(parent) is None
    assert all(entry["timestamp"] for entry in entries)


@BOTH
@pytest.mark.parity("OPR-02")
def test_no_file_before_the_first_reply_then_one_append_per_entry(tmp_path, format_, monkeypatch):
    session = talk(tmp_path, "a prompt", format=format_)

    assert not Path(session.file).exists()
    assert not SessionLibrary(tmp_path).list()
    drafts = SessionLibrary(tmp_path).drafts()  # what a dead process leaves is not lost
    assert [row.first_prompt for row in drafts] == ["a prompt"]
    session.append_message(assistant("a reply"))
    assert Path(session.file).exists()
    written = []
    real = os.write
    monkeypatch.setattr(SYSTEM, "write", lambda to, data: (written.append(bytes(data)), real(to, data))[1])
    session.append_message(user("x" * 50))
    monkeypatch.undo()
    lines = [data for data in written if b"x" * 50 in data]
    assert len(lines) == 1
    assert lines[0].count(b"\n") == 1
    assert Path(session.file).read_bytes().endswith(lines[0])


@BOTH
@pytest.mark.parity("OPR-02")
def test_a_session_without_a_prompt_leaves_nothing_to_clean_up(tmp_path, format_):
    session = talk(tmp_path / "place", format=format_)
    other = Session.create(CWD, directory=tmp_path / "empty", format="operator")

    session.close()
    other.close()

    assert files(tmp_path / "empty") == {}


@BOTH
@pytest.mark.parity("OPR-03")
def test_entries_by_id_the_leaf_and_labels_by_id(tmp_path, format_):
    session = talk(tmp_path, format=format_)
    last = session.leaf

    session.append_label(last, "here")
    session.branch(session.path()[0])
    other = session.append_message(assistant("another way"))  # the labelled entry is on no active path now

    found = Session.open(session.file)
    assert {entry.id: found.entry(entry.id) for entry in found.entries()} == {
        e.id: e for e in session.entries()
    }
    assert found.leaf == other
    assert last not in found.path()
    assert found.labels == session.labels == {last: "here"}


@BOTH
@pytest.mark.parity("OPR-04")
def test_every_kind_of_entry_can_be_written_and_read(tmp_path, format_):
    session = talk(tmp_path, format=format_)
    first = session.context().messages[0].entry
    session.append_label(first, "start")
    session.append_thinking_level_change("high")
    session.append_model_change("openai", "gpt-5")
    session.set_title("A name")
    session.append_custom("ext", {"a": 1})
    session.append_custom_message("ext", "words")
    session.append_compaction("in short", first, 100)
    session.branch(first)
    session.branch_with_summary(first, "what was left")

    found = Session.open(session.file)

    kinds = {
        "message",
        "compaction",
        "branch_summary",
        "leaf",
        "label",
        "thinking_level_change",
        "model_change",
        "session_info",
        "custom",
        "custom_message",
    }
    assert {entry.type for entry in found.entries()} == kinds
    written = {entry.type: entry for entry in found.entries()}
    custom, note = written["custom"], written["custom_message"]
    assert (custom.custom_type, custom.data) == ("ext", {"a": 1})
    assert (note.custom_type, blocks_text(note.content)) == ("ext", "words")
    assert (written["compaction"].summary, written["compaction"].first_kept) == ("in short", first)
    assert written["branch_summary"].summary == "what was left"
    assert (written["label"].target, written["label"].label) == (first, "start")
    assert (written["model_change"].provider, written["model_change"].model_id) == ("openai", "gpt-5")
    assert written["thinking_level_change"].thinking_level == "high"
    assert written["session_info"].name == "A name"
    assert found.header.id == session.id
    assert kinds <= CONVERSATION_TYPES | SIDE_TYPES
    assert found.check().status == "clean"


@BOTH
@pytest.mark.parity("OPR-05", "OPR-07")
def test_a_move_back_or_sideways_is_a_leaf_entry_and_discards_nothing(tmp_path, format_):
    session = talk(tmp_path, "one", "two", format=format_)
    one, two = (item.entry for item in session.context().messages)
    session.branch(one)
    three = session.append_message(assistant("three"))
    before = {entry.id for entry in session.entries()}

    session.branch(two)

    last = json.loads(Path(session.file).read_text().splitlines()[-1])
    assert last["type"] == "leaf"
    assert two in (last.get("targetId"), last.get("target_id"))
    found = Session.open(session.file)
    assert found.leaf == two
    assert texts(found) == ["one", "two"]
    assert texts(found, three) == ["one", "three"]
    assert before < {entry.id for entry in found.entries()}


@BOTH
@pytest.mark.parity("OPR-06")
def test_the_context_is_built_as_described(tmp_path, format_):
    session = talk(tmp_path, "one", "two", format=format_)
    one = session.context().messages[0].entry
    session.append_thinking_level_change("low")
    session.append_thinking_level_change("high")
    session.append_custom_message("ext", "noted")
    session.branch_with_summary(session.leaf, "left behind")
    session.append_model_change("openai", "gpt-5")

    whole = session.context()
    assert texts(session) == ["one", "two", "noted", "left behind"]
    assert (whole.model.id, whole.thinking_level) == ("gpt-5", "high")
    kept = whole.messages[1].entry
    session.append_compaction("an older summary", one, 5)
    session.append_compaction("the summary", kept, 9)
    session.append_message(user("after"))

    assert texts(session) == ["the summary", "two", "noted", "left behind", "after"]
    assert texts(Session.open(session.file)) == texts(session)


@pytest.mark.parity("OPR-08")
def test_branch_with_summary_takes_its_arguments_by_name_in_either_order(tmp_path):
    session = talk(tmp_path, "one", "two")
    one, two = session.path()

    made = session.branch_with_summary(summary="what was left", entry_id=one)
    again = session.branch_with_summary(entry_id=one, summary="and again")

    assert [session.entry(key).parent for key in (made, again)] == [one, one]
    assert session.entry(made).summary == "what was left"
    assert session.entry(made).from_id == two
    assert session.leaf == again


@pytest.mark.parity("OPR-08")
def test_the_facade_takes_the_order_of_the_document(tmp_path):
    from branchline.compat.operator import SessionManager

    manager = SessionManager(talk(tmp_path, "one", "two", format="operator"))
    one = manager.get_branch()[0].id

    made = manager.branch_with_summary("what was left", one)

    assert (manager.by_id[made].parent_id, manager.by_id[made].summary) == (one, "what was left")
    assert manager.leaf_id == made


@BOTH
@pytest.mark.parity("OPR-09")
def test_a_branched_session_is_a_new_file_with_only_that_path(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", format=format_)
    one, two, _three = (item.entry for item in session.context().messages)
    session.branch(one)
    session.append_message(assistant("other"))
    before = Path(session.file).read_bytes()

    made = session.fork(two)

    assert Path(made.file).exists()
    assert made.id != session.id
    assert texts(made) == ["one", "two"]
    assert {entry.type for entry in made.entries()} <= {"message", "model_change"}
    assert made.parent_session == session.file
    assert Path(session.file).read_bytes() == before


@BOTH
@pytest.mark.parity("OPR-10")
def test_a_branch_is_the_path_from_root_to_entry(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", format=format_)
    said = [item.entry for item in session.context().messages]

    path = session.path(said[1])

    assert path[0] == said[0]
    assert path[-1] == said[1]
    assert all(session.index.parent(below) == above for above, below in itertools.pairwise(path))


@BOTH
@pytest.mark.parity("OPR-11")
def test_the_tree_is_nodes_with_children(tmp_path, format_):
    session = talk(tmp_path, "one", format=format_)
    one = session.leaf
    first = session.append_message(user("first"))
    session.branch(one)
    session.append_message(user("second"))

    (root,) = session.tree()

    assert root.id == one
    assert root.entry == session.entry(one)
    said = [node.entry for node in root.children if node.entry.type == "message"]
    assert said[0].id == first
    reachable, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        reachable.add(node.id)
        waiting += node.children
    assert reachable == {entry.id for entry in session.entries()}


@BOTH
@pytest.mark.parity("OPR-12")
def test_the_five_factories(tmp_path, format_):
    name = None if format_ == "branchline" else format_
    created = talk(tmp_path, format=format_)
    opened = Session.open(created.file)
    continued = Session.continue_recent(CWD, directory=tmp_path, format=name)
    fresh = Session.continue_recent("/elsewhere", directory=tmp_path, format=name)
    memory = Session.in_memory(CWD, format=name)
    forked = Session.fork_from(created.file, "/target", directory=tmp_path / "target")

    assert opened.id == continued.id == created.id
    assert fresh.id != created.id
    memory.append_message(assistant("kept nowhere"))
    assert memory.file is None
    assert (forked.cwd, forked.parent_session) == ("/target", created.file)
    assert forked.id != created.id
    assert Session.open(forked.file).cwd == "/target"
    assert texts(forked) == texts(created)


@pytest.mark.parity("OPR-13")
def test_a_flat_directory_of_all_projects_is_listed_by_change_and_filtered_by_the_header(tmp_path):
    sessions = [
        talk(tmp_path, format="operator", cwd=cwd, seed=number)
        for number, cwd in enumerate(("/one", "/two", "/one"))
    ]
    for session, days in zip(sessions, (1, 3, 2), strict=True):
        session.close()
        aged(session.file, days)
        time, _, name = Path(session.file).name.partition("_")
        assert len(time) == len("2024-01-15T10-30-00-000000")
        assert name == f"{session.id}.jsonl"

    assert [row.id for row in SessionLibrary(tmp_path).list()] == [sessions[n].id for n in (0, 2, 1)]
    assert [row.id for row in SessionLibrary(tmp_path).list(deep=True)] == [sessions[n].id for n in (0, 2, 1)]
    assert [row.id for row in SessionLibrary(tmp_path, cwd="/one").list()] == [sessions[0].id, sessions[2].id]
    assert [row.id for row in SessionLibrary(tmp_path, cwd="/two").list()] == [sessions[1].id]


@BOTH
@pytest.mark.parity("OPR-16")
def test_extensions_write_data_outside_and_messages_inside_the_context(tmp_path, format_):
    session = talk(tmp_path, format=format_)

    data = session.append_custom("ext", {"count": 1})
    message = session.append_custom_message("ext", "be careful")

    found = Session.open(session.file)
    assert texts(found) == ["question", "answer", "be careful"]
    assert (found.entry(data).custom_type, found.entry(data).data) == ("ext", {"count": 1})
    assert found.leaf == message


@BOTH
@pytest.mark.parity("OPR-17")
def test_a_session_has_a_name_whatever_its_file_is_called(tmp_path, format_):
    session = talk(tmp_path, format=format_)

    session.set_title("The login bug")
    session.close()
    moved = SessionLibrary(tmp_path).rename(session.key, "another")

    assert Session.open(moved).title == "The login bug"


@pytest.mark.parity("OPR-18")
def test_the_documented_form_is_read_listed_appended_to_and_checked_clean(tmp_path):
    path = tmp_path / "2024-01-15T10-30-00-000000_5f0c2b7e.jsonl"
    shutil.copy(DOCUMENTED, path)
    before = path.read_bytes()

    session = Session.open(path)

    assert session.format == "operator"
    assert session.read_only is None
    assert session.header.cwd == "/my/project"
    assert session.leaf == "a2"
    assert texts(session, "a4") == [
        "The login test fails because of the clock.",
        "the clock is one hour off",
        "then fix the clock",
    ]
    assert [row.id for row in SessionLibrary(tmp_path, cwd="/my/project").list()] == [session.id]
    assert not SessionLibrary(tmp_path, cwd="/other").list()
    key = session.append_message(user("and the time zone?"))
    session.append_message(assistant("fixed, too"))
    session.branch("a1")
    report = check_file(path)
    assert (report.status, report.findings) == ("clean", ())
    data = path.read_bytes()
    assert data.startswith(before)
    added = [json.loads(line) for line in data[len(before) :].splitlines()]
    prompt = next(line for line in added if line["id"] == key)
    assert list(prompt)[:4] == ["type", "id", "parent_id", "timestamp"]
    assert prompt["parent_id"] == "a2"
    assert added[-1]["target_id"] == "a1"
    assert texts(Session.open(path)) == ["why does the login test fail?"]


@pytest.mark.parity("OPR-18")
def test_the_documented_form_takes_plain_content_and_lists_it(tmp_path):
    path = tmp_path / "plain.jsonl"
    header = {"type": "session_header", "id": "s", "timestamp": 1705314600.0, "cwd": "/my/project"}
    entry = {"type": "message", "id": "a1", "parent_id": None, "timestamp": 1705314601.0}
    entry["message"] = {"role": "user", "content": "hello"}
    path.write_text(json.dumps(header) + "\n" + json.dumps(entry) + "\n")

    session = Session.open(path)

    assert texts(session) == ["hello"]
    assert session.check().status == "clean"


@pytest.mark.parity("OPR-19")
def test_new_sessions_go_into_the_folder_of_a_profile_where_one_exists(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    without = Session.create(CWD, format="operator")
    profile = tmp_path / ".operator" / "profiles" / "coder" / "sessions"
    profile.mkdir(parents=True)

    session = Session.create(CWD, format="operator")
    session.append_message(assistant("hello"))

    assert Path(without.file).parent == tmp_path / ".operator" / "sessions"
    assert Path(session.file).parent == profile
    assert Path(session.file).exists()
    assert [row.id for row in SessionLibrary.everywhere(CWD, agents=["operator"]).list()] == [session.id]
    (tmp_path / ".operator" / "profiles" / "default" / "sessions").mkdir(parents=True)
    assert "default" in Session.create(CWD, format="operator").file


@pytest.mark.parity("OPR-19")
@pytest.mark.parametrize("name", ["default", "coder"])
def test_a_fresh_profile_without_a_folder_for_sessions_is_still_the_profile(tmp_path, monkeypatch, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "branchline"))
    monkeypatch.chdir(tmp_path)
    profile = tmp_path / ".operator" / "profiles" / name
    profile.mkdir(parents=True)
    (tmp_path / ".operator" / "profiles" / "notes.txt").write_text("no profile")

    session = Session.create(CWD, format="operator")
    session.append_message(assistant("hello"))
    done = CliRunner().invoke(cli, ["new", "--format", "operator", "--json"])

    assert get_default_session_dir() == str(profile / "sessions")
    assert Path(session.file).parent == profile / "sessions"
    assert Path(session.file).exists()
    assert Path(json.loads(done.stdout)["file"]).parent == profile / "sessions"
    manager = SessionManager.create(CWD)
    manager.append_message(assistant("hi"))
    assert Path(manager.session_file).parent == profile / "sessions"
    assert not (tmp_path / ".operator" / "sessions").exists()


@pytest.mark.parity("OPR-19")
def test_of_several_profiles_the_default_comes_first_even_if_it_is_fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    profiles = tmp_path / ".operator" / "profiles"
    (profiles / "coder" / "sessions").mkdir(parents=True)
    (profiles / "writer" / "sessions").mkdir(parents=True)
    os.utime(profiles / "coder" / "sessions", (2e9, 2e9))

    chosen = get_default_session_dir()
    (profiles / "default").mkdir()

    assert chosen == str(profiles / "coder" / "sessions")
    assert get_default_session_dir() == str(profiles / "default" / "sessions")
