"""``tag``, ``note`` and ``archive``, and what ``ls`` tells about sessions for scripts."""

from __future__ import annotations

import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run
from formats.claude_code_kit import record
from support import CORPUS

CLAUDE = "5a000000-0000-4000-8000-000000000001"
DAY = 86_400


@pytest.fixture
def transcript(tmp_path: Path, world: Path) -> Path:
    """A session of Claude Code in its own folder, 25 days old."""
    path = tmp_path / "person" / ".claude" / "projects" / "-p" / f"{CLAUDE}.jsonl"
    path.parent.mkdir(parents=True)
    call = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "src/zeppelin.py"}}
    failed = {"type": "tool_result", "tool_use_id": "t1", "content": "no such file", "is_error": True}
    path.write_bytes(
        record("a", None, content="build a zeppelin", gitBranch="airship", sessionId=CLAUDE)
        + record("b", "a", "assistant", [call], sessionId=CLAUDE)
        + record("c", "b", content=[failed], sessionId=CLAUDE)
        + record("d", "c", "assistant", "It floats.", sessionId=CLAUDE)
    )
    _age(path, 25)
    return path


def _age(path: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(path, (then, then))


# -- tags and notes ---------------------------------------------------------------------------------------


def test_a_session_of_a_read_only_agent_is_tagged_without_being_written_to(
    run: Run, data: Any, transcript: Path
) -> None:
    before = transcript.read_bytes()

    run("tag", CLAUDE[:8], "Airship", "later")

    assert run("tag", CLAUDE[:8]).stdout.split() == ["airship", "later"]
    assert data("ls", "--all")["sessions"][0]["tags"] == ["airship", "later"]
    assert transcript.read_bytes() == before


def test_each_document_of_a_session_names_it(run: Run, data: Any, tmp_path: Path, world: Path) -> None:
    """Cline keeps a manifest, which lists show, and the messages beside it."""
    name = "1794780450292_q14kk"
    manifest = tmp_path / "person" / ".cline" / "data" / "sessions" / name / f"{name}.json"
    messages = manifest.with_name(f"{name}.messages.json")
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"session_id": name, "cwd": "/p", "started_at": "2026-11-15T22:07:31Z"}))
    said = {"id": "m1", "role": "user", "content": "Build a zeppelin", "ts": 1794780450820}
    messages.write_text(json.dumps({"version": 1, "sessionId": name, "messages": [said]}))

    run("tag", str(messages), "airship")
    run("tag", str(messages), "--note", "It floats.")
    archived = run("archive", str(messages))

    assert run("tag", str(manifest)).stdout == "airship\nIt floats.\n"
    assert archived.stdout.strip().endswith(manifest.name)
    assert [row["tags"] for row in data("ls", "--all")["sessions"]] == [["airship"]]


def test_tags_filter_lists_and_searches(run: Run, data: Any, transcript: Path, talk: str) -> None:
    run("tag", CLAUDE[:8], "airship")

    assert [row["id"] for row in data("ls", "--all", "--tag", "airship")["sessions"]] == [CLAUDE]
    assert {hit["session"] for hit in data("search", "tag:airship", "zeppelin")["hits"]} == {CLAUDE}
    assert data("search", "tag:airship", "tests")["hits"] == []
    assert data("search", "tag:other", "zeppelin")["hits"] == []


def test_tags_filter_searches_without_an_index(run: Run, data: Any, transcript: Path) -> None:
    run("config", "set", "index", "false")
    run("tag", CLAUDE[:8], "airship")

    assert [hit["session"] for hit in data("search", "tag:airship", "floats")["hits"]] == [CLAUDE]
    assert data("search", "tag:other", "floats")["hits"] == []


def test_tags_are_removed_and_counted(run: Run, data: Any, talk: str, transcript: Path) -> None:
    run("tag", talk, "one", "two")
    run("tag", CLAUDE[:8], "two")

    run("tag", talk, "", "two")

    assert run("tag", talk).stdout == "two\n"
    assert data("tag", "--list")["counts"] == {"two": 2}
    assert "has neither tags nor a note" in run("tag", talk, "").stderr


