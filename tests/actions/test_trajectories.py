"""Trajectories of other tools: valid for their validators, and redacted."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from atif import Trajectory

from branchline.actions.export import ExportRequest, export, export_branches, render
from branchline.errors import BranchlineError, NotSupported
from branchline.session import Session
from support import CORPUS, ROOT, SHARED

SCHEMA = json.loads((ROOT / "tests" / "actions" / "otel_messages.schema.json").read_text(encoding="utf-8"))
OTEL = jsonschema.Draft202012Validator(SCHEMA)
PICTURE = "iVBORw0KGgo="


FOLDERS = [CORPUS, ROOT / "src" / "branchline" / "demo" / "sessions", SHARED]


def answer(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), "stopReason": "stop", "model": "m-1", **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": name, "name": "bash", "arguments": arguments}


def result(name: str, words: str, **more: Any) -> dict[str, Any]:
    return {"role": "toolResult", "toolCallId": name, "toolName": "bash", "content": [text(words)], **more}


@pytest.fixture
def talk() -> Session:
    """A conversation with a picture, a failed tool, an open call, a compaction and two branches."""
    session = Session.in_memory("/home/u/shop", id="talk")
    session.append_message({"role": "system", "content": "Be kind."})
    session.append_message(
        {
            "role": "user",
            "content": [text("look"), {"type": "image", "data": PICTURE, "mimeType": "image/png"}],
        }
    )
    usage = {
        "input": 5,
        "output": 7,
        "cacheRead": 3,
        "cacheWrite": 2,
        "totalTokens": 17,
        "cost": {"total": 0.5},
    }
    session.append_messages(
        [
            answer(
                {"type": "thinking", "thinking": "hm"},
                text("I run it."),
                call("a", command="ls"),
                usage=usage,
            ),
            result("a", "no such file", isError=True),
        ]
    )
    fork = session.append_message(answer(text("It failed.")))
    session.append_message("first way")
    session.append_message(answer(call("open", command="sleep")))
    session.branch(fork)
    session.append_compaction("in short", fork, 10)
    session.append_message("second way")
    session.append_message(answer(text("Done.")))
    return session


def document(session: Session, format_: Any, **options: Any) -> Any:
    return json.loads(render(session, ExportRequest(format=format_, **options)).data)


def lines(session: Session, format_: Any, **options: Any) -> list[Any]:
    data = render(session, ExportRequest(format=format_, **options)).data
    return [json.loads(line) for line in data.splitlines()]


def test_an_atif_document_has_a_step_for_each_message_and_folds_results_into_their_calls(talk):
    made = document(talk, "atif")

    Trajectory.model_validate(made)
    assert [step["source"] for step in made["steps"]] == [
        "system", "user", "agent", "agent", "system", "user", "agent",
    ]  # fmt: skip
    acting = made["steps"][2]
    assert acting["reasoning_content"] == "hm"
    assert acting["tool_calls"] == [
        {"tool_call_id": "a", "function_name": "bash", "arguments": {"command": "ls"}}
    ]
    assert acting["observation"]["results"] == [
        {"source_call_id": "a", "content": "no such file", "extra": {"is_error": True}}
    ]
    assert acting["metrics"] == {
        "prompt_tokens": 10, "completion_tokens": 7, "cached_tokens": 3, "cost_usd": 0.5,
    }  # fmt: skip
    assert acting["extra"]["entry_id"] in talk
    assert made["steps"][4]["message"] == "in short"
    assert made["final_metrics"]["total_cost_usd"] == 0.5


def test_otel_messages_end_with_the_answer_and_why_it_ended(talk):
    made = document(talk, "otel")

    OTEL.validate(made)
    assert made["gen_ai.output.messages"] == [
        {"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}
    ]
    assert [message["role"] for message in made["gen_ai.input.messages"]] == [
        "user", "assistant", "tool", "assistant", "user", "user",
    ]  # fmt: skip


def test_chat_lines_have_one_line_for_each_branch_and_no_weight_for_what_was_said_before(talk):
    active, left = lines(talk, "openai")

    assert [message["content"] for message in active["messages"] if message["role"] == "user"][1:] == [
        "second way"
    ]
    assert not any("weight" in message for message in active["messages"])
    answers = [message for message in left["messages"] if message["role"] == "assistant"]
    assert [message.get("weight") for message in answers] == [0, 0, None]
    assert left["messages"][-1] == {
        "role": "tool", "tool_call_id": "open", "content": "[tool error] No result was recorded for this tool call.",
    }  # fmt: skip
    assert "in short" not in json.dumps(active)


def test_a_fork_marks_what_it_inherited(tmp_path):
    with Session.create(directory=tmp_path, id="old") as old:
        old.append_messages(["one", answer(text("1"))])
        with old.fork() as fork:
            fork.append_messages(["two", answer(text("2"))])

            steps = document(fork, "atif")["steps"]

    assert [step.get("is_copied_context", False) for step in steps] == [True, True, False, False]


def test_each_branch_gets_a_file_of_its_own(talk, tmp_path):
    made = export_branches(talk, f"{tmp_path}/out/", ExportRequest(format="atif"))

    copied = [
        [step.get("is_copied_context", False) for step in json.loads(Path(one.path).read_bytes())["steps"]]
        for one in made
    ]
    assert made[0].leaf == talk.leaf
    assert [one.path.endswith(f".{one.leaf}.atif.json") for one in made] == [True, True]
    assert [sum(marks) for marks in copied] == [0, 3]
    with pytest.raises(NotSupported, match="needs a directory"):
        export_branches(talk, tmp_path / "file.json", ExportRequest(format="atif"))


@pytest.mark.parametrize("format_", ["atif", "otel", "openai"])
def test_no_secret_leaves_in_a_trajectory(format_, tmp_path):
    key = "sk-ant-api03-" + secrets.token_urlsafe(70)
    with Session.in_memory("/home/u") as session:
        session.append_messages(
            [
                f"my key: {key}",
                answer(text(key), call("c", env={"KEY": key})),
                result("c", f'{{"k": "{key}"}}'),
            ]
        )

        made = render(session, ExportRequest(format=format_))
        with_secrets = render(session, ExportRequest(format=format_, redact=False))

    assert key.encode() not in made.data
    assert made.redacted
    assert with_secrets.data.count(key.encode()) == 4


def test_the_ending_of_a_file_names_its_format(talk, tmp_path):
    assert export(talk, tmp_path / "a.atif.json").format == "atif"
    assert export(talk, tmp_path / "a.openai.jsonl").format == "openai"
    assert export(talk, tmp_path / "a.jsonl").format == "jsonl"


@pytest.mark.parametrize("folder", FOLDERS, ids=["corpus", "demo", "samples"])
def test_branches_of_samples_are_valid(folder):
    if not folder.exists():
        pytest.skip("the samples are not on this machine")
    seen = 0
    for path in sorted(folder.rglob("*.jsonl"))[:: 1 if folder != SHARED else 3]:
        try:
            session = Session.open(path)
        except BranchlineError:
            continue  # empty, damaged, or of a program that is not read
        with session:
            for leaf in [session.index.keys[at] for at in _tips(session)][-1:]:
                Trajectory.model_validate(document(session, "atif", entry=leaf, redact=False))
                OTEL.validate(document(session, "otel", entry=leaf, redact=False))
                (line,) = lines(session, "openai", entry=leaf, redact=False)
                _require_pairs(line["messages"])
                seen += 1
    assert seen


def _tips(session: Session) -> list[int]:
    from branchline.conversion import branch_tips

    return branch_tips(session.transcript)


def _require_pairs(messages: list[dict[str, Any]]) -> None:
    """Every call is answered once, by the messages right behind it, as OpenAI demands."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        waiting = [each["id"] for each in message.get("tool_calls", ())]
        assert isinstance(message["content"], str | list | None)
    assert not waiting
