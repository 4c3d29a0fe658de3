"""Every call and snippet of Operator's session documentation, with only the import changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from branchline.compat import operator
from branchline.compat.operator import (
    BranchEntry,
    CompactionEntry,
    CustomInfoEntry,
    CustomMessageEntry,
    LabelEntry,
    LeafEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionHeader,
    SessionInfoEntry,
    SessionManager,
    ThinkingLevelChangeEntry,
    get_default_session_dir,
    list_sessions_from_dir,
)
from branchline.entries import message_text
from parity.kit import aged
from session.kit import CWD, assistant, user
from support import CORPUS


def talked(directory: Path, *words: str) -> SessionManager:
    manager = SessionManager.create(CWD, directory)
    for number, text in enumerate(words):
        manager.append_message(assistant(text) if number % 2 else user(text))
    return manager


@pytest.mark.parity("OPR-20")
def test_the_example_file_of_the_page(tmp_path):
    path = tmp_path / "s.jsonl"
    shutil.copy(CORPUS / "operator" / "documented" / "session.jsonl", path)

    manager = SessionManager.open(path)

    assert (manager.header.cwd, manager.header.type) == ("/my/project", "session_header")
    assert [type(entry) for entry in manager.entries] == [
        MessageEntry,
        MessageEntry,
        CompactionEntry,
        MessageEntry,
        LeafEntry,
    ]
    assert manager.leaf_id == "a2"
    assert [entry.id for entry in manager.get_branch("a4")] == ["a1", "a2", "a3", "a4"]
    assert manager.by_id["a3"].first_kept_entry_id == "a2"
    assert manager.by_id["a5"].target_id == "a2"
    assert manager.by_id["a4"].timestamp == 1705314610.0


@pytest.mark.parity("OPR-20")
def test_lazy_persistence(tmp_path):
    manager = SessionManager.create(CWD, tmp_path)

    manager.append_message(user("hello"))
    assert manager.flushed is False
    assert not Path(manager.session_file).exists()
    manager.append_message(assistant("hi"))

    assert manager.flushed is True
    assert Path(manager.session_file).exists()


@pytest.mark.parity("OPR-20")
def test_the_index(tmp_path):
    manager = talked(tmp_path, "one", "two")
    leaf = manager.leaf_id

    manager.append_label(leaf, "here")

    assert manager.leaf_id == leaf
    assert manager.labels_by_id == {leaf: "here"}
    assert isinstance(manager.by_id[leaf], MessageEntry)
    assert manager.by_id[leaf].parent_id in manager.by_id
    manager.append_label(leaf, None)
    assert manager.labels_by_id == {}


@pytest.mark.parity("OPR-20")
def test_the_eleven_entry_classes(tmp_path):
    manager = talked(tmp_path, "one", "two")
    first = manager.get_branch()[0].id
    manager.append_label(first, "x")
    manager.append_thinking_level_change("high")
    manager.append_model_change("openai", "gpt-5")
    manager.append_session_info("A name")
    assert manager.session_name == "A name"
    manager.append_custom_info("ext", {"a": 1})
    manager.append_custom_message("ext", "words")
    manager.append_compaction("in short", first, 10)
    manager.branch(first)
    manager.branch_with_summary("what was left", first)

    entries = SessionManager.open(manager.session_file).entries
    assert {type(entry) for entry in entries} == {
        MessageEntry,
        CompactionEntry,
        BranchEntry,
        LeafEntry,
        LabelEntry,
        ThinkingLevelChangeEntry,
        ModelChangeEntry,
        SessionInfoEntry,
        CustomInfoEntry,
        CustomMessageEntry,
    }
    (info,) = [entry for entry in entries if isinstance(entry, CustomInfoEntry)]
    assert (info.custom_type, info.data) == ("ext", {"a": 1})
    assert isinstance(manager.header, SessionHeader)
    assert LeafEntry(parent_id="a", target_id="b").target_id == "b"


@pytest.mark.parity("OPR-20")
def test_context_reconstruction(tmp_path):
    manager = talked(tmp_path, "one", "two", "three", "four")
    manager.append_thinking_level_change("high")
    manager.append_model_change("openai", "gpt-5")
    kept = next(
        entry.id
        for entry in manager.get_branch()
        if getattr(entry, "message", None) and message_text(entry.message) == "three"
    )

    plain = manager.build_session_context()
    manager.append_compaction("a summary", kept, 10)
    manager.append_message(user("five"))
    compacted = manager.build_session_context()

    assert [message_text(message) for message in plain.messages] == ["one", "two", "three", "four"]
    assert (plain.model_id, plain.thinking_level) == ("gpt-5", "high")
    assert [message_text(message) for message in compacted.messages] == ["a summary", "three", "four", "five"]


@pytest.mark.parity("OPR-20")
def test_branch_moves_the_leaf_and_survives_a_restart(tmp_path):
    manager = talked(tmp_path, "one", "two")
    first = manager.get_branch()[0].id

    manager.branch(first)

    again = SessionManager.open(manager.session_file)
    assert again.leaf_id == manager.leaf_id == first
    assert [message_text(message) for message in again.build_session_context().messages] == ["one"]
    assert isinstance(again.entries[-1], LeafEntry)
    with pytest.raises(ValueError, match="nowhere"):
        manager.branch("nowhere")


@pytest.mark.parity("OPR-20")
def test_branch_with_summary_takes_the_summary_first(tmp_path):
    manager = talked(tmp_path, "one", "two")
    first = manager.get_branch()[0].id

    made = manager.branch_with_summary("what was on the old branch", first)

    assert manager.leaf_id == made
    entry = manager.by_id[made]
    assert (type(entry), entry.summary, entry.parent_id) == (BranchEntry, "what was on the old branch", first)


@pytest.mark.parity("OPR-20")
def test_create_branched_session(tmp_path):
    manager = talked(tmp_path, "one", "two", "three")
    first = manager.get_branch()[0].id

    made = manager.create_branched_session(first)

    assert Path(made.session_file).exists()
    assert [entry.id for entry in made.get_branch()] == [first]
    assert made.session_id != manager.session_id
    assert made.header.parent_session == manager.session_file


@pytest.mark.parity("OPR-20")
def test_get_branch_follows_parents_and_an_unknown_id_has_none(tmp_path):
    manager = talked(tmp_path, "one", "two", "three")

    path, cursor = [], manager.leaf_id
    while cursor:
        entry = manager.by_id.get(cursor)
        if not entry:
            break
        path.append(entry)
        cursor = entry.parent_id
    path.reverse()

    assert manager.get_branch() == path
    assert manager.get_branch("nowhere") == []


@pytest.mark.parity("OPR-20")
def test_get_tree(tmp_path):
    manager = talked(tmp_path, "one", "two")
    first = manager.get_branch()[0].id
    manager.branch(first)
    other = manager.append_message(user("other"))
    manager.append_label(first, "start")

    (root,) = manager.get_tree()

    assert (root.entry.id, root.label) == (first, "start")
    below, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        below.add(node.entry.id)
        waiting += node.children
    assert below == set(manager.by_id)
    assert other in below


@pytest.mark.parity("OPR-20")
def test_the_factories(tmp_path):
    manager = talked(tmp_path, "one", "two")

    assert SessionManager.open(manager.session_file).session_id == manager.session_id
    assert SessionManager.continue_recent(CWD, tmp_path).session_id == manager.session_id
    assert SessionManager.continue_recent("/other", tmp_path).session_id != manager.session_id
    memory = SessionManager.in_memory(CWD)
    memory.append_message(assistant("hello"))
    assert (memory.session_file, memory.flushed) == (None, False)
    fork = SessionManager.fork_from(manager.session_file, "/target", tmp_path / "target")
    assert fork.session_id != manager.session_id
    assert fork.header.cwd == "/target"


@pytest.mark.parity("OPR-20")
def test_the_flat_directory_of_all_projects(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    profile = tmp_path / ".operator" / "profiles" / "me" / "sessions"
    profile.mkdir(parents=True)
    old, new = talked(profile, "one", "two"), talked(profile, "three", "four")
    aged(old.session_file, 2)
    aged(new.session_file, 1)

    assert get_default_session_dir() == str(profile)
    infos = list_sessions_from_dir(get_default_session_dir())

    assert [info.id for info in infos] == [new.session_id, old.session_id]
    assert [info.message_count for info in SessionManager.list()] == [2, 2]
    assert list_sessions_from_dir(profile, "/other") == []
    assert infos[0].cwd == CWD


@pytest.mark.parity("OPR-20")
def test_every_name_of_the_module_is_there():
    assert all(hasattr(operator, name) for name in operator.__all__)