@pytest.mark.parametrize(
    "name",
    ["two words", "a:b", "a,b", " ", "x" * 65, "bell\x07", "tag!!", "../x", "a/../b", "zero\u200bwidth"],
)
def test_what_cannot_be_a_tag_is_a_usage_error(run: Run, talk: str, name: str) -> None:
    assert "cannot be a tag" in run("tag", talk, name, code=2).stderr


def test_a_note_is_written_shown_and_cleared(run: Run, data: Any, transcript: Path) -> None:
    run("tag", CLAUDE[:8], "--note", "the one that\nfloats \x1b[31m")

    assert run("tag", CLAUDE[:8]).stdout.startswith("the one that\nfloats ")
    assert "\x1b" not in run("tag", CLAUDE[:8]).stdout
    assert data("tag", CLAUDE[:8])["note"].startswith("the one")
    assert data("ls", "--all")["sessions"][0]["note"].startswith("the one")
    assert "has neither tags nor a note" in run("tag", CLAUDE[:8], "--note", "").stderr
    assert data("ls", "--all")["sessions"][0]["note"] is None


def test_annotations_that_cannot_be_read_are_reported_and_never_overwritten(
    run: Run, talk: str, tmp_path: Path
) -> None:
    file = tmp_path / "home" / "annotations.json"
    file.write_text("{broken")

    done = run("tag", talk, "new", code=1)

    assert "cannot be read" in done.stderr
    assert file.read_text() == "{broken"
    assert "cannot be read" in run("ls").stderr


# -- archive ----------------------------------------------------------------------------------------------


def test_a_list_warns_of_sessions_that_their_agent_deletes_soon(run: Run, transcript: Path) -> None:
    said = run("ls", "--all").stderr

    assert "1 session will be deleted by claude-code within 7 days" in said
    assert "branchline archive --expiring" in said


def test_a_list_does_not_warn_of_sessions_that_are_archived(run: Run, transcript: Path) -> None:
    run("archive", "--expiring")
    archived = run("ls", "--all").stderr
    with transcript.open("ab") as file:
        file.write(b"\n")
    days = time.time() - 28 * 86_400
    os.utime(transcript, (days, days))
    changed = run("ls", "--all").stderr

    assert "will be deleted" not in archived
    assert "1 session will be deleted by claude-code within 7 days" in changed


def test_the_settings_of_the_agent_decide_when_it_deletes(run: Run, transcript: Path) -> None:
    (transcript.parents[2] / "settings.json").write_text('{"cleanupPeriodDays": 365}')

    assert "will be deleted" not in run("ls", "--all").stderr


@pytest.mark.parametrize(
    ("retention", "days"),
    [
        ({}, 30),
        ({"maxAge": "2w"}, 14),
        ({"maxAge": "48h"}, 2),
        ({"maxAge": "soon"}, 30),
        ({"enabled": False}, None),
        ([], 30),
    ],
)
def test_sessions_of_gemini_expire_as_its_settings_say(data: Any, retention: Any, days: int | None) -> None:
    folder = Path.home() / ".gemini" / "tmp" / "project" / "chats"
    folder.mkdir(parents=True)
    settings = json.dumps({"general": {"sessionRetention": retention}})
    (Path.home() / ".gemini" / "settings.json").write_text(settings)
    file = folder / "session-2026-11-18T00-00-0a0a0a0a.jsonl"
    meta = {"sessionId": "0a0a0a0a", "projectHash": "h", "startTime": "2026-11-18T00:00:00.000Z"}
    said = {"id": "1", "timestamp": "2026-11-18T00:00:00.000Z", "type": "user", "content": "Hello"}
    file.write_text(json.dumps(meta) + "\n" + json.dumps(said) + "\n")
    os.utime(file, (1_800_000_000, 1_800_000_000))

    (row,) = data("ls", "--all")["sessions"]

    assert row["expires_ms"] == (None if days is None else (1_800_000_000 + days * 86_400) * 1000)


