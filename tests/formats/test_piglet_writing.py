"""Sessions of piglet as they are written: lines byte by byte, where piglet finds them, forks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from branchline import Session
from branchline.clock import FixedClock
from branchline.conversion import convert
from branchline.entries import (
    AssistantMessage,
    Compaction,
    Cost,
    CustomMessage,
    Header,
    Image,
    MessageEntry,
    ModelChange,
    SessionInfo,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownBlock,
    Usage,
    UserMessage,
    message_text,
)
from branchline.errors import NothingToCompact, NotSupported
from branchline.formats.piglet import PIGLET
from formats.piglet_kit import (
    HEADER,
    META,
    START,
    answer,
    as_piglet,
    content,
    letters,
    line,
    live,
    read,
    said,
    sample,
    user,
)

TALK = META + user("aaaaaaaa", None, "one") + answer("bbbbbbbb", "aaaaaaaa", "two")
ONE, TWO, THREE = (f"{number:016x}" for number in (1, 2, 3))


def appended(session: Session, before: bytes = TALK) -> str:
    """What was written behind these bytes; nothing before it has changed, and piglet stands where we stand."""
    now = content(session)
    assert now.startswith(before)
    again = read(now)
    assert again.leaf == session.leaf
    assert again.tree.keys == session.index.keys
    assert again.entries(range(len(again.tree))) == session.entries()
    piglet = as_piglet(now)
    assert piglet["path"] == [
        again.tree.keys[position] for position in again.tree.path_positions(again.reading.leaf)
    ]
    assert piglet["context"] == letters(said(again))
    return now[len(before) :].decode()


def write(session: Session, entry: Any) -> list[str]:
    """Append a record as the session does, with what the session would give it."""
    common = {"id": ONE, "parent": session.leaf, "timestamp": "2027-01-15T08:00:00.250Z"}
    return session._writer.append(lambda: [entry(**common)])


# -- appending --------------------------------------------------------------------------------------------


@pytest.mark.parity("PIG-01")
def test_a_prompt_is_a_line_as_piglet_writes_it():
    session = live(TALK)

    session.append_message("is 1 < 2 & \u2028?")

    assert appended(session) == (
        f'{{"type":"user","id":"{ONE}","parentId":"bbbbbbbb","ts":"2027-01-15T08:00:01Z","data":'
        '{"content":"is 1 \\u003c 2 \\u0026 \\u2028?","timestamp":"2027-01-15T08:00:00Z"}}\n'
    )


def test_a_prompt_with_a_picture_has_its_words_first_and_blocks_behind():
    session = live(META)

    session.append_message(
        UserMessage(
            content=(
                Text(text="what is this"),
                Image(data="iVBORw0KGgo=", mime_type="image/png"),
                Text(text="extra block"),
            )
        )
    )

    assert appended(session, META) == (
        f'{{"type":"user","id":"{ONE}","ts":"2027-01-15T08:00:01Z","data":{{"content":"what is this","blocks":'
        '[{"data":"iVBORw0KGgo=","mimeType":"image/png"},{"text":"extra block"}],"timestamp":"2027-01-15T08:00:00Z"}}\n'
    )


def test_an_answer_is_a_line_as_piglet_writes_it():
    session = live(TALK)

    session.append_message(
        AssistantMessage(
            content=(
                Thinking(thinking="read the file first"),
                Text(text="Let me look."),
                ToolCall(
                    id="call_1",
                    name="read",
                    arguments={"path": "main.go", "line": 1},
                    thought_signature="abc==",
                ),
            ),
            provider="google",
            model="gemini-3-pro",
            usage=Usage(input=5000, output=300, total_tokens=5300, cost=Cost(total=0.00001)),
            stop_reason="toolUse",
        )
    )

    assert appended(session) == (
        f'{{"type":"assistant","id":"{ONE}","parentId":"bbbbbbbb","ts":"2027-01-15T08:00:01Z","data":{{"content":'
        '[{"thinking":"read the file first"},{"text":"Let me look."},{"id":"call_1","name":"read","arguments":'
        '{"line":1,"path":"main.go"},"providerMeta":{"thoughtSignature":"abc=="}}],"model":"gemini-3-pro",'
        '"provider":"google","usage":{"inputTokens":5000,"outputTokens":300,"cacheReadTokens":0,"cacheWriteTokens":0,'
        '"cost":0.00001},"stopReason":"toolUse","timestamp":"2027-01-15T08:00:00Z"}}\n'
    )


def test_a_failed_answer_has_null_for_its_content():
    session = live(TALK)

    session.append_message(
        AssistantMessage(
            content=(),
            provider="google",
            model="gemini-3-pro",
            usage=Usage(),
            stop_reason="error",
            error_message="429 rate limited",
        )
    )

    data = json.loads(appended(session))["data"]
    assert list(data) == ["content", "model", "provider", "usage", "stopReason", "error", "timestamp"]
    assert (data["content"], data["error"]) == (None, "429 rate limited")


def test_a_result_is_a_line_of_its_own():
    session = live(TALK)

    session.append_message(
        ToolResult(
            tool_call_id="call_1", tool_name="read", content=(Text(text="package main\n"),), is_error=False
        )
    )

    assert appended(session) == (
        f'{{"type":"tool_result","id":"{ONE}","parentId":"bbbbbbbb","ts":"2027-01-15T08:00:01Z","data":'
        '{"toolCallId":"call_1","toolName":"read","content":[{"text":"package main\\n"}],"isError":false,'
        '"timestamp":"2027-01-15T08:00:00Z"}}\n'
    )


def test_what_piglet_has_no_field_for_is_kept_where_piglet_does_not_look():
    message = AssistantMessage(
        content=(Thinking(thinking="hm", thinking_signature="sig"), Text(text="ok")),
        api="anthropic-messages",
        provider="anthropic",
        model="claude",
        stop_reason="stop",
        usage=Usage(
            input=1, output=2, reasoning=1, total_tokens=3, cost=Cost(input=0.1, output=0.2, total=0.3)
        ),
        timestamp=START,
    )
    session = live(TALK)

    session.append_message(message)

    assert list(json.loads(appended(session))["data"])[-1] == "branchline"
    entry = session.entry(ONE)
    assert isinstance(entry, MessageEntry)
    assert entry.message == message


@pytest.mark.parity("PIG-03")
def test_data_of_an_extension_is_in_the_tree_and_not_in_the_messages():
    session = live(TALK)

    session.append_custom("ext:memory:facts", {"facts": ["uses postgres"], "count": 1})

    assert appended(session) == (
        f'{{"type":"ext:memory:facts","id":"{ONE}","parentId":"bbbbbbbb","ts":"2027-01-15T08:00:00Z","data":'
        '{"count":1,"facts":["uses postgres"]}}\n'
    )
    assert session.leaf == "bbbbbbbb"
    assert ONE in session.index


@pytest.mark.parity("PIG-04")
def test_what_an_extension_says_is_in_the_messages():
    session = live(TALK)

    session.append_custom_message("memory", "[context] the repo uses postgres")

    data = json.loads(appended(session))["data"]
    assert (data["role"], data["content"]) == ("user", "[context] the repo uses postgres")
    entry = session.entry(ONE)
    assert isinstance(entry, CustomMessage)
    assert (entry.custom_type, entry.content, entry.display) == (
        "memory",
        "[context] the repo uses postgres",
        True,
    )


@pytest.mark.parity("PIG-05")
def test_a_label_is_a_node_behind_the_leaf_and_the_next_message_its_child():
    session = live(TALK)

    session.append_label("aaaaaaaa", "good plan")
    session.append_message("go on")
    session.append_label("aaaaaaaa", None)

    label, message, cleared = map(json.loads, appended(session).splitlines())
    assert label == {
        "type": "label", "id": ONE, "parentId": "bbbbbbbb", "ts": "2027-01-15T08:00:00Z",
        "data": {"targetId": "aaaaaaaa", "label": "good plan"},
    }  # fmt: skip
    assert message["parentId"] == ONE
    assert cleared["data"] == {"targetId": "aaaaaaaa", "label": ""}
    assert session.path() == ["aaaaaaaa", "bbbbbbbb", TWO]
    assert session.labels == {}


@pytest.mark.parity("PIG-06")
def test_a_branch_is_a_summary_without_words_and_survives_a_reload():
    session = live(TALK)

    session.branch("aaaaaaaa")

    assert appended(session) == (
        f'{{"type":"branch_summary","id":"{ONE}","parentId":"aaaaaaaa","ts":"2027-01-15T08:00:00Z","data":'
        '{"summary":"","fromId":"bbbbbbbb"}}\n'
    )
    assert session.leaf == "aaaaaaaa"
    session.append_message("another way")
    assert json.loads(appended(session).splitlines()[1])["parentId"] == ONE
    assert session.path() == ["aaaaaaaa", TWO]


@pytest.mark.parity("PIG-07")
def test_a_branch_with_a_summary_names_the_leaf_that_was_left():
    session = live(TALK)
    session.append_label("bbbbbbbb", "tip")

    session.branch_with_summary("aaaaaaaa", "tried steps one and two")

    move = json.loads(appended(session).splitlines()[1])
    assert move["parentId"] == "aaaaaaaa"
    assert move["data"] == {"summary": "tried steps one and two", "fromId": ONE}
    assert session.leaf == TWO


@pytest.mark.parity("PIG-11")
def test_a_reset_is_a_summary_without_parent_and_the_next_message_its_child():
    session = live(TALK)

    session.reset()

    assert appended(session) == (
        f'{{"type":"branch_summary","id":"{ONE}","ts":"2027-01-15T08:00:00Z","data":{{"summary":"","fromId":"bbbbbbbb"}}}}\n'
    )
    assert session.leaf is None
    assert session.context().messages == []
    session.append_message("a new trunk")
    assert json.loads(appended(session).splitlines()[1])["parentId"] == ONE
    assert session.path() == [TWO]


@pytest.mark.parity("PIG-02")
def test_a_compaction_holds_the_messages_that_replace_everything_before_it():
    session = live(TALK)

    session.append_compaction("Summary of 0-3", tokens_before=84211)
    session.append_message("after compaction")

    first = appended(session).splitlines()[0]
    assert first.startswith(
        f'{{"type":"compact","id":"{ONE}","parentId":"bbbbbbbb","ts":"2027-01-15T08:00:00Z","data":[{{"type":"user",'
        '"ts":"0001-01-01T00:00:00Z","data":{"content":"Summary of 0-3","timestamp":"2027-01-15T08:00:00Z"}}],'
        '"tokensBefore":84211'
    )
    assert [message_text(item.message) for item in session.context().messages] == [
        "Summary of 0-3",
        "after compaction",
    ]


@pytest.mark.parity("PIG-02")
def test_a_compaction_with_a_tail_holds_the_tail():
    session = live(TALK)
    tail = (UserMessage(content=(Text(text="one"),), timestamp=START), AssistantMessage(content=(Text(text="two"),), provider="p", model="m", usage=Usage(), timestamp=START))  # fmt: skip

    write(
        session,
        lambda **common: Compaction(**common, summary="short", retained_tail=tail, details={"files": ["a"]}),
    )

    entry = session.entry(ONE)
    assert isinstance(entry, Compaction)
    assert (entry.summary, entry.retained_tail, entry.details) == ("short", tail, {"files": ["a"]})
    assert as_piglet(content(session))["context"] == "uua"


@pytest.mark.parity("PIG-02")
def test_an_empty_compaction_stays_in_force_after_reopening():
    session = live(TALK)

    write(session, lambda **common: Compaction(**common, summary=""))

    again = read(content(session))
    assert said(again) == []


def test_a_compaction_without_the_messages_that_it_keeps_is_refused():
    session = live(TALK)
    compaction = Compaction(id="c" * 16, parent=session.leaf, summary="short", first_kept="bbbbbbbb")

    with pytest.raises(NotSupported, match="kept messages"):
        PIGLET.writer.encode([compaction], session.transcript.reading)

    assert content(session) == TALK


@pytest.mark.parity("PIG-12")
def test_title_and_model_are_complete_meta_rows():
    session = live(TALK)

    write(session, lambda **common: ModelChange(**common, provider="anthropic", model_id="claude-sonnet-4-6"))
    write(session, lambda **common: SessionInfo(**common, name="Simple hello"))

    meta = '{{"type":"meta","ts":"2027-01-15T08:00:00.25Z","data":{{"id":"46f1d87e-099f-435d-81b6-34ddf53ec43b","cwd":"/home/dev/acme","model":"claude-sonnet-4-6","createdAt":"2026-11-15T06:08:32.726694501Z"{title}}}}}\n'  # fmt: skip
    assert content(session)[len(TALK) :].decode() == meta.format(title="") + meta.format(
        title=',"title":"Simple hello"'
    )
    again = read(content(session)).reading
    assert again.title == "Simple hello"
    assert again.header is not None
    assert again.header.metadata == {"model": "claude-sonnet-4-6"}
    assert again.leaf == session.transcript.reading.leaf == 1


def test_a_title_can_be_taken_away():
    session = live(sample("d733ab8f"))

    write(session, lambda **common: SessionInfo(**common, name=""))

    assert read(content(session)).reading.title is None


def test_a_thinking_level_and_usage_outside_an_answer_are_data_of_ours():
    session = live(TALK)

    session.append_thinking_level_change("high")
    session.append_usage("warm", Usage(input=5, cost=Cost(total=0.5)))

    kinds = [json.loads(text)["type"] for text in appended(session).splitlines()]
    assert kinds == ["ext:branchline:thinking_level_change", "ext:branchline:usage"]
    assert session.context().thinking_level == "high"
    assert session.usage().all.total.cost == pytest.approx(0.501)


# -- where entries hang -----------------------------------------------------------------------------------


@pytest.mark.parity("PIG-14")
def test_an_append_to_a_file_without_ids_names_the_number_of_its_last_line():
    data = sample("d5f178a8").read_bytes()
    session = live(data)

    session.append_message("first message after upgrade")

    assert json.loads(appended(session, data))["parentId"] == "L4"


def test_an_append_under_our_own_leaf_begins_a_branch_when_somebody_else_went_on(tmp_path):
    path = tmp_path / "46f1d87e-099f-435d-81b6-34ddf53ec43b.jsonl"
    path.write_bytes(TALK)
    with (
        Session.open(path, clock=FixedClock(START)) as one,
        Session.open(path, clock=FixedClock(START, seed=7)) as other,
    ):
        other.append_message("me first")
        one.append_message("me too")
        one.append_label("aaaaaaaa", "ours")
        other.append_message("and on")

        assert one.path() == ["aaaaaaaa", "bbbbbbbb", ONE]
        assert [message_text(m) for m in said(other.transcript, other.index.position(other.leaf or ""))] == [
            "one",
            "two",
            "me first",
            "and on",
        ]
    assert as_piglet(path.read_bytes())["context"] == "uauu"


def test_a_parent_whose_id_was_used_again_is_refused():
    data = sample("dup-id").read_bytes()
    session = live(data)

    with pytest.raises(NotSupported, match="same id"):
        session.branch("e16b91c9")
    session.append_message("below the second one")

    assert json.loads(content(session)[len(data) :])["parentId"] == "e16b91c9"
    assert as_piglet(content(session))["path"] == ["3e4e7ff7", "e16b91c9", TWO]
    assert session.path() == ["3e4e7ff7", "e16b91c9#2", TWO]


@pytest.mark.parametrize(
    "verb",
    [
        lambda session: session.append_context_edit("aaaaaaaa", None),
        lambda session: session.append_custom("user", {}),
        lambda session: session.append_custom_message(
            "x", [{"type": "image", "data": "", "mimeType": "image/png"}]
        ),
        lambda session: session.append_message({"role": "bashExecution", "command": "ls", "output": ""}),
        lambda session: session.append_message(
            AssistantMessage(content=(UnknownBlock(type="video", fields={"type": "video"}),))
        ),
    ],
    ids=["edit", "custom", "picture", "bash", "block"],
)
def test_what_piglet_cannot_hold_is_refused_with_a_reason_and_nothing_is_written(verb):
    session = live(TALK)

    with pytest.raises(NotSupported, match="native session"):
        verb(session)

    assert content(session) == TALK
    assert session.leaf == "bbbbbbbb"


def test_a_torn_line_is_closed_before_the_next_one(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(sample("torn-tail").read_bytes())

    with Session.open(path, clock=FixedClock(START)) as session:
        session.append_message("after the tear")

    found = read(path)
    assert found.tree.keys[-2:] == ["ad6f1fdd", session.leaf]
    assert found.tree.parent(session.leaf or "") == "feb3f188"


# -- new files --------------------------------------------------------------------------------------------


def test_a_new_session_begins_with_a_meta_row_and_one_that_names_its_model():
    header = Header(
        id="46f1d87e-099f-435d-81b6-34ddf53ec43b",
        timestamp="2026-11-15T06:08:32.726694501Z",
        cwd="/home/dev/acme",
    )

    assert PIGLET.writer.encode_header(header) == META
    named = PIGLET.writer.encode_header(
        Header(id=header.id, timestamp=header.timestamp, cwd=header.cwd, metadata={"model": "m"})
    )
    assert named.startswith(META)
    assert read(named).reading.model == "m"
    assert PIGLET.home.file_key(header) == header.id


@pytest.mark.parity("PIG-09", "PIG-15")
def test_a_fork_holds_the_messages_of_the_path_in_a_straight_line():
    parent, made = read(sample("302f642e")), read(sample("d2bf80bf"))

    found = read(PIGLET.writer.fork(parent, parent.reading.leaf, HEADER))

    assert found.reading.header is not None
    assert found.reading.header.parent_session == "302f642e-51a8-48e5-a27b-f0c8451ddc14"
    assert found.reading.header.metadata == {"model": "claude-sonnet-4-6", "fork_point": 2}
    assert [e.message for e in found.entries(range(2))] == [e.message for e in made.entries(range(2))]
    assert found.tree.keys == ["f2cc2b63", "3875b774"]
    assert found.reading.inherited_entries == 2
    assert not found.reading.labels
    assert found.reading.title is None


@pytest.mark.parity("PIG-09")
def test_a_fork_of_a_compacted_path_holds_what_the_compaction_holds():
    parent, made = read(sample("d14fa134")), read(sample("cc56e6d4"))

    found = read(PIGLET.writer.fork(parent, parent.reading.leaf, HEADER))

    assert [message_text(m) for m in said(found)] == [
        "Summary of 0-3",
        "question 4",
        "answer 4",
        "after compaction",
        "still here",
    ]
    assert said(found)[:2] == said(made)
    assert "compaction" not in found.tree.types
    assert found.tree.parents == [-1, 0, 1, 2, 3]


@pytest.mark.parity("PIG-09")
def test_a_fork_of_the_first_messages_holds_those():
    parent = read(sample("302f642e"))

    found = read(PIGLET.writer.fork(parent, parent.tree.positions["3226f25a"], HEADER))

    assert [message_text(m) for m in said(found)] == ["plan the migration", "answer 1"]
    assert (found.reading.header and (found.reading.header.metadata or {}))["fork_point"] == 2


def test_a_fork_makes_plain_messages_of_what_extensions_said():
    parent = read(sample("22f3986e"))

    data = PIGLET.writer.fork(parent, parent.reading.leaf, HEADER)

    found = read(data)
    assert letters(said(found)) == "uattauaa"
    assert set(found.tree.types) == {"message"}
    assert as_piglet(data)["context"] == "uattauaa"


def test_a_copy_holds_the_whole_tree_with_labels_title_and_every_id():
    source = read(sample("302f642e"))

    found = read(PIGLET.writer.copy(source, HEADER))

    assert (found.tree.keys, found.tree.parents, found.tree.types) == (
        source.tree.keys,
        source.tree.parents,
        source.tree.types,
    )
    assert found.reading.labels == source.reading.labels
    assert found.reading.title == source.reading.title
    assert found.leaf == source.leaf


def test_a_copy_of_a_file_without_ids_has_them():
    source = read(sample("legacy-upgraded"))

    data = PIGLET.writer.copy(source, HEADER)

    assert b'"id":"L0"' in data
    assert read(data).tree.keys == source.tree.keys
    assert as_piglet(data)["path"] == source.tree.keys


def test_a_line_has_its_parts_in_piglets_order():
    assert (
        line("user", "a", "b", {})
        == b'{"type":"user","id":"a","parentId":"b","ts":"2026-11-15T06:08:32.760846817Z","data":{}}\n'
    )


def test_a_compaction_of_a_path_without_messages_is_refused_with_a_sentence():
    session = Session.in_memory(format="piglet")
    only = session.append_thinking_level_change("high")

    with pytest.raises(NothingToCompact, match="there is no message on the path"):
        session.append_compaction("nothing so far", only)

    assert session.path() == [only]


def test_a_compaction_that_keeps_an_entry_without_a_message_keeps_no_message():
    session = Session.in_memory(format="piglet")
    session.append_message("a question")
    last = session.append_thinking_level_change("high")

    session.append_compaction("a question", last)

    assert [message_text(item.message) for item in session.context().messages] == ["a question"]


def test_a_line_that_piglet_could_not_open_is_refused_and_nothing_is_written():
    session = Session.in_memory(format="piglet")
    first = session.append_message("a question")
    kept = session.append_message("x" * (6 << 20))
    session.append_message("y" * (6 << 20))

    for verb in (
        lambda: session.append_message("z" * (10 << 20)),
        lambda: session.append_compaction("in short", first),
        lambda: session.append_compaction("in short", kept),
    ):
        with pytest.raises(NotSupported, match=r"line of more than 10 MiB.*Fork it"):
            verb()

    assert len(session.path()) == 3


def test_a_conversion_leaves_out_what_piglet_could_not_open_and_says_what_it_does_not_list():
    source = Session.in_memory()
    for size in (8 << 20, 1 << 20):
        source.append_message(
            UserMessage(content=(Text(text="look"), Image(data="A" * (size * 4 // 3), mime_type="image/png")))
        )

    converted = convert(source.transcript, PIGLET, HEADER)

    notes = [note.why for note in converted.fidelity.approximated]
    assert sorted(notes) == [
        "a note instead of images",
        "with a long line: piglet does not list a session with a line of more than 1 MiB",
    ]
    assert max(map(len, converted.data.splitlines())) < 10 << 20
