"""Sessions of every program are found in its home, shown, searched, counted and converted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from branchline import SessionLibrary
from branchline.cli.app import cli
from support import CORPUS

HOMES = {
    "qwen": [("projects", ".qwen/projects")],
    "copilot": [("session-state", ".copilot/session-state")],
    "gemini": [("tmp", ".gemini/tmp")],
    "kimi": [("sessions", ".kimi-code/sessions")],
    "cline": [("data", ".cline/data"), ("globalStorage", ".config/Code/User/globalStorage")],
    "vibe": [("logs", ".vibe/logs")],
}
TITLES = {
    "qwen": {"Verses"},
    "copilot": {"Lines: a count"},
    "gemini": {"Counting and verses", "Counting"},
    "kimi": {"Counting"},
    "cline": {"Count the lines"},
    "vibe": {"Counting"},
}
LAST = {
    "qwen": b"A limerick.",
    "copilot": b"You are welcome.",
    "gemini": b"",
    "kimi": b"A limerick.",
    "cline": b"",
    "vibe": b"A limerick.",
}
WRITTEN = ("branchline", "pi", "oh-my-pi", "operator", "induscode", "zot", "piglet")


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    found = tmp_path_factory.mktemp("person")
    for name, folders in HOMES.items():
        for inside, place in folders:
            shutil.copytree(CORPUS / name / inside, found / place)
    return found


def run(home: Path, *words: str) -> str:
    environment = {"HOME": str(home), "BRANCHLINE_HOME": str(home / "ours"), "XDG_CONFIG_HOME": None}
    result = CliRunner().invoke(cli, words, env=environment)
    assert result.exit_code == 0, result.output
    return result.output if "-v" in words else result.stdout


@pytest.mark.parametrize("program", HOMES)
def test_the_sessions_of_a_program_are_listed_with_their_titles_and_directory(program, home):
    listed = json.loads(run(home, "ls", "--all", "--agent", program, "--json"))

    rows = listed["sessions"]
    assert {row["agent"] for row in rows} == {program}
    assert {row["title"] for row in rows} == TITLES[program]
    assert {row["cwd"] for row in rows} == {"/home/dev/acme"}


@pytest.mark.parametrize("program", HOMES)
def test_a_session_of_a_program_is_searched_shown_drawn_checked_and_counted(program, home):
    rows = json.loads(run(home, "ls", "--all", "--agent", program, "--json"))["sessions"]
    path = rows[0]["path"]
    found = run(home, "search", "three lines")
    shown = run(home, "show", path)
    drawn = run(home, "tree", path)
    checked = run(home, "check", path)
    counted = json.loads(run(home, "stats", "--all", "--agent", program, "--json"))

    assert all(row["id"] in found for row in rows)
    assert "Count" in shown
    assert "three lines" in drawn
    assert checked.endswith(": fine\n")
    assert counted


@pytest.mark.parametrize("program", HOMES)
def test_a_session_of_a_program_converts_to_every_format_that_is_written(program, home, tmp_path):
    path = session_files(home, program)[0]

    for target in WRITTEN:
        made = tmp_path / f"{target}.out"
        run(home, "convert", path, "--to", target, "-o", str(made), "--lossy")  # some have summaries

        assert LAST[program] in made.read_bytes(), target


def session_files(home: Path, program: str) -> list[str]:
    listed = json.loads(run(home, "ls", "--all", "--agent", program, "--json"))
    return [row["path"] for row in listed["sessions"]]


def test_a_stub_that_gemini_leaves_is_neither_listed_nor_taken_for_the_session(home):
    (session,) = (home / ".gemini" / "tmp").rglob("session-*.jsonl")
    stub = session.with_name("session-2026-03-05T09-00-9e313111.jsonl")
    stub.write_bytes(b"".join(session.read_bytes().splitlines(keepends=True)[:2]))

    listed = session_files(home, "gemini")
    shown = run(home, "show", "9e313111-3333-4a6b-9c3d-000000000003")
    stub.unlink()

    assert str(stub) not in listed
    assert str(session) in listed
    assert "A limerick." in shown


@pytest.fixture
def continued(home) -> Iterator[tuple[Path, Path]]:
    """A document of an older release, and the lines in which a later one goes on with its session."""
    (document,) = (home / ".gemini" / "tmp").rglob("session-*.json")
    session = json.loads(document.read_text())
    messages = session.pop("messages")
    more = {"id": "later", "timestamp": "2026-03-06T00:00:00.000Z", "type": "user", "content": "Go on"}
    change = {"$set": {"messages": messages}}
    lines = document.with_suffix(".jsonl")
    lines.write_text("".join(json.dumps(line) + "\n" for line in (session, change, more)))
    yield document, lines
    lines.unlink()


def test_a_document_that_gemini_continued_in_lines_is_listed_once(home, continued):
    document, lines = continued

    listed = json.loads(run(home, "ls", "--all", "--agent", "gemini", "--json"))
    skipped = run(home, "ls", "--all", "--agent", "gemini", "-v")
    forest = run(home, "forest", "--all")

    paths = [row["path"] for row in listed["sessions"]]
    assert str(lines) in paths
    assert str(document) not in paths
    assert "a later file continues the same session" in skipped
    assert "sessions have the id" not in forest
    assert "Go on" in run(home, "show", json.loads(lines.read_text().split("\n")[0])["sessionId"])


@pytest.mark.parametrize("form", ["stub", "another session", "damaged"])
def test_a_document_is_listed_unless_its_lines_hold_the_session(form, home, continued):
    document, lines = continued
    first = lines.read_text().splitlines(keepends=True)[0]
    lines.write_text(
        {
            "stub": first,
            "another session": lines.read_text().replace(json.loads(first)["sessionId"], "other"),
            "damaged": "{",
        }[form]
    )

    assert str(document) in session_files(home, "gemini")


def test_an_export_is_named_for_the_session_where_all_files_have_one_name(home, tmp_path):
    (path,) = session_files(home, "copilot")

    run(home, "export", path, "-o", f"{tmp_path}/", "--format", "md")

    assert [found.stem for found in tmp_path.iterdir()] == ["0c0b1107-2222-4a6b-9c3d-000000000002"]


def test_answers_of_copilot_and_their_tokens_are_of_one_model(home):
    report = json.loads(run(home, "stats", "--all", "--by", "agent,model", "--json"))

    (group,) = [group for group in report["groups"] if group["keys"][0] == "copilot"]

    assert group["keys"] == ["copilot", "gpt-5"]
    assert group["figures"]["input"] > 0
    assert group["figures"]["messages"] > 0


@pytest.mark.parametrize("program", [*HOMES, "codex"])
def test_a_named_pipe_in_the_place_of_any_file_is_never_waited_for(program, home, tmp_path):
    """Once the files with titles and directories were opened without a look at what they are."""
    if program == "codex":
        shutil.copytree(CORPUS / "codex" / "synthetic", tmp_path / ".codex")
        (tmp_path / ".codex" / "session_index.jsonl").touch()
    for _, place in HOMES.get(program, []):
        shutil.copytree(home / place, tmp_path / place)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    environment = {**os.environ, "HOME": str(tmp_path), "BRANCHLINE_HOME": str(tmp_path / "ours")}
    kinds = {path: re.sub(r"\d.*", "", path.name) + path.suffix for path in files}
    for kind in sorted(set(kinds.values())):
        some = [path for path in files if kinds[path] == kind]
        for path in some:
            path.rename(f"{path}.away")
            os.mkfifo(path)

        listed = subprocess.run(
            [sys.executable, "-m", "branchline", "ls", "--all", "--deep", "--agent", program],
            env=environment,
            capture_output=True,
            timeout=20,
            check=False,
        )

        assert listed.returncode == 0, (kind, listed.stderr)
        for path in some:
            path.unlink()
            Path(f"{path}.away").rename(path)


@pytest.mark.parametrize("deep", [False, True])
def test_a_library_notices_an_agent_that_was_used_after_it_was_opened(deep, tmp_path):
    """The browser and the web viewer keep one library while people work elsewhere."""
    library = SessionLibrary.everywhere(home=tmp_path, environment={})
    assert list(library.list(deep=deep)) == []
    home = tmp_path / ".codex"

    shutil.copytree(CORPUS / "codex" / "synthetic" / "lineage", home, dirs_exist_ok=True)
    before = {row.id: row.title for row in library.list(deep=deep)}
    named = next(iter(before))
    (home / "session_index.jsonl").write_text(json.dumps({"id": named, "thread_name": "Named later"}) + "\n")
    after = {row.id: row.title for row in library.list(deep=deep)}

    assert before.keys() == after.keys()
    assert {key for key in after if after[key] == "Named later"} == {named}


@pytest.mark.parametrize(
    ("sample", "prompts", "messages"), [("sidechain-inline", 1, 6), ("sub-agents", 1, 10)], ids=str
)
def test_the_task_that_an_agent_gives_its_sub_agent_is_no_prompt_of_the_user(
    sample, prompts, messages, tmp_path
):
    folder = tmp_path / ".claude" / "projects" / "-home-u-demo"
    shutil.copytree(CORPUS / "claude-code" / "synthetic" / sample, folder)

    total = json.loads(run(tmp_path, "stats", "--all", "--json"))["total"]

    assert (total["prompts"], total["messages"]) == (prompts, messages)


def test_a_file_of_a_sub_agent_alone_has_no_prompt_of_the_user(tmp_path):
    (file,) = (CORPUS / "claude-code" / "synthetic" / "sub-agents").rglob("agent-ag00001.jsonl")
    folder = tmp_path / "copies"
    folder.mkdir()
    shutil.copy(file, folder / "copy.jsonl")

    total = json.loads(run(tmp_path, "stats", "--dir", str(folder), "--json"))["total"]

    assert (total["prompts"], total["answers"]) == (0, 2)


def test_the_task_of_a_sub_agent_of_any_agent_is_no_prompt_of_the_user(home, tmp_path):
    shutil.copytree(CORPUS / "cline" / "data", tmp_path / ".cline" / "data")

    total = json.loads(run(tmp_path, "stats", "--all", "--json"))["total"]

    assert total["prompts"] == 1