@pytest.mark.parametrize(
    ("other", "soon"),
    [
        ("session-2026-11-18T09-00-0a0a0a0a.jsonl", True),
        ("session-2026-11-18T09-00-0b0b0b0b.jsonl", False),
        ("notes-0a0a0a0a.txt", False),
    ],
)
def test_a_session_of_gemini_that_was_resumed_expires_with_the_stub_beside_it(
    data: Any, other: str, soon: bool
) -> None:
    """Gemini CLI deletes the files of an id together, and stubs when it starts."""
    folder = Path.home() / ".gemini" / "tmp" / "project" / "chats"
    folder.mkdir(parents=True)
    meta = {"sessionId": "0a0a0a0a-1", "projectHash": "h", "startTime": "2026-11-18T00:00:00.000Z"}
    said = {"id": "1", "timestamp": "2026-11-18T00:00:00.000Z", "type": "user", "content": "Hello"}
    file = folder / "session-2026-11-18T00-00-0a0a0a0a.jsonl"
    file.write_text(json.dumps(meta) + "\n" + json.dumps(said) + "\n")
    (folder / other).write_text(json.dumps(meta) + "\n")

    (row,) = data("ls", "--all")["sessions"]
    archived = data("archive", "--expiring")["sessions"]

    assert row["expires_ms"] == row["modified_ms"] + (0 if soon else 30 * 86_400_000)
    assert len(archived) == soon


def test_an_archived_session_is_listed_and_found_when_the_original_is_gone(
    run: Run, data: Any, transcript: Path
) -> None:
    content = transcript.read_bytes()
    (made,) = data("archive", "--expiring")["sessions"]
    assert [row["archived"] for row in data("ls", "--all")["sessions"]] == [False]

    transcript.unlink()

    (row,) = data("ls", "--all", "--archived")["sessions"]
    assert (row["id"], row["agent"], row["archived"], row["expires_ms"]) == (
        CLAUDE,
        "claude-code",
        True,
        None,
    )
    assert Path(made["copy"]).read_bytes() == content
    assert os.stat(made["copy"]).st_mode & 0o777 == 0o600
    (hit, *_) = data("search", "is:archived", "zeppelin")["hits"]
    assert hit["path"] == made["copy"]
    assert "It floats." in run("show", CLAUDE).stdout


def test_archiving_again_copies_only_what_changed(run: Run, data: Any, transcript: Path) -> None:
    data("archive", CLAUDE)
    assert data("archive", CLAUDE)["sessions"][0]["unchanged"] is True
    with transcript.open("ab") as file:
        file.write(record("e", "d", content="and now?", sessionId=CLAUDE))

    (made,) = data("archive", CLAUDE)["sessions"]

    assert made["unchanged"] is False
    assert Path(made["copy"]).read_bytes() == transcript.read_bytes()


def subagent(transcript: Path, name: str = "agent-1") -> Path:
    path = transcript.with_suffix("") / "subagents" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(record("s1", None, content="Look at the keel", sessionId=CLAUDE, isSidechain=True))
    return path


