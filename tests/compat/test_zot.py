"""Every function of zot's session package, in Python spelling, and its two tests."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from branchline import Session as Core
from branchline import SessionLibrary
from branchline.compat import zot
from branchline.entries import Usage, message_text
from session.kit import assistant, user


def parent_of(root: Path, cwd: str = "/proj", *words: str) -> zot.Session:
    made = zot.new_session(str(root), cwd, "anthropic", "opus", "test")
    for number, text in enumerate(words or ("one", "two", "three")):
        made.append_message(assistant(text) if number % 2 else user(text))
    made.close()
    return made


@pytest.mark.parity("ZOT-23")
def test_sessions_dir_is_the_hash_of_the_working_directory(tmp_path):
    folder = hashlib.sha256(b"/proj").hexdigest()[:16]

    assert zot.sessions_dir(str(tmp_path), "/proj") == str(tmp_path / "sessions" / folder)


@pytest.mark.parity("ZOT-23")
def test_branch_session_copies_the_prefix(tmp_path):
    parent = parent_of(tmp_path)
    before = Path(parent.path).read_bytes()

    child = zot.branch_session(parent.path, str(tmp_path), "/proj", "test", 2)

    reopened, messages = zot.open_session(child.path)
    assert [message_text(message) for message in messages] == ["one", "two"]
    assert (reopened.meta.parent, reopened.meta.fork_point) == (parent.id, 2)
    assert reopened.id != parent.id
    assert reopened.meta.cwd == "/proj"
    assert Path(parent.path).read_bytes() == before
    for wrong in (-1, 4):
        with pytest.raises(ValueError, match="cannot branch"):
            zot.branch_session(parent.path, str(tmp_path), "/proj", "test", wrong)


@pytest.mark.parity("ZOT-23")
def test_branch_session_counts_rows_and_carries_usage(tmp_path):
    made = zot.new_session(tmp_path, "/proj", "anthropic", "opus", "test")
    call = {"type": "toolCall", "id": "a", "name": "x", "arguments": {}}
    made.append_message(user("go"))
    made.append_message({**assistant("", cost=1.0), "content": [call, {**call, "id": "b"}]})
    made.append_messages(
        {"role": "toolResult", "toolCallId": key, "toolName": "x", "content": [], "isError": False}
        for key in ("a", "b")
    )
    made.append_message(assistant("done"))
    made.close()

    child = zot.branch_session(made.path, tmp_path, "/proj", "test", 3)

    _session, messages = zot.open_session(child.path)
    assert [message.role for message in messages] == ["user", "assistant", "toolResult", "toolResult"]
    assert Core.open(child.path).usage().inherited.total.cost == pytest.approx(1.0)


@pytest.mark.parity("ZOT-23")
def test_build_session_tree(tmp_path):
    parent = parent_of(tmp_path)
    children = [zot.branch_session(parent.path, tmp_path, "/proj", "test", count) for count in (1, 2)]

    (root,) = zot.build_session_tree(tmp_path, "/proj")

    assert root.meta.id == parent.id
    assert {child.meta.id for child in root.children} == {child.id for child in children}
    Path(parent.path).unlink()
    assert len(zot.build_session_tree(tmp_path, "/proj")) == 2


@pytest.mark.parity("ZOT-23")
def test_find_latest_list_and_read_meta(tmp_path):
    first, second = parent_of(tmp_path), parent_of(tmp_path)

    names = zot.list_sessions(tmp_path, "/proj")

    assert names == sorted([first.path, second.path], reverse=True)
    assert zot.latest_session(tmp_path, "/proj") == names[0]
    assert zot.latest_session(tmp_path, "/other") == ""
    assert zot.find_session_by_id(tmp_path, "/proj", first.id) == first.path
    assert zot.find_session_by_id(tmp_path, "/proj", "nobody") == ""
    assert zot.find_session_by_id(tmp_path, "/proj", first.id[:6]) == ""
    assert zot.find_session_by_id(tmp_path, "/proj", "") == ""
    meta = zot.read_session_meta(first.path)
    assert (meta.id, meta.cwd) == (first.id, "/proj")
    assert meta.started


@pytest.mark.parity("ZOT-23")
def test_describe_sessions(tmp_path):
    made = parent_of(tmp_path, "/proj", "the first prompt", "two")

    (summary,) = zot.describe_sessions(tmp_path, "/proj")

    assert summary.path == made.path
    assert (summary.model, summary.provider) == ("claude-sonnet-4-5", "anthropic")
    assert (summary.message_count, summary.first_user_text) == (2, "the first prompt")
    assert summary.total_cost == pytest.approx(0.01)
    assert summary.started


@pytest.mark.parity("ZOT-23")
def test_a_model_switch_survives_and_usage_is_appended(tmp_path):
    made = parent_of(tmp_path)
    live, _messages = zot.open_session(made.path)

    live.append_usage(Usage(input=5, output=5, total_tokens=10), Usage())
    live.update_model("openai", "gpt-5")
    live.close()

    reopened, _messages = zot.open_session(made.path)
    assert (reopened.meta.provider, reopened.meta.model) == ("openai", "gpt-5")


@pytest.mark.parity("ZOT-23")
def test_an_empty_new_session_leaves_no_file_and_pruning_takes_old_ones(tmp_path):
    made = zot.new_session(tmp_path, "/proj", "anthropic", "opus", "test")
    assert Path(made.path).exists()
    made.close()
    assert not Path(made.path).exists()
    empty = Core.create(
        "/proj", directory=zot.sessions_dir(tmp_path, "/proj"), format="zot", persist="always"
    )
    empty.close()
    kept = parent_of(tmp_path)

    zot.prune_empty_sessions(tmp_path, "/proj")

    assert zot.list_sessions(tmp_path, "/proj") == [kept.path]
    zot.prune_empty_sessions(tmp_path, "/nowhere")


META = (
    b'{"type":"meta","meta":{"id":"c16e23b8-0dad-4288-853f-6657b00cae58","cwd":"/proj","model":"m",'
    b'"provider":"p","started":"2026-11-15T06:36:09.6Z","version":"0.1.62"}}\n'
)
USAGE = (
    b'{"type":"usage","usage":{"input_tokens":1,"output_tokens":1,"cost_usd":0.5},'
    b'"cumulative":{"input_tokens":1,"output_tokens":1,"cost_usd":0.5}}\n'
)
RENAME = b'{"title":"nothing yet","type":"rename"}\n'
WITHOUT_TEXT = [b"", b"\n", META, USAGE, META + USAGE, META + RENAME, META[:-1]]
UNREADABLE = [b"hello\n", META + b'{"type":"mess', bytes(64), b'{"text":"hello"}\n', b"null\n"]


def written(root: Path, name: str, data: bytes) -> Path:
    folder = Path(zot.sessions_dir(root, "/proj"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parity("ZOT-23")
@pytest.mark.parametrize("name", ["20261115-063609-c16e23b8.jsonl", "other.jsonl"])
@pytest.mark.parametrize("data", [b"", b"hello\n", bytes(64), b'{"a":1}\n', b"\xff\xfe"])
def test_a_file_that_cannot_be_read_ends_no_list(tmp_path, name, data):
    path = written(tmp_path, name, data)
    sound = [parent_of(tmp_path), parent_of(tmp_path)]
    child = zot.branch_session(sound[0].path, tmp_path, "/proj", "test", 1)

    summaries = {found.path: found for found in zot.describe_sessions(tmp_path, "/proj")}
    roots = zot.build_session_tree(tmp_path, "/proj")

    assert set(summaries) == {str(path), child.path, *(made.path for made in sound)}
    assert (summaries[str(path)].message_count, summaries[str(path)].first_user_text) == (0, "")
    assert summaries[sound[0].path].message_count == 3
    assert {made.id for made in sound} <= {root.meta.id for root in roots}
    assert [node.meta.id for root in roots for node in root.children] == [child.id]


@pytest.mark.parametrize("data", [b"", b'{"schema":"indus/transcript@1","kind":"head"}\n'])
def test_files_of_programs_with_another_suffix_are_not_listed(tmp_path, data):
    sound = parent_of(tmp_path)
    written(tmp_path, "zzz.ndjson", data)

    assert zot.list_sessions(tmp_path, "/proj") == [sound.path]
    assert zot.latest_session(tmp_path, "/proj") == sound.path
    assert [found.path for found in zot.describe_sessions(tmp_path, "/proj")] == [sound.path]
    assert [root.path for root in zot.build_session_tree(tmp_path, "/proj")] == [sound.path]


@pytest.mark.parity("ZOT-23", part="what the sweep takes")
@pytest.mark.parametrize("name", ["20261115-063609-c16e23b8.jsonl", "other.jsonl"])
@pytest.mark.parametrize("data", WITHOUT_TEXT)
def test_pruning_moves_a_file_without_messages_to_the_trash(tmp_path, name, data):
    path = written(tmp_path, name, data)
    kept = parent_of(tmp_path)

    zot.prune_empty_sessions(tmp_path, "/proj")

    assert zot.list_sessions(tmp_path, "/proj") == [kept.path]
    SessionLibrary(path.parent).restore()
    assert path.read_bytes() == data


@pytest.mark.parametrize("name", ["20261115-063609-c16e23b8.jsonl", "other.jsonl"])
@pytest.mark.parametrize("data", UNREADABLE)
def test_pruning_leaves_a_file_with_a_line_that_cannot_be_read(tmp_path, name, data):
    path = written(tmp_path, name, data)

    zot.prune_empty_sessions(tmp_path, "/proj")

    assert path.read_bytes() == data


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are open")
def test_pruning_leaves_a_file_that_a_process_has_open(tmp_path):
    path = written(tmp_path, "20261115-063609-c16e23b8.jsonl", META)

    with path.open("ab"):
        zot.prune_empty_sessions(tmp_path, "/proj")
        assert path.exists()

    zot.prune_empty_sessions(tmp_path, "/proj")
    assert not path.exists()


@pytest.mark.parity("ZOT-09")
def test_a_session_that_closes_without_a_message_goes_to_the_trash_with_what_was_written(tmp_path):
    made = zot.new_session(tmp_path, "/proj", "anthropic", "opus", "test")
    made.append_usage(Usage(input=5, output=5, total_tokens=10))
    data = Path(made.path).read_bytes()

    made.close()

    assert zot.list_sessions(tmp_path, "/proj") == []
    library = SessionLibrary(zot.sessions_dir(tmp_path, "/proj"))
    library.restore()
    assert Path(made.path).read_bytes() == data


def test_the_meta_row_of_a_new_session_names_its_model(tmp_path):
    made = zot.new_session(tmp_path, "/proj", "anthropic", "opus", "test")
    made.append_message("hello")
    made.close()

    meta = zot.read_session_meta(made.path)

    assert (meta.provider, meta.model) == ("anthropic", "opus")
    assert zot.describe_sessions(tmp_path, "/proj")[0].model == "opus"
