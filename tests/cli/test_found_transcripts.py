"""Small copies of what real files of Claude Code and Codex showed, through the commands that people use."""

from __future__ import annotations

import shutil

import pytest

from branchline import Session
from branchline.library.search_text import contents_of
from support import CORPUS

CLAUDE = CORPUS / "claude-code" / "found"
CODEX = CORPUS / "codex" / "found"


@pytest.fixture
def alone(world):
    """A directory that holds a copy of one file."""

    def copy(path):
        folder = world / path.stem
        folder.mkdir()
        shutil.copy(path, folder)
        return folder / path.name

    return copy


# -- a cleared context ------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [(), ("--markdown",)])
def test_a_conversation_is_shown_across_a_cleared_context_with_a_mark(run, arguments):
    text = run("show", CLAUDE / "clear.jsonl", *arguments).stdout

    places = [text.find(words) for words in ("Plan the change", "Context cleared", "Implement the following")]
    assert -1 not in places
    assert places == sorted(places)


def test_a_model_sees_only_what_follows_a_cleared_context(data):
    seen = data("inspect", CLAUDE / "clear.jsonl")

    assert seen["path"] == ["u1", "a1", "u2", "a2"]
    assert [message["entry"] for message in seen["context"]["messages"]] == ["u2", "a2"]


def test_a_line_that_is_several_entries_is_printed_once(run):
    lines = run("show", CLAUDE / "clear.jsonl", "--raw").stdout

    assert lines.encode() == (CLAUDE / "clear.jsonl").read_bytes()


@pytest.mark.parametrize("program", ["pi", "oh-my-pi", "operator", "piglet"])
def test_a_cleared_context_stays_cleared_in_another_program(run, data, world, program):
    run("convert", CLAUDE / "clear.jsonl", "--to", program, "-o", world / "made.jsonl")

    said = data("context", world / "made.jsonl")["messages"]

    assert "Plan the change" not in str(said)
    assert "Implement the following plan" in str(said)


# -- counts -----------------------------------------------------------------------------------------------


def test_an_answer_in_three_records_is_one_answer(data, alone):
    folder = alone(CLAUDE / "split.jsonl").parent

    total = data("stats", "--dir", folder)["total"]
    (row,) = data("ls", "--dir", folder)["sessions"]

    assert (total["prompts"], total["answers"], total["messages"]) == (1, 1, 3)
    assert (row["messages"], row["total_messages"]) == (3, 3)


def test_a_session_with_an_inline_sub_agent_has_one_total(run, data, alone, world):
    path = alone(CLAUDE / "side.jsonl")
    run("convert", path, "--to", "pi", "-o", world / "made.jsonl")

    inspected = data("inspect", path)["usage"]
    converted = data("inspect", world / "made.jsonl")["usage"]
    counted = data("stats", "--dir", path.parent)["total"]

    assert inspected == converted
    assert {name: counted[name] for name in ("input", "output")} == {"input": 260, "output": 26}
    assert (inspected["input"], inspected["output"]) == (260, 26)


# -- forks ------------------------------------------------------------------------------------------------


def test_a_fork_without_a_pointer_hangs_from_its_parent_in_the_forest(data):
    rows = data("forest", "--dir", CLAUDE / "fork")["sessions"]

    assert [(row["row"]["id"][-4:], row["depth"]) for row in rows] == [("bb01", 0), ("bb02", 1)]


# -- copies of requests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "-o", "made.jsonl"),
        ("export", "-o", "made.md"),
        ("convert", "--to", "pi", "-o", "made.jsonl"),
    ],
)
@pytest.mark.parametrize("redact", [(), ("--no-redact",)])
def test_copies_of_requests_leave_no_file(run, world, arguments, redact):
    command, *options = arguments
    redact = redact if command == "export" else ()
    assert b"Private instructions" in (CLAUDE / "requests.jsonl").read_bytes()

    run(command, CLAUDE / "requests.jsonl", *options, *redact)

    made = (world / options[-1]).read_bytes()
    assert b"Private instructions" not in made
    assert b"api-request" not in made
    assert b"The file has seven lines." in made


def test_an_export_without_requests_is_the_same_conversation(run, data, world):
    run("export", CLAUDE / "requests.jsonl", "-o", "made.jsonl")

    exported, original = data("inspect", world / "made.jsonl"), data("inspect", CLAUDE / "requests.jsonl")

    assert [exported[name] for name in ("path", "leaf", "context", "usage", "findings")] == [
        original[name] for name in ("path", "leaf", "context", "usage", "findings")
    ]
    assert len(original["entries"]) - len(exported["entries"]) == 3


def test_a_search_does_not_look_into_copies_of_requests():
    with Session.open(CLAUDE / "requests.jsonl") as session:
        entries = session.entries(list(session.index.keys))
        contents = contents_of(session.transcript)

    assert "private instructions" not in str(contents).lower()
    assert "private instructions" not in str(entries).lower()