def everything(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and ".branchline" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_archiving_again_completes_the_companion_folder(data: Any, transcript: Path) -> None:
    first = subagent(transcript)
    (made,) = data("archive", CLAUDE)["sessions"]
    folder = Path(made["copy"]).with_suffix("")
    (folder / "subagents" / "agent-1.jsonl").write_bytes(first.read_bytes()[:7])  # as a killed copy leaves it

    with first.open("ab") as file:
        file.write(record("s2", "s1", "assistant", "It is long.", sessionId=CLAUDE))
    subagent(transcript, "agent-2")
    (transcript.with_suffix("") / "secret.txt").symlink_to("/etc/passwd")
    (again,) = data("archive", CLAUDE)["sessions"]

    assert (again["copy"], again["unchanged"], again["kept"]) == (made["copy"], False, [])
    assert everything(folder / "subagents") == everything(transcript.with_suffix("") / "subagents")
    assert not (folder / "secret.txt").exists()
    assert data("archive", CLAUDE)["sessions"][0]["unchanged"] is True


def test_a_list_warns_of_a_session_whose_companion_folder_is_not_archived(run: Run, transcript: Path) -> None:
    run("archive", CLAUDE)
    subagent(transcript)

    assert "1 session will be deleted" in run("ls", "--all").stderr


@pytest.mark.parametrize("how", ["shortened", "rewritten", "replaced"])
def test_a_copy_that_the_original_does_not_continue_stays_beside_a_new_one(
    how: str, run: Run, data: Any, transcript: Path
) -> None:
    before = transcript.read_bytes()
    (made,) = data("archive", CLAUDE)["sessions"]
    first, *rest = before.splitlines(keepends=True)
    now = {
        "shortened": first,
        "rewritten": first.replace(b"zeppelin", b"airships") + b"".join(rest),
        "replaced": record("z", None, content="Another one", sessionId=CLAUDE),
    }[how]
    transcript.write_bytes(now)

    result = run("archive", CLAUDE)
    with transcript.open("ab") as file:
        file.write(b"\n")
    (later,) = data("archive", CLAUDE)["sessions"]

    assert f"kept: {made['copy']}" in result.stderr
    assert Path(made["copy"]).read_bytes() == before
    assert later["copy"] != made["copy"]
    assert Path(later["copy"]).read_bytes() == now + b"\n"
    assert data("archive", CLAUDE)["sessions"][0]["unchanged"] is True
    transcript.unlink()
    rows = data("ls", "--all", "--archived")["sessions"]
    assert {row["path"] for row in rows} == {made["copy"], later["copy"]}


def test_what_an_original_lost_is_found_in_its_copy_although_the_original_exists(
    run: Run, data: Any, transcript: Path
) -> None:
    (made,) = data("archive", CLAUDE)["sessions"]
    transcript.write_bytes(transcript.read_bytes().splitlines(keepends=True)[0])

    assert made["copy"] in {row["path"] for row in data("ls", "--all")["sessions"]}
    assert "It floats." in run("show", made["copy"]).stdout


@pytest.mark.parametrize("content", [b"", None])
def test_an_empty_or_unreadable_original_replaces_nothing(
    content: bytes | None, run: Run, data: Any, transcript: Path
) -> None:
    (made,) = data("archive", CLAUDE)["sessions"]
    before = Path(made["copy"]).read_bytes()
    transcript.unlink()
    transcript.write_bytes(content) if content is not None else transcript.mkdir()

    run("archive", transcript, code=1)

    assert Path(made["copy"]).read_bytes() == before
    assert len(everything(Path(made["copy"]).parents[1])) == 1


def test_originals_with_one_name_have_copies_of_their_own(data: Any, world: Path) -> None:
    copies = []
    for name in ("a", "b"):
        (world / name).mkdir()
        path = world / name / "session.jsonl"
        path.write_bytes(record(name, None, content=f"I am {name}", sessionId=CLAUDE))
        copies += data("archive", path)["sessions"]

    assert [Path(one["copy"]).read_bytes() for one in copies] == [
        (world / name / "session.jsonl").read_bytes() for name in ("a", "b")
    ]
    shutil.rmtree(world / "a")
    rows = data("ls", "--all", "--archived")["sessions"]
    assert {row["path"] for row in rows} == {one["copy"] for one in copies}


def test_two_folders_of_one_agent_share_no_copy(
    data: Any, transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = data("archive", CLAUDE)["sessions"]
    moved = tmp_path / "moved" / "projects" / transcript.parent.name / transcript.name
    moved.parent.mkdir(parents=True)
    moved.write_bytes(record("m", None, content="Elsewhere", sessionId=CLAUDE))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "moved"))

    (second,) = data("archive", moved)["sessions"]

    assert second["copy"] != first["copy"]
    assert Path(first["copy"]).read_bytes() == transcript.read_bytes()
    assert Path(second["copy"]).read_bytes() == moved.read_bytes()
    assert str(moved) in {row["path"] for row in data("ls", "--all")["sessions"]}
    assert second["copy"] not in {row["path"] for row in data("ls", "--all")["sessions"]}


def test_a_copy_of_an_earlier_version_is_continued_where_it_is(
    data: Any, world: Path, tmp_path: Path
) -> None:
    """It was named after the file alone."""
    path = world / "session.jsonl"
    path.write_bytes(record("a", None, content="one", sessionId=CLAUDE))
    old = tmp_path / "home" / "archive" / "claude-code" / "other" / "session.jsonl"
    old.parent.mkdir(parents=True)
    old.write_bytes(path.read_bytes())
    with path.open("ab") as file:
        file.write(record("b", "a", "assistant", "two", sessionId=CLAUDE))

    (made,) = data("archive", path)["sessions"]

    assert made["copy"] == str(old)
    assert old.read_bytes() == path.read_bytes()
    path.write_bytes(record("c", None, content="another", sessionId=CLAUDE))
    (other,) = data("archive", path)["sessions"]
    assert other["copy"] != str(old)
    assert b"two" in old.read_bytes()


