"""Tool results, and the facts about tasks that the editor extensions keep in other files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.entries import ToolResult, UsageEntry, message_text
from branchline.stores.sources import page_files
from support import CORPUS

FAILED = CORPUS / "cline" / "failed" / "sessions" / "1772600300000_fa1ed" / "1772600300000_fa1ed.json"
EXTENSION = CORPUS / "cline" / "globalStorage" / "saoudrizwan.claude-dev"
TASK = "1772600200000"
MODEL = "claude-sonnet-4-5-20250929"


@pytest.fixture
def task(tmp_path) -> Path:
    """The document of a task, with the list of tasks beside its folder."""
    shutil.copytree(EXTENSION, tmp_path / "storage")
    return tmp_path / "storage" / "tasks" / TASK / "api_conversation_history.json"


def history(task: Path) -> Path:
    return task.parents[2] / "state" / "taskHistory.json"


def result_of(session: Session) -> ToolResult:
    messages = [entry.message for entry in session.entries() if entry.type == "message"]
    return next(message for message in messages if isinstance(message, ToolResult))


def one_result(tmp_path: Path, content: Any) -> ToolResult:
    folder = tmp_path / "sessions" / "1_abcde"
    folder.mkdir(parents=True)
    call = {"type": "tool_use", "id": "c", "name": "run_commands", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": content}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    (folder / "1_abcde.messages.json").write_text(json.dumps({"messages": messages}))
    with Session.open(folder / "1_abcde.messages.json") as session:
        return result_of(session)


# -- failed commands --------------------------------------------------------------------------------------


def test_what_a_failed_command_printed_is_kept_with_its_error():
    with Session.open(FAILED) as session:
        result = result_of(session)

    assert [block.text for block in result.content] == [
        "[Command exited with code 3]\n\n[stderr]\nls: cannot access '/nowhere': No such file or directory\n",
        "File not found: gone.txt",
        "1 failed, 5 passed\nCommand exited with code 2",
    ]
    assert result.is_error is True


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"query": "q", "result": "", "error": "gone", "success": False}, "gone"),
        ({"query": "q", "result": " \n", "error": "gone"}, "gone"),
        ({"query": "q", "error": "gone", "success": False}, "gone"),
        ({"query": "q", "result": "out", "error": ""}, "out"),
        ({"query": "q", "result": "out", "error": None}, "out"),
        ({"query": "q", "result": {"lines": 3}, "error": "late"}, '{"lines":3}\nlate'),
        ({"query": "q", "result": "out: late!", "error": "late"}, "out: late!"),
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_a_result_has_its_output_and_the_error_that_the_output_lacks(answer, text, listed, tmp_path):
    result = one_result(tmp_path, [answer] if listed else answer)

    assert message_text(result) == text
    assert result.is_error is (answer.get("success") is False)


# -- the list of tasks ------------------------------------------------------------------------------------


def test_a_task_has_the_title_directory_and_model_of_the_list_of_tasks(task):
    with Session.open(task) as session:
        context = session.context()

        assert (session.title, session.cwd) == ("Count the lines", "/home/dev/acme")
        assert context.model is not None
        assert (context.model.provider, context.model.id) == ("anthropic", MODEL)
        spent = [entry for entry in session.entries() if isinstance(entry, UsageEntry)]
        assert [(entry.provider, entry.model) for entry in spent] == [("anthropic", MODEL)] * 2


@pytest.mark.parametrize(
    "damage", [None, b"", b'[{"id":"1772600200000","task', b"{}", b"[1,null]", b"\xff\xfe", b'[{"id":[]}]']
)
def test_a_missing_or_damaged_list_of_tasks_changes_nothing(task, damage):
    if damage is None:
        history(task).unlink()
    else:
        history(task).write_bytes(damage)

    with Session.open(task) as session:
        assert (session.title, session.cwd) == ("Count plan.md, please", "")
        assert [entry.type for entry in session.entries()].count("message") == 4
        assert session.findings == []


def test_values_of_the_wrong_type_in_the_list_are_ignored(task):
    item = {"id": int(TASK), "task": ["x"], "cwdOnTaskInitialization": 7, "modelId": {}}
    history(task).write_text(json.dumps([item]))

    with Session.open(task) as session:
        assert (session.title, session.cwd) == ("Count plan.md, please", "")


def test_the_model_of_the_list_counts_where_no_answer_names_one(task):
    messages = json.loads(task.read_text())
    for message in messages:
        message.pop("modelInfo", None)
    task.write_text(json.dumps(messages))

    with Session.open(task) as session:
        model = session.context().model
        spent = [entry.model for entry in session.entries() if isinstance(entry, UsageEntry)]

    assert model is not None
    assert model.id == MODEL
    assert spent == [MODEL, MODEL]


def test_the_tokens_of_a_request_are_of_the_model_that_answered_it(task):
    messages = json.loads(task.read_text())
    messages[-1]["modelInfo"] = {"modelId": "gpt-5", "providerId": "openai"}
    task.write_text(json.dumps(messages))

    with Session.open(task) as session:
        spent = [entry.model for entry in session.entries() if isinstance(entry, UsageEntry)]

    assert spent == [MODEL, "gpt-5"]


def test_facts_beside_the_messages_go_before_the_list(task):
    (task.parent / "history_item.json").write_text(json.dumps({"task": "Own", "workspace": "/own"}))

    with Session.open(task) as session:
        assert (session.title, session.cwd) == ("Own", "/own")


def test_an_exported_page_holds_nothing_about_the_other_tasks_of_the_list(task, tmp_path):
    page = tmp_path / "page.html"
    with Session.open(task) as session:
        session.export(page, format="html")
    with Session.open(page) as again:
        assert (again.title, again.cwd) == ("Count the lines", "/home/dev/acme")

    assert b"Another task" not in page.read_bytes()
    files = page_files(str(page))
    assert all(b"Another task" not in data and b"/home/dev/other" not in data for data in files.values())
