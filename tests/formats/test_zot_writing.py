"""Sessions of zot as they are written: rows byte by byte, what is refused, forks and portable files."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from branchline import Session
from branchline.actions.export import ENDINGS
from branchline.clock import FixedClock
from branchline.context import build_context, totals
from branchline.entries import (
    AssistantMessage,
    CompactionSummaryMessage,
    Cost,
    Header,
    Image,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownBlock,
    Usage,
    UsageEntry,
    UserMessage,
    message_text,
)
from branchline.errors import NotASession, NotSupported, ReadOnly
from branchline.formats.zot import ZOT, export_portable, import_portable
from formats.zot_kit import HEADER, META, START, content, live, message, read, sample, usage

OTHER_META = META.replace(b"claude-sonnet-4-5", b"gpt-5.1").replace(b'"anthropic"', b'"openai"')
PICTURE = "iVBORw0KGgo="
ANSWER = AssistantMessage(
    content=(Text(text="Done."),),
    provider="anthropic",
    model="claude-sonnet-4-5",
    stop_reason="stop",
    usage=Usage(input=1000, output=100, total_tokens=1100, cost=Cost(total=0.01)),
)
ASKING = AssistantMessage(
    content=(
        Thinking(
            thinking="Read the file first.",
            thinking_signature='{"type":"reasoning","id":"rs_0a1b2c","encrypted_content":"b3BhcXVl","summary":'
            '[{"type":"summary_text","text":"Read the file first."}]}',
        ),
        Text(text="Let me look."),
        ToolCall(id="call_1", name="read", arguments={"path": "main.go"}),
        ToolCall(
            id="call_2", name="bash", arguments={"command": "go build ./...", "timeout": 12345678901234567890}
        ),
    ),
    stop_reason="toolUse",
)
RESULTS = (
    ToolResult(
        tool_call_id="call_1",
        tool_name="read",
        content=(Text(text="package main\n"), Image(data=PICTURE, mime_type="image/png")),
        is_error=False,
    ),
    ToolResult(tool_call_id="call_2", tool_name="bash", content=(Text(text="exit status 2"),), is_error=True),
)


def appended(session: Session, before: bytes) -> bytes:
    """What was written behind these bytes; nothing before it has changed."""
    now = content(session)
    assert now.startswith(before)
    return now[len(before) :]


def require_same_after_reopening(session: Session) -> None:
    again = read(content(session))
    assert again.tree.keys == session.index.keys
    assert again.leaf == session.leaf
    assert again.reading.title == session.title
    assert again.entries(range(len(again.tree))) == session.entries()


def entries_of(*messages) -> list[MessageEntry]:
    """Entries for these messages, each below the one before it; the first below the meta row."""
    made = []
    parent = read(META).tree.keys[0]
    for number, said in enumerate(messages):
        made.append(
            MessageEntry(id=f"new{number}", parent=parent, timestamp="2026-11-15T06:36:11.5Z", message=said)
        )
        parent = made[-1].id
    return made


# -- appending --------------------------------------------------------------------------------------------


def test_a_message_is_a_row_as_zot_writes_it():
    session = live(META)

    session.append_message("is 1 < 2 & \u2028 \u0085 é?")

    row = (
        '{"type":"message","message":{"role":"user","content":[{"text":"is 1 \\u003c 2 \\u0026 \\u2028 \u0085 é?"}],'
        '"time":"2027-01-15T08:00:00Z"}}\n'
    )
    assert appended(session, META) == row.encode()
    require_same_after_reopening(session)


def test_an_answer_comes_after_the_total_of_what_was_spent():
    data = META + message("user", {"text": "hi"}) + usage(tokens=1000, cost=0.02)
    session = live(data)

    session.append_message(ANSWER)

    total = '{"input_tokens":2000,"output_tokens":200,"cache_read_tokens":0,"cache_write_tokens":0,"cost_usd":0.03}'
    assert appended(session, data).decode() == (
        f'{{"type":"usage","usage":{total},"cumulative":{total}}}\n'
        '{"type":"message","message":{"role":"assistant","content":[{"text":"Done."}],"time":"2027-01-15T08:00:00Z"}}\n'
    )
    require_same_after_reopening(session)
    assert session.usage().all.total.cost == pytest.approx(0.03)


def test_an_answer_of_another_model_comes_after_a_complete_meta_row_with_the_title():
    data = META + message("user", {"text": "hi"}) + b'{"title":"fix the build","type":"rename"}\n'
    session = live(data)

    session.append_message(AssistantMessage(content=(Text(text="ok"),), provider="openai", model="gpt-5.1"))

    first, second, _ = appended(session, data).split(b"\n")
    assert first + b"\n" == OTHER_META[:-3] + b',"title":"fix the build"}}\n'
    assert json.loads(second)["message"]["role"] == "assistant"
    entry = session.entry(session.leaf or "")
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, AssistantMessage)
    assert entry.message.model == "gpt-5.1"


@pytest.mark.parity("ZOT-12")
def test_the_results_of_one_answer_go_into_one_row():
    data = ZOT.writer.encode(entries_of(ASKING, *RESULTS), read(META).reading)

    assert data.decode() == (
        '{"type":"message","message":{"role":"assistant","content":[{"reasoning_id":"rs_0a1b2c",'
        '"summary":"Read the file first.","encrypted_content":"b3BhcXVl"},{"text":"Let me look."},'
        '{"id":"call_1","name":"read","arguments":{"path":"main.go"}},{"id":"call_2","name":"bash",'
        '"arguments":{"command":"go build ./...","timeout":12345678901234567890}}],"time":"0001-01-01T00:00:00Z"}}\n'
        '{"type":"message","message":{"role":"tool","content":[{"call_id":"call_1","content":[{"text":"package main\\n"},'
        '{"mime_type":"image/png","data":"iVBORw0KGgo="}],"is_error":false},{"call_id":"call_2","content":'
        '[{"text":"exit status 2"}],"is_error":true}],"time":"0001-01-01T00:00:00Z"}}\n'
    )
    found = read(META + data)
    assert [entry.message for entry in found.entries(range(2, 4))] == list(RESULTS)


def test_the_result_of_a_single_call_is_appended_alone():
    session = live(META + message("assistant", {"id": "c", "name": "read", "arguments": {}}))

    session.append_message(
        ToolResult(tool_call_id="c", tool_name="read", content=(Text(text="ok"),), details={"n": 1})
    )

    entry = session.entry(session.leaf or "")
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, ToolResult)
    assert (entry.message.tool_name, entry.message.details) == ("read", {"n": 1})
    require_same_after_reopening(session)


@pytest.mark.parametrize(
    "results", [RESULTS[:1], RESULTS[1:], (*RESULTS, RESULTS[0])], ids=["one", "other", "twice"]
)
def test_results_that_would_not_fill_their_row_are_refused(results):
    with pytest.raises(NotSupported, match="together"):
        ZOT.writer.encode(entries_of(ASKING, *results), read(META).reading)


def test_a_result_that_nobody_asked_for_is_refused():
    session = live(META + message("user", {"text": "hi"}))

    with pytest.raises(NotSupported):
        session.append_message(RESULTS[0])


def test_an_answer_without_content_is_written_with_null():
    session = live(META)

    session.append_message(AssistantMessage(content=(), stop_reason="error", error_message="429"))

    row = json.loads(appended(session, META))
    assert row["message"]["content"] is None
    entry = session.entry(session.leaf or "")
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, AssistantMessage)
    assert (entry.message.stop_reason, entry.message.error_message) == ("error", "429")


@pytest.mark.parity("ZOT-10")
def test_a_model_change_is_a_complete_meta_row_and_in_force_after_reopening():
    session = live(META)

    session.append_model_change("openai", "gpt-5.1")

    assert appended(session, META) == OTHER_META
    require_same_after_reopening(session)
    model = session.context().model
    assert model is not None
    assert (model.provider, model.id) == ("openai", "gpt-5.1")


def test_a_title_is_a_rename_row():
    session = live(META)

    session.set_title("fix the build")

    assert appended(session, META) == b'{"title":"fix the build","type":"rename"}\n'
    assert session.title == "fix the build"
    require_same_after_reopening(session)


@pytest.mark.parity("ZOT-11")
def test_usage_is_added_to_the_running_total():
    data = META + usage(tokens=10, cost=0.1)
    session = live(data)

    session.append_usage("warm", Usage(input=5, output=1, cost=Cost(total=0.2)))

    row = json.loads(appended(session, data))
    assert row["usage"] == row["cumulative"]
    assert (row["cumulative"]["input_tokens"], row["cumulative"]["cost_usd"]) == (15, 0.3)
    entry = session.entries()[-1]
    assert isinstance(entry, UsageEntry)
    assert entry.usage is not None
    assert (entry.usage.input, entry.usage.cost.total) == (5, pytest.approx(0.2))


def test_what_zot_has_no_field_for_is_kept_where_zot_does_not_look():
    said = AssistantMessage(
        content=(Thinking(thinking="hm", thinking_signature="sig"), Text(text="ok", text_signature="t")),
        api="anthropic-messages",
        provider="anthropic",
        model="claude-sonnet-4-5",
        stop_reason="length",
        timestamp=START,
    )
    session = live(META)

    session.append_message(said)

    row = json.loads(appended(session, META))["message"]
    assert row["content"] == [{"summary": "hm"}, {"text": "ok"}]
    assert all(isinstance(value, str) for value in row["meta"].values())
    entry = session.entry(session.leaf or "")
    assert isinstance(entry, MessageEntry)
    assert entry.message == said


# -- refusing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb",
    [
        lambda session: session.append_label(session.path()[0], "good"),
        lambda session: session.branch(session.path()[0]),
        lambda session: session.reset(),
        lambda session: session.branch_with_summary(session.path()[0], "was bad"),
        lambda session: session.append_compaction("short"),
        lambda session: session.append_thinking_level_change("high"),
        lambda session: session.append_custom("x", {}),
        lambda session: session.append_custom_message("x", "y"),
        lambda session: session.append_context_edit(session.path()[-1], None),
        lambda session: session.set_title(""),
        lambda session: session.append_message({"role": "bashExecution", "command": "ls", "output": ""}),
        lambda session: session.append_message(UserMessage(content=(UnknownBlock(type="video", fields={"type": "video"}),))),
    ],
    ids=["label", "branch", "reset", "summary", "compaction", "thinking", "custom", "custom message",
         "edit", "no title", "bash", "block"],
)  # fmt: skip
def test_what_zot_cannot_hold_is_refused_with_a_reason_and_nothing_is_written(verb):
    data = META + message("user", {"text": "hi"}) + message("assistant", {"text": "ho"})
    session = live(data)
    before = session.leaf

    with pytest.raises(NotSupported, match="native session"):
        verb(session)

    assert content(session) == data
    assert session.leaf == before


def test_going_on_from_where_somebody_else_has_gone_on_is_refused(tmp_path):
    path = tmp_path / "20261115-063609-c16e23b8.jsonl"
    path.write_bytes(META + message("user", {"text": "hi"}))
    with (
        Session.open(path, clock=FixedClock(START)) as one,
        Session.open(path, clock=FixedClock(START)) as other,
    ):
        other.append_message("me first")

        with pytest.raises(NotSupported, match="refresh"):
            one.append_message("no, me")
        one.refresh()
        one.append_message("then me")

    assert [message_text(e.message) for e in read(path).entries(range(1, 4))] == ["hi", "me first", "then me"]


def test_a_torn_row_is_closed_before_the_next_one(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(sample("torn-tail").read_bytes())
    before = path.read_bytes()

    with Session.open(path, clock=FixedClock(START)) as session:
        session.append_message("after the tear")

    after = path.read_bytes()
    assert after.startswith(before + b"\n{")
    assert [finding.kind for finding in read(path).findings] == ["unreadable"]


# -- new files --------------------------------------------------------------------------------------------


def test_a_new_session_begins_with_a_meta_row_and_is_named_by_time_and_id():
    header = Header(
        id="c16e23b8-0dad-4288-853f-6657b00cae58",
        timestamp="2026-11-15T06:36:09.643617647Z",
        cwd="/home/dev/acme",
        metadata={"provider": "anthropic", "model": "claude-sonnet-4-5"},
    )

    assert ZOT.writer.encode_header(header) == META
    assert ZOT.home.file_key(header) == "20261115-063609-c16e23b8"


@pytest.mark.parity("ZOT-01")
def test_a_fork_holds_the_rows_up_to_an_entry_and_names_its_parent():
    parent, fork = read(sample("43d9df14")), sample("8812b373")
    leaf = parent.tree.positions[
        next(
            key
            for key in parent.tree.keys
            if parent.entry(parent.tree.positions[key]).type == "message"
            and message_text(parent.entry(parent.tree.positions[key]).message) == "answer 1"
        )
    ]
    started = read(fork).reading.header
    assert started is not None

    data = ZOT.writer.fork(parent, leaf, Header(id=started.id, timestamp=started.timestamp, cwd=started.cwd))

    assert data == b"".join(fork.read_bytes().splitlines(keepends=True)[:4])


def test_the_fork_is_the_one_that_zot_makes():
    parent = read(sample("43d9df14"))
    fork = sample("7d292eb4")
    made = read(fork).reading.header
    assert made is not None
    third = [place for place, kind in enumerate(parent.tree.types) if kind == "message"][2]

    assert (
        ZOT.writer.fork(parent, third, Header(id=made.id, timestamp=made.timestamp, cwd=made.cwd))
        == fork.read_bytes()
    )


def test_a_fork_takes_title_and_model_in_force_and_a_whole_row_of_results():
    parent = read(sample("468d3552"))
    first_result = parent.tree.roles.index("toolResult")

    found = read(ZOT.writer.fork(parent, first_result, HEADER))

    assert found.reading.title == "fix the build"
    assert found.tree.roles.count("toolResult") == 2
    assert found.reading.header is not None
    assert found.reading.header.metadata == {
        "provider": "openai", "model": "gpt-5-codex", "version": "0.1.62", "fork_point": 3,
    }  # fmt: skip
    assert found.reading.inherited_entries == len(found.tree)


def test_a_fork_before_everything_is_a_meta_row():
    data = ZOT.writer.fork(read(sample("43d9df14")), -1, HEADER)

    assert data.count(b"\n") == 1
    assert b"fork_point" not in data
    assert b'"parent":"43d9df14' in data


def test_a_compacted_fork_begins_with_the_summary_and_keeps_the_cost():
    parent = read(sample("43d9df14"))
    messages = [place for place, kind in enumerate(parent.tree.types) if kind == "message"]

    data = ZOT.writer.fork_compacted(
        parent,
        messages[-1],
        HEADER,
        summary=CompactionSummaryMessage(summary="## Goal\nship it\n", tokens_before=84211, timestamp=START),
        first_kept=messages[4],
    )

    assert data.splitlines()[1] == (
        b'{"type":"message","message":{"role":"user","content":[{"text":"## Context Summary (compacted)\\n\\n'
        b'## Goal\\nship it\\n"}],"time":"2027-01-15T08:00:00Z","meta":{"compaction":"true","tokens_before":"84211"}}}'
    )
    found = read(data)
    context = [message_text(item.message) for item in build_context(found, found.reading.leaf).messages]
    assert context[1:] == ["do step two", "answer 3"]
    assert context[0].endswith("## Goal\nship it\n")
    spent = totals(found, inherited_entries=found.reading.inherited_entries)
    assert (spent.inherited.total.cost, spent.own.total.cost) == (pytest.approx(0.03), 0)
    assert b'"fork_point":6' in data


def test_a_copy_has_every_row_under_a_new_id():
    source = read(sample("5b9d6080"))

    found = read(ZOT.writer.copy(source, HEADER))

    assert found.reading.header is not None
    assert found.reading.header.id == HEADER.id
    assert found.reading.title == "second name"
    assert found.tree.types == source.tree.types
    before = [source.raw(place) for place, kind in enumerate(source.tree.types) if kind != "model_change"]
    assert [
        found.raw(place) for place, kind in enumerate(found.tree.types) if kind != "model_change"
    ] == before
    assert [e.model_id for e in found.entries(range(len(found.tree))) if e.type == "model_change"] == [
        "claude-sonnet-4-5",
        "gpt-5.1",
    ]


# -- portable files ---------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-17")
@pytest.mark.parametrize(
    ("session", "exported"),
    [
        ("7d292eb4", "exports/20261115-072815-7d292eb4.zotsession"),
        ("9a90cf58", "exports/unpaired.zotsession"),
    ],
)
def test_an_export_is_the_one_that_zot_makes(session, exported):
    path = sample(session)

    data = export_portable(read(path))

    assert data == (path.parents[2] / exported).read_bytes()


@pytest.mark.parity("ZOT-17")
def test_an_import_is_the_one_that_zot_makes():
    imported = sample("f90498b4")
    made = read(imported).reading.header
    assert made is not None
    exported = (imported.parents[2] / "exports/20261115-072815-7d292eb4.zotsession").read_bytes()

    data = import_portable(exported, Header(id=made.id, timestamp=made.timestamp, cwd=made.cwd))

    assert data == imported.read_bytes()


def test_an_export_has_the_name_that_zot_gives_it():
    header = read(sample("7d292eb4")).reading.header
    assert header is not None

    assert ZOT.home.file_key(header) + ENDINGS["zotsession"] == "20261115-072815-7d292eb4.zotsession"


def test_an_export_leaves_out_later_meta_rows_and_keeps_renames_and_unknown_rows():
    data = (
        META + b'{"title":"t","type":"rename"}\n' + OTHER_META + b'{"type":"bookmark","at":1}\n' + b"\0\0\n"
    )

    exported = export_portable(read(data))

    assert (
        exported
        == META.replace(b'"/home/dev/acme"', b'""')
        + b'{"title":"t","type":"rename"}\n{"type":"bookmark","at":1}\n'
    )


def test_what_does_not_say_which_session_it_is_is_neither_exported_nor_imported():
    with pytest.raises(NotSupported):
        export_portable(read(sample("bad-first-meta")))
    with pytest.raises(NotASession):
        import_portable(message("user", {"text": "x"}) + META, HEADER)


def test_a_user_message_with_a_picture_is_read_as_it_was_written():
    said = UserMessage(
        content=(Text(text="what is in this picture"), Image(data=PICTURE, mime_type="image/png")),
        timestamp=START,
    )
    session = live(META)

    session.append_message(said)

    assert appended(session, META).decode() == (
        '{"type":"message","message":{"role":"user","content":[{"text":"what is in this picture"},'
        '{"mime_type":"image/png","data":"iVBORw0KGgo="}],"time":"2027-01-15T08:00:00Z"}}\n'
    )
    entry = session.entry(session.leaf or "")
    assert isinstance(entry, MessageEntry)
    assert entry.message == said


HOLDER = """
import os, sys
held = os.open(sys.argv[1], os.O_WRONLY | (os.O_APPEND if sys.argv[2] == "append" else 0))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how other programs have a file open")
@pytest.mark.parametrize("mode", ["offset", "append"])
def test_a_session_that_a_program_has_open_without_append_mode_is_not_appended_to(tmp_path, mode):
    path = tmp_path / "20261115-063609-c16e23b8.jsonl"
    path.write_bytes(ZOT.required_writer().encode_header(HEADER))
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"

        with Session.open(path) as session:
            refused: AbstractContextManager[Any] = nullcontext()
            if mode == "offset":
                refused = pytest.raises(ReadOnly, match=rf"process {holder.pid}\) has it open .* in a fork")
            with refused:
                session.append_message("hello")
            holder.communicate()
            session.append_message("once it is closed")

    assert path.read_bytes().count(b'"hello"') == (mode == "append")
    assert path.read_bytes().count(b'"once it is closed"') == 1


@pytest.mark.parametrize(
    "content",
    [(Thinking(thinking="hm", thinking_signature="s"),), (Text(text=""),), (Thinking(thinking=""),)],
)
def test_a_message_that_would_be_empty_for_zot_has_no_content_there_and_is_whole_here(content):
    session = live(META)
    answer = AssistantMessage(
        content=content, provider="anthropic", model="claude-sonnet-4-5", timestamp=START
    )

    key = session.append_message(answer)

    row = json.loads(session.transcript.raw(session.index.position(key)))
    assert row["message"]["content"] is None
    stored = session.entry(key)
    assert isinstance(stored, MessageEntry)
    assert isinstance(stored.message, AssistantMessage)
    assert stored.message.content == content