def test_the_documents_of_a_session_are_archived_together(data: Any, tmp_path: Path) -> None:
    name = "1794780450292_q14kk"
    manifest = tmp_path / "person" / ".cline" / "data" / "sessions" / name / f"{name}.json"
    messages = manifest.with_name(f"{name}.messages.json")
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"session_id": name, "cwd": "/p", "started_at": "2026-11-15T22:07:31Z"}))
    said = {"id": "m1", "role": "user", "content": "Build a zeppelin", "ts": 1794780450820}
    messages.write_text(json.dumps({"version": 1, "sessionId": name, "messages": [said]}))

    (made,) = data("archive", manifest)["sessions"]

    assert everything(Path(made["copy"]).parent) == everything(manifest.parent)


def test_two_archives_at_once_lose_nothing(process: Any, transcript: Path) -> None:
    for number in range(40):
        subagent(transcript, f"agent-{number}")
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: process("archive", CLAUDE), range(3)))

    assert [one.returncode for one in done] == [0, 0, 0]
    copy = Path(done[0].stdout.decode().strip())
    assert everything(copy.with_suffix("")) == everything(transcript.with_suffix(""))


def test_our_own_sessions_are_not_archived(run: Run, talk: str) -> None:
    assert "deletes no session" in run("archive", talk, code=1).stderr


def test_a_file_that_is_gone_is_found_in_the_archive_after_its_agent(
    run: Run, data: Any, transcript: Path
) -> None:
    """The folder of the agent may be deleted as a whole."""
    run("archive", CLAUDE)
    for path in sorted((transcript.parents[2]).rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    transcript.parents[2].rmdir()

    assert [row["id"] for row in data("ls", "--all")["sessions"]] == [CLAUDE]


# -- what lists tell scripts ------------------------------------------------------------------------------


def test_lists_for_scripts_tell_how_to_resume_and_what_was_done(data: Any, transcript: Path) -> None:
    (row,) = data("ls", "--all")["sessions"]

    assert row["git_branch"] == "airship"
    assert row["tokens"] == 30
    assert row["estimated"] is True
    assert 0 < row["cost"] < 0.01
    assert row["models"] == ["anthropic/claude-opus-4-5"]
    assert row["tools"] == {"Edit": 1}
    assert row["files"] == ["src/zeppelin.py"]
    assert row["errors"] == 1
    assert row["resume_command"].split()[-1] in (CLAUDE, str(transcript))


def test_a_list_without_an_index_tells_the_same(run: Run, data: Any, transcript: Path) -> None:
    with_index = data("ls", "--all")["sessions"]

    run("config", "set", "index", "false")

    assert data("ls", "--all")["sessions"] == with_index


# -- titles that an agent keeps for itself ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "told"),
    [("oh-my-pi/branches", True), ("pi/golden/g001", False)],
)
def test_name_tells_that_the_agent_goes_on_showing_a_title_of_its_own(
    sample: str, told: bool, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "copy.jsonl"
    path.write_bytes((CORPUS / f"{sample}.jsonl").read_bytes())

    first, *more = run("name", str(path), "Named by branchline").stdout.splitlines()

    assert "is now called Named by branchline" in first
    assert more == (["oh-my-pi shows its own title until it is renamed there"] if told else [])
    assert run("name", str(path)).stdout == "Named by branchline\n"


def test_name_tells_nothing_where_oh_my_pi_will_show_the_title(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "copy.jsonl"
    lines = (CORPUS / "oh-my-pi" / "branches.jsonl").read_bytes().splitlines(keepends=True)
    assert b'"title"' not in lines[1]
    path.write_bytes(b"".join(lines[1:]))

    result = run("name", str(path), "Named by branchline").stdout

    assert "shows its own title" not in result
