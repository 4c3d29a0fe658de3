"""What is written for Claude Code: records that it takes in, whole trees, calls with their results."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from branchline.context import NO_RESULT
from branchline.conversion import convert
from branchline.entries import Header
from branchline.errors import NotSupported
from branchline.formats import CLAUDE_CODE, GEMINI, PI, EntryLog
from branchline.session import Session
from formats.claude_code_kit import api_problems, forked, request, request_items
from formats.conversion_kit import APPENDABLE, HEADER, read, said, samples, written
from interop.conversations import joined, texts_first
from interop.conversations import said as conversation

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


@pytest.fixture
def session():
    return Session.in_memory("/home/u/project", id="source")


def answer(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), "provider": "x", "model": "gpt-5", **more}


def call(name: str, tool: str = "read") -> dict[str, Any]:
    return {"type": "toolCall", "id": name, "name": tool, "arguments": {"path": name}}


def result(name: str, text: str) -> dict[str, Any]:
    return {
        "role": "toolResult",
        "toolCallId": name,
        "toolName": "read",
        "content": [{"type": "text", "text": text}],
    }


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def records(session: Session, **options: Any) -> list[dict[str, Any]]:
    data = convert(session.transcript, CLAUDE_CODE, HEADER, **options).data
    return [json.loads(line) for line in data.splitlines()]


def spoken(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in found if record["type"] in ("user", "assistant")]


def blocks(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [
        block
        for record in spoken(found)
        if isinstance(record["message"]["content"], list)
        for block in record["message"]["content"]
        if block["type"] == kind
    ]


# -- the check list: what makes a version of the program hang, lose or confuse a session -------------------


@pytest.mark.parametrize("program", [*APPENDABLE, "codex"])
def test_every_sample_becomes_records_that_the_program_takes(program):
    for path in samples(program):
        source = read(path.read_bytes(), name=str(path))
        data = convert(source, CLAUDE_CODE, HEADER).data

        found = [json.loads(line) for line in data.splitlines()]

        uuids = {record["uuid"] for record in found if "uuid" in record}
        ids: dict[str, set[str | None]] = {}
        for record in found:
            if "uuid" not in record:
                continue
            assert UUID.fullmatch(record["uuid"]), path
            assert record["parentUuid"] is None or record["parentUuid"] in uuids, path
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["timestamp"]), path
            assert record["sessionId"] == HEADER.id
            if record["type"] == "assistant":
                message = record["message"]
                assert message["model"], path
                assert message["model"] != "<synthetic>"
                assert message["id"].startswith("msg_")
                pieces = ids.setdefault(message["id"], set())
                assert not pieces or record["parentUuid"] in pieces, path
                pieces |= {record["uuid"], record["parentUuid"]}
        own = [record for record in found if record.get("branchline") is True]
        calls = [block["id"] for block in blocks(own, "tool_use")]
        assert len(set(calls)) == len(calls), path
        assert all(re.fullmatch(r"toolu_[A-Za-z0-9]{24}", one) for one in calls), path
        assert not blocks(found, "thinking"), path
        assert all(block["text"].strip() for block in blocks(found, "text")), path
        _require_pairs(found)
        messages = request(data)
        assert api_problems(messages) == [], path
        if source.leaf is not None:
            assert joined(request_items(messages)) == conversation(source), path
        if spoken(found):
            last = found[-1]
            assert last["type"] == "last-prompt", path
            assert last["leafUuid"] not in {record.get("parentUuid") for record in found}, path


@pytest.mark.parametrize("program", [*APPENDABLE, "codex"])
def test_a_fork_by_the_program_holds_the_conversation_of_every_sample(program):
    """It copies only the active records: repetitions without what they repeat."""
    for path in samples(program):
        source = read(path.read_bytes(), name=str(path))

        fork = read(forked(convert(source, CLAUDE_CODE, HEADER).data, "more"), CLAUDE_CODE)

        if source.leaf is not None:
            wanted = joined([*texts_first(conversation(source)), ("user", ["more"])])
            assert texts_first(conversation(fork)) == wanted, path
        assert fork.findings == [], path


def _require_pairs(found: list[dict[str, Any]]) -> None:
    """Each call has exactly one result on every path below it, before anything else is said."""
    children: dict[str, list[dict[str, Any]]] = {}
    for record in spoken(found):
        children.setdefault(record["parentUuid"], []).append(record)
    waiting = [(record, frozenset()) for record in spoken(found) if record["parentUuid"] is None]
    while waiting:
        record, asked = waiting.pop()
        content = record["message"]["content"]
        parts = content if isinstance(content, list) else []
        answered = {block["tool_use_id"] for block in parts if block["type"] == "tool_result"}
        assert answered <= asked
        if not answered:
            assert not asked
        asked = (asked - answered) | {block["id"] for block in parts if block["type"] == "tool_use"}
        below = children.get(record["uuid"], [])
        assert below or not asked
        waiting += [(child, asked) for child in below]


# -- content ----------------------------------------------------------------------------------------------


def test_calls_and_results_keep_names_and_arguments_under_ids_that_the_api_takes(session):
    session.append_message("go")
    session.append_message(answer(text("I look."), call("call_abc|fc_1"), call("b", "my tool")))
    session.append_message(result("b", "second"))
    session.append_message(result("call_abc|fc_1", "first"))

    found = records(session)

    uses = blocks(found, "tool_use")
    assert [(use["name"], use["input"]) for use in uses] == [
        ("read", {"path": "call_abc|fc_1"}),
        ("my_tool", {"path": "b"}),
    ]
    results = {one["tool_use_id"]: one["content"][0]["text"] for one in blocks(found, "tool_result")}
    assert [results[use["id"]] for use in uses] == ["first", "second"]


def test_a_call_without_a_result_gets_one_that_says_so_and_a_lone_result_becomes_words(session):
    session.append_message(answer(call("a"), call("b")))
    session.append_message(result("b", "here"))
    session.append_message("stop")
    session.append_message(result("a", "late"))

    found = records(session)

    results = blocks(found, "tool_result")
    assert [one.get("is_error", False) for one in results] == [False, True]
    assert results[1]["content"] == NO_RESULT
    assert [one["text"] for one in blocks(found, "text")][-2:] == ["The tool read said:", "late"]


def test_the_same_call_id_twice_is_two_calls(session):
    for words in ("one", "two"):
        session.append_message("again")
        session.append_message(answer(call("same")))
        session.append_message(result("same", words))

    found = records(session)

    uses = [use["id"] for use in blocks(found, "tool_use")]
    assert len(set(uses)) == 2
    assert [one["tool_use_id"] for one in blocks(found, "tool_result")] == uses


def test_successive_answers_share_an_id_and_answers_with_results_between_them_do_not(session):
    session.append_message("go")
    session.append_message(answer(text("First.")))
    session.append_message(answer(text("Second."), call("a")))
    session.append_message(result("a", "x"))
    session.append_message(answer(call("b")))
    session.append_message(result("b", "y"))

    made = convert(session.transcript, CLAUDE_CODE, HEADER)

    found = [json.loads(line) for line in made.data.splitlines()]
    ids = [record["message"]["id"] for record in spoken(found) if record["type"] == "assistant"]
    assert ids[0] == ids[1] != ids[2]
    assert any("joined with the answer before it" in change.why for change in made.fidelity.approximated)


def test_thinking_is_left_out_and_the_report_says_so(session):
    session.append_message("go")
    session.append_message(answer({"type": "thinking", "thinking": "hm"}))
    session.append_message(answer({"type": "thinking", "thinking": "hm"}, text("Done.")))

    made = convert(session.transcript, CLAUDE_CODE, HEADER)

    assert b"hm" not in made.data
    assert [change.why for change in made.fidelity.lost] == [CLAUDE_CODE.traits.unsupported["thinking"]]
    assert any("without its thinking" in change.why for change in made.fidelity.approximated)


def test_hidden_context_of_an_extension_is_hidden_here_too(session):
    session.append_message("go")
    session.append_custom_message("notes", "remember", display=False)

    assert [record.get("isMeta") for record in spoken(records(session))] == [None, True]


# -- compactions ------------------------------------------------------------------------------------------


def test_the_messages_that_a_compaction_keeps_follow_its_summary_and_are_one_in_the_tree(session):
    session.append_message("old")
    first = session.append_message("kept question")
    session.append_message(answer(text("kept answer")))
    session.append_compaction("what was said", first, 1234)
    session.append_message("new")

    found = records(session)

    boundary = next(record for record in found if record.get("subtype") == "compact_boundary")
    (behind,) = chains(found, boundary["uuid"])
    assert boundary["parentUuid"] is None
    assert "preservedSegment" not in boundary["compactMetadata"]  # which holds for every branch of a file
    assert "what was said" in behind[0]
    assert behind[1:] == ["kept question", "kept answer", "new"]
    made = written(convert(session.transcript, CLAUDE_CODE, HEADER).data, CLAUDE_CODE)
    assert said(made) == said(session.transcript)
    roles = [made.tree.roles[position] for position in made.tree.path_positions(made.reading.leaf)]
    assert list(filter(None, roles)) == ["user", "user", "assistant", "user"]


def test_branches_that_leave_an_answer_before_its_result_do_not_share_it(session):
    session.append_message("go")
    asked = session.append_message(answer(call("c1", "bash")))
    session.append_message(result("c1", "one"))
    session.append_message("abandoned")
    session.branch(asked)
    session.append_message(result("c1", "two"))
    session.append_message("active")

    found = records(session)

    first = next(record for record in found if record.get("parentUuid", "") is None and "uuid" in record)
    assert chains(found, first["uuid"]) == [
        ["call", "one", "abandoned"],
        ["call", "two", "active"],
    ]
    answers = [record for record in found if record["type"] == "assistant"]
    assert len({record["message"]["id"] for record in answers}) == 2
    made = written(convert(session.transcript, CLAUDE_CODE, HEADER).data, CLAUDE_CODE)
    assert said(made) == said(session.transcript)
    assert len(made.reading.repeated) == 1
    roles = [made.tree.roles[position] for position in made.tree.path_positions(made.reading.leaf)]
    assert list(filter(None, roles)) == ["user", "assistant", "toolResult", "user"]


def chains(found: list[dict[str, Any]], start: str) -> list[list[str]]:
    """What the program finds on each branch below a record, by ``parentUuid`` alone."""
    below: dict[str, list[dict[str, Any]]] = {}
    for record in found:
        below.setdefault(record.get("parentUuid") or "", []).append(record)
    lines: list[list[str]] = []
    waiting: list[tuple[str, list[str]]] = [(start, [])]
    while waiting:
        uuid, line = waiting.pop()
        children = [record for record in below.get(uuid, ()) if "uuid" in record]
        if not children:
            lines.append(line)
        waiting += [(record["uuid"], [*line, heard(record)]) for record in reversed(children)]
    return lines


def heard(record: dict[str, Any]) -> str:
    content = record["message"]["content"]
    parts = [{"text": content}] if isinstance(content, str) else content
    return "".join(
        part.get("text") or ("call" if part["type"] == "tool_use" else heard({"message": part}))
        for part in parts
    )


def test_a_compaction_without_a_summary_says_nothing(session):
    session.append_message("old")
    first = session.append_message("kept")
    session.append_compaction("", first, 10)
    session.append_message("new")

    found = records(session)

    boundary = next(record for record in found if record.get("subtype") == "compact_boundary")
    assert chains(found, boundary["uuid"]) == [["kept", "new"]]
    assert not any(record.get("isCompactSummary") for record in found)


def test_a_second_compaction_that_keeps_what_the_first_kept_holds_it_again(session):
    first = session.append_message("kept twice")
    session.append_compaction("one", first, 1)
    session.append_message("between")
    session.append_compaction("two", first, 2)

    made = convert(session.transcript, CLAUDE_CODE, HEADER)

    assert said(written(made.data, CLAUDE_CODE)) == said(session.transcript)


# -- branches ---------------------------------------------------------------------------------------------


def test_a_whole_tree_is_one_file_with_the_active_branch_last(session):
    first = session.append_message("start")
    session.append_message(answer(text("left")))
    session.branch(first)
    session.append_message(answer(text("middle")))
    session.branch(first)
    session.append_message(answer(text("right")))
    session.branch(session.path()[0])
    session.append_message("active")

    found = written(convert(session.transcript, CLAUDE_CODE, HEADER).data, CLAUDE_CODE)

    top = found.tree.root_positions()[-1]
    assert len(found.tree.child_positions(top)) == 4
    assert said(found) == said(session.transcript)
    assert not found.findings


def test_standing_inside_the_tree_repeats_the_record_so_that_the_program_stops_there(session):
    session.append_message("start")
    inner = session.append_message(answer(text("here")))
    session.append_message("further")
    session.branch(inner)

    found = records(session)

    leaf = next(record for record in found if record.get("uuid") == found[-1]["leafUuid"])
    assert leaf["message"]["content"] == [{"type": "text", "text": "here"}]
    assert said(written(convert(session.transcript, CLAUDE_CODE, HEADER).data, CLAUDE_CODE)) == said(
        session.transcript
    )


def test_a_title_is_what_the_picker_shows(session):
    session.append_message("start")
    session.set_title("Auth refactor")

    found = records(session)

    assert [one["customTitle"] for one in found if one["type"] == "custom-title"] == ["Auth refactor"]
    assert found[-1]["lastPrompt"] == "start"


# -- there and back ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["pi", "zot", "operator"])
def test_what_comes_back_says_the_same_to_a_model(program):
    for path in samples(program)[:12]:
        source = read(path.read_bytes(), name=str(path))
        there = convert(source, CLAUDE_CODE, HEADER)
        if there.fidelity.lost or source.leaf is None:
            continue

        back = convert(written(there.data, CLAUDE_CODE), PI, HEADER)

        assert said(read(back.data, PI), target=CLAUDE_CODE) == said(source, target=CLAUDE_CODE), path


def test_a_fork_of_a_claude_session_ends_at_an_entry_under_a_new_id():
    path = next(
        path for path in samples("claude-code") if len(read(path.read_bytes(), name=str(path)).tree) > 8
    )
    source = read(path.read_bytes(), name=str(path))
    leaf = source.tree.nearest_conversation_entry(source.reading.leaf)
    leaf = source.tree.nearest_conversation_entry(source.tree.parents[leaf])

    made = convert(source, CLAUDE_CODE, HEADER, leaf=leaf)

    found = written(made.data, CLAUDE_CODE)
    assert said(found, target=CLAUDE_CODE) == said(source, leaf, target=CLAUDE_CODE)
    assert list(found.reading.session_ids) == [HEADER.id]


def test_an_id_that_is_no_uuid_is_refused(session):
    session.append_message("start")

    with pytest.raises(NotSupported, match="not a UUID"):
        convert(session.transcript, CLAUDE_CODE, Header(id="talk", version=3))


# -- where it lies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cwd", "slug"),
    [("/home/u/my.proj_x", "-home-u-my-proj-x"), ("/srv/Grün e", "-srv-Gr-n-e")],
)
def test_the_directory_is_named_after_the_project(cwd, slug):
    (found,) = CLAUDE_CODE.home.new_directories(Header(id="x", cwd=cwd), {}, "/home/u")

    assert found == f"/home/u/.claude/projects/{slug}"


def test_a_long_path_needs_a_directory_that_the_program_made():
    (found,) = CLAUDE_CODE.home.new_directories(Header(id="x", cwd="/" + "a" * 300), {}, "/home/u")

    assert found == "/home/u/.claude/projects/-" + "a" * 199 + "-??????"


def test_a_session_that_is_listed_by_its_first_prompt_is_so_in_claude_code():
    """Claude Code lists a session without a title by its last prompt."""
    time = "2026-11-15T22:07:30.000Z"
    lines = b"".join(
        json.dumps(line).encode() + b"\n"
        for line in (
            {"sessionId": "s", "projectHash": "0", "startTime": time},
            {"id": "a", "timestamp": time, "type": "user", "content": [{"text": "Build a zeppelin"}]},
            {"id": "b", "timestamp": time, "type": "gemini", "content": "Done."},
            {"id": "c", "timestamp": time, "type": "user", "content": [{"text": "Thanks"}]},
        )
    )
    source = EntryLog(GEMINI, lambda offset, size: lines[offset : offset + size])

    made = convert(source, CLAUDE_CODE, HEADER).data

    records = [json.loads(line) for line in made.splitlines()]
    titles = [record["customTitle"] for record in records if record["type"] == "custom-title"]
    assert titles == ["Build a zeppelin"]
    assert records[-1]["lastPrompt"] == "Thanks"
