"""What is written into a session of Operator is what Operator would write, and it finds the same path."""

from __future__ import annotations

import json
import re

import pytest

from branchline import Session
from branchline.clock import FixedClock
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummary,
    Compaction,
    Cost,
    Custom,
    CustomContent,
    CustomMessage,
    Header,
    Image,
    Label,
    Leaf,
    MessageEntry,
    ModelChange,
    SessionInfo,
    SystemMessage,
    Text,
    Thinking,
    ThinkingLevelChange,
    ToolCall,
    ToolResult,
    Unknown,
    UnknownBlock,
    UnknownMessage,
    Usage,
    UserMessage,
    message_text,
)
from branchline.errors import NotSupported
from branchline.formats.operator import OPERATOR
from branchline.stores import FilesStore
from formats.operator_kit import HEADER, HEALTHY, SAMPLES, as_operator, context_letters, read, sample
from readings import facts

HELLO = HEADER + (
    b'{"id":"d31526e7","timestamp":1781082904.1,"type":"message","message":{"contents":[{"type":"text","content":"hello"}],'
    b'"id":"2317fb51-0b4b-4cd1-9759-5210cb9c6e0c","timestamp":1781082904.0999,"role":"user"}}\n'
    b'{"id":"799d704c","timestamp":1781082908.4,"parent_id":"d31526e7","type":"message","message":{"contents":[{"type":"text",'
    b'"content":"hi"}],"id":"c425d8b4-5a0e-4d2e-9d0c-0f2b6f7f1a11","timestamp":1781082908.39,"role":"assistant","usage":'
    b'{"input_tokens":5,"output_tokens":7,"cache_read_tokens":0,"cache_write_tokens":0,"cost":{"input":0.0,"output":0.0,'
    b'"cache_read":0.0,"cache_write":0.0,"total":0.0}},"stop_reason":"stop","error":""}}\n'
)
USAGE = Usage(input=5, output=7, total_tokens=12)
ZEROS = (
    '{"input_tokens":5,"output_tokens":7,"cache_read_tokens":0,"cache_write_tokens":0,'
    '"cost":{"input":0.0,"output":0.0,"cache_read":0.0,"cache_write":0.0,"total":0.0}}'
)


def masked(line: bytes) -> str:
    """The line with the random id of the message blotted out."""
    return re.sub(
        r'"id":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"',
        '"id":UUID',
        line.decode(),
    )


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "2026-06-10T09-15-02-433456_019eb0d0-4e6b-7ad7-ab51-8362b10cdb6d.jsonl"
    path.write_bytes(HELLO)
    with Session.open(path, clock=FixedClock(start=1_781_082_909_100, step=100)) as opened:
        yield opened


def new_lines(session) -> list[dict]:
    with open(session.file, "rb") as file:
        return [json.loads(line) for line in file.read()[len(HELLO) :].splitlines()]


def content(session) -> bytes:
    with open(session.file, "rb") as file:
        return file.read()


def check(session) -> None:
    """A fresh look shows what memory holds, and Operator's own rules lead to the same place."""
    data = content(session)
    with Session.open(session.file) as again:
        assert facts(again.transcript) == facts(session.transcript)
        assert again.leaf == session.leaf
    ruled = as_operator(data)
    tree = session.index
    assert [key for key in ruled["path"] if tree.types[tree.positions[key]] not in _SIDE] == session.path()
    assert ruled["labels"] == session.labels
    assert ruled["title"] == session.title


_SIDE = {"label", "session_info", "leaf", "custom"}


# -- lines ------------------------------------------------------------------------------------------------

TIME = "2026-06-10T09:15:10.000Z"


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        (
            MessageEntry(
                id="e1",
                parent="799d704c",
                timestamp=TIME,
                message=UserMessage(content="hello", timestamp=1781082910999),
            ),
            (
                '{"id":"e1","timestamp":1781082910.0,"parent_id":"799d704c","type":"message","message":{"contents":'
                '[{"type":"text","content":"hello"}],"id":UUID,"timestamp":1781082910.999,"role":"user"}}'
            ),
        ),
        (
            MessageEntry(
                id="e1",
                parent="799d704c",
                timestamp=TIME,
                message=AssistantMessage(
                    content=(
                        Thinking(thinking="hm"),
                        ToolCall(id="c1", name="read", arguments={"path": "a.py", "limit": None}),
                    ),
                    usage=USAGE,
                    stop_reason="toolUse",
                    timestamp=1781082910990,
                ),
            ),
            (
                '{"id":"e1","timestamp":1781082910.0,"parent_id":"799d704c","type":"message","message":{"contents":'
                '[{"type":"thinking","content":"hm","signature":""},{"type":"tool_call","id":"c1","name":"read",'
                '"args":{"path":"a.py","limit":null},"metadata":{}}],"id":UUID,"timestamp":1781082910.99,"role":"assistant",'
                f'"usage":{ZEROS},"stop_reason":"tool_calls","error":""}}}}'
            ),
        ),
        (
            MessageEntry(
                id="e1",
                parent="799d704c",
                timestamp=TIME,
                message=ToolResult(
                    tool_call_id="c1",
                    tool_name="read",
                    content=(Text(text="x=1"),),
                    is_error=False,
                    timestamp=1781082911490,
                ),
            ),
            (
                '{"id":"e1","timestamp":1781082910.0,"parent_id":"799d704c","type":"message","message":{"contents":'
                '[{"type":"tool_result","id":"c1","content":"x=1","is_error":false,"metadata":{},"terminate":false}],'
                '"id":UUID,"timestamp":1781082911.49,"role":"tool"}}'
            ),
        ),
        (
            ModelChange(
                id="db285974",
                parent="799d704c",
                timestamp=TIME,
                provider="anthropic",
                model_id="claude-opus-4-7",
            ),
            (
                '{"id":"db285974","timestamp":1781082910.0,"parent_id":"799d704c","type":"model_change",'
                '"model_id":"claude-opus-4-7","provider_id":"anthropic"}'
            ),
        ),
        (
            ThinkingLevelChange(id="ece53f6e", parent="799d704c", timestamp=TIME, thinking_level="high"),
            (
                '{"id":"ece53f6e","timestamp":1781082910.0,"parent_id":"799d704c","type":"thinking_level_change",'
                '"thinking_level":"high"}'
            ),
        ),
        (
            Label(id="96c690df", parent="799d704c", timestamp=TIME, target="799d704c", label="checkpoint"),
            (
                '{"id":"96c690df","timestamp":1781082910.0,"parent_id":"799d704c","type":"label","label":"checkpoint",'
                '"target_id":"799d704c"}'
            ),
        ),
        (
            Label(id="96c690df", parent="799d704c", timestamp=TIME, target="799d704c"),
            '{"id":"96c690df","timestamp":1781082910.0,"parent_id":"799d704c","type":"label","target_id":"799d704c"}',
        ),
        (
            SessionInfo(
                id="a157f414", parent="799d704c", timestamp="2026-06-10T09:15:10.100Z", name="My session"
            ),
            '{"id":"a157f414","timestamp":1781082910.1,"parent_id":"799d704c","type":"session_info","name":"My session"}',
        ),
        (
            Unknown(
                type="channel",
                id="05365c65",
                parent="799d704c",
                timestamp=TIME,
                fields={"user_id": "7", "name": "telegram", "chat_id": "42"},
            ),
            (
                '{"id":"05365c65","timestamp":1781082910.0,"parent_id":"799d704c","type":"channel","name":"telegram",'
                '"chat_id":"42","user_id":"7"}'
            ),
        ),
        (
            Custom(
                id="56578b28",
                parent="799d704c",
                timestamp=TIME,
                custom_type="ext.state",
                data={"k": 1, "n": None},
            ),
            (
                '{"id":"56578b28","timestamp":1781082910.0,"parent_id":"799d704c","type":"custom","custom_type":"ext.state",'
                '"data":{"k":1,"n":null}}'
            ),
        ),
        (
            CustomMessage(
                id="8f0df44f", parent="799d704c", timestamp=TIME, custom_type="ext.note", content="note"
            ),
            (
                '{"id":"8f0df44f","timestamp":1781082910.0,"parent_id":"799d704c","type":"custom_message",'
                '"custom_type":"ext.note","content":[{"type":"text","content":"note"}],"display":true}'
            ),
        ),
        (
            Compaction(
                id="63e2d12f",
                parent="799d704c",
                timestamp="2026-06-10T09:15:10.500Z",
                summary="did things",
                first_kept="799d704c",
                tokens_before=90000,
                details={"read_files": ["a.py"], "modified_files": []},
            ),
            (
                '{"id":"63e2d12f","timestamp":1781082910.5,"parent_id":"799d704c","type":"compaction","summary":"did things",'
                '"first_kept_entry_id":"799d704c","tokens_before":90000,"details":{"read_files":["a.py"],"modified_files":[]},'
                '"from_hook":false}'
            ),
        ),
        (
            Leaf(id="173f373c", parent="d31526e7", timestamp="2026-06-10T09:15:10.600Z", target="d31526e7"),
            '{"id":"173f373c","timestamp":1781082910.6,"parent_id":"799d704c","type":"leaf","target_id":"d31526e7"}',
        ),
        (
            Leaf(id="173f373c", timestamp="2026-06-10T09:15:10.600Z"),
            '{"id":"173f373c","timestamp":1781082910.6,"parent_id":"799d704c","type":"leaf"}',
        ),
        (
            BranchSummary(
                id="71ae25a4",
                parent="d31526e7",
                timestamp="2026-06-10T09:15:10.700Z",
                from_id="799d704c",
                summary="left a branch",
            ),
            (
                '{"id":"71ae25a4","timestamp":1781082910.7,"parent_id":"d31526e7","type":"branch_summary","from_id":"d31526e7",'
                '"summary":"left a branch","from_hook":false}'
            ),
        ),
        (
            BranchSummary(id="71ae25a4", timestamp=TIME, from_id="799d704c", summary="left"),
            (
                '{"id":"71ae25a4","timestamp":1781082910.0,"type":"branch_summary","from_id":"root","summary":"left",'
                '"from_hook":false}'
            ),
        ),
    ],
    ids=lambda value: value.type if not isinstance(value, str) else "",
)
def test_an_entry_is_written_as_operator_writes_it(entry, line):
    assert masked(OPERATOR.writer.encode([entry], read(HELLO).reading)) == line + "\n"


def test_a_header_is_written_as_operator_writes_it():
    header = Header(
        id="019eb0d3-65b3-70bf-bacf-b8592e53c68b",
        version=3,
        timestamp="2026-06-10T09:18:20.500Z",
        cwd="/home/dev/other",
        parent_session="/home/dev/.operator/profiles/default/sessions/x.jsonl",
    )

    assert OPERATOR.writer.encode_header(header) == (
        b'{"type":"session","version":3,"id":"019eb0d3-65b3-70bf-bacf-b8592e53c68b","timestamp":1781083100.5,'
        b'"cwd":"/home/dev/other","parent_session":"/home/dev/.operator/profiles/default/sessions/x.jsonl"}\n'
    )


@pytest.mark.parametrize("cut", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_no_character_cuts_a_line_for_operator(session, cut):
    text = f"one{cut}two"

    key = session.append_message(text)

    assert session.entry(key).message.content == (Text(text=text),)
    assert len(content(session).decode().splitlines()) == 4
    check(session)


# -- verbs ------------------------------------------------------------------------------------------------


@pytest.mark.parity("OPR-04")
def test_every_verb_leaves_a_file_that_operator_reads_alike(session):
    verbs = [
        lambda: session.append_message("plain text"),
        lambda: session.append_message(
            {"role": "user", "content": [{"type": "text", "text": "as an object"}]}
        ),
        lambda: session.append_message(
            AssistantMessage(
                content=(Text(text="hi"), ToolCall(id="c", name="read", arguments={})), usage=USAGE
            )
        ),
        lambda: session.append_message(
            ToolResult(tool_call_id="c", tool_name="read", content="done", is_error=True)
        ),
        lambda: session.append_message(
            UserMessage(content=(Image(data="iVBORw0KGgo=", mime_type="image/png"),))
        ),
        lambda: session.append_message(SystemMessage(content="be kind")),
        lambda: session.append_message(CustomContent(custom_type="ext", content="from an extension")),
        lambda: session.append_model_change("openai", "gpt-5.1"),
        lambda: session.append_thinking_level_change("max"),
        lambda: session.append_custom("ext.state", {"n": None}),
        lambda: session.append_custom_message("ext.note", "note", display=False, details={"a": 1}),
        lambda: session.append_label("799d704c", "here"),
        lambda: session.set_title("A title"),
        lambda: session.append_message("after the title"),
        lambda: session.append_label("799d704c", None),
        lambda: session.branch("d31526e7"),
        lambda: session.append_message("another branch"),
        lambda: session.branch_with_summary("799d704c", "was elsewhere", details={"read_files": []}),
        lambda: session.append_compaction("short", first_kept="799d704c", tokens_before=100),
        lambda: session.append_message("after the compaction"),
        session.reset,
        lambda: session.append_message("a second root"),
        lambda: session.branch_with_summary(None, "nothing was kept"),
        lambda: session.append_compaction("nothing is kept"),
    ]
    for verb in verbs:
        before = content(session)

        verb()

        assert content(session).startswith(before)
        check(session)


def test_a_conversation_goes_on_below_the_title_so_that_operator_keeps_it(session):
    title = session.set_title("My session")

    key = session.append_message("go on")

    assert new_lines(session)[-1]["parent_id"] == title
    assert session.path() == ["d31526e7", "799d704c", key]
    assert session.title == as_operator(content(session))["title"] == "My session"


def test_side_records_hang_from_each_other_as_operator_chains_them(session):
    label = session.append_label("d31526e7", "start")
    title = session.set_title("T")
    session.append_custom("x", 1)

    assert [line["parent_id"] for line in new_lines(session)] == ["799d704c", label, title]


@pytest.mark.parity("OPR-05")
def test_a_branch_is_recorded_and_the_next_entry_hangs_from_its_target(session):
    session.branch("d31526e7")
    key = session.append_message("again")

    move, message = new_lines(session)
    assert (move["type"], move["parent_id"], move["target_id"]) == ("leaf", "799d704c", "d31526e7")
    assert (message["id"], message["parent_id"]) == (key, "d31526e7")


@pytest.mark.parity("OPR-05")
def test_a_reset_is_recorded_without_a_target_and_the_next_entry_has_no_parent(session):
    session.reset()
    session.append_message("from the start")

    move, message = new_lines(session)
    assert "target_id" not in move
    assert "parent_id" not in message
    with Session.open(session.file) as again:
        assert len(again.path()) == 1


def test_two_writers_of_one_file_branch(session):
    with Session.open(session.file, clock=FixedClock(seed=500)) as other:
        other.append_message("from another window")
        mine = session.append_message("from this one")

        assert session.path() == ["d31526e7", "799d704c", mine]
    check(session)


def test_a_compaction_names_the_first_kept_entry(session):
    session.append_message("more")
    session.append_compaction("short", first_kept="799d704c")

    assert new_lines(session)[-1]["first_kept_entry_id"] == "799d704c"
    assert context_letters(read(content(session))) == "kau"


def test_costs_that_are_known_are_written():
    usage = Usage(input=1, output=2, cost=Cost(input=0.5, output=1, total=1.5))
    entry = MessageEntry(
        id="e", timestamp=TIME, message=AssistantMessage(content="x", usage=usage, stop_reason="error")
    )

    data = OPERATOR.writer.encode([entry], read(HEADER).reading)

    assert b'"cost":{"input":0.5,"output":1.0,"cache_read":0.0,"cache_write":0.0,"total":1.5}' in data
    assert b'"stop_reason":"error"' in data


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "reason"),
    [
        (lambda s: s.append_usage("cache", USAGE), "only inside an answer"),
        (lambda s: s.append_context_edit("799d704c", None), "cannot be edited"),
        (lambda s: s.set_title("   "), "not removed"),
        (lambda s: s.append_thinking_level_change("ultra"), "the levels are"),
        (lambda s: s.append_message(BashExecution(command="ls", output="x")), "only system, user"),
        (
            lambda s: s.append_message(
                UnknownMessage(role="oracle", fields={"role": "oracle", "content": "x"})
            ),
            "only system, user",
        ),
        (lambda s: s.append_message(SystemMessage(content="", sections={"a": "b"})), "without sections"),
        (lambda s: s.append_message(AssistantMessage(content="x", stop_reason="tired")), "ends by"),
        (
            lambda s: s.append_message(
                UserMessage(content=(UnknownBlock(type="video", fields={"type": "video"}),))
            ),
            "part",
        ),
        (
            lambda s: s.append_message(
                ToolResult(tool_call_id="c", tool_name="t", content=(Image(data="x", mime_type="image/png"),))
            ),
            "part of this kind",
        ),
    ],
)
def test_what_operator_cannot_hold_is_refused_with_a_way_out_and_nothing_is_written(session, verb, reason):
    before, leaf = content(session), session.leaf

    with pytest.raises(NotSupported, match=reason) as refused:
        verb(session)

    assert "Fork it into a native session" in str(refused.value)
    assert content(session) == before
    assert session.leaf == leaf


def test_a_result_inside_a_shared_line_cannot_be_gone_back_to(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(sample("019eb0d0-6ff0").read_bytes())

    with Session.open(path) as session:
        with pytest.raises(NotSupported, match="shares its line"):
            session.branch("09710175.1")
        assert path.read_bytes() == sample("019eb0d0-6ff0").read_bytes()

        session.branch("09710175")
        assert session.leaf == "09710175"


def test_an_entry_hidden_behind_a_later_one_of_the_same_id_cannot_be_gone_back_to():
    again = HELLO.splitlines(keepends=True)[1].replace(
        b'"type":"message"', b'"parent_id":"799d704c","type":"message"'
    )
    found = read(HELLO + again)

    with pytest.raises(NotSupported, match="same id"):
        OPERATOR.writer.encode([Leaf(id="x", timestamp=TIME, target="d31526e7")], found.reading)
    assert b'"target_id":"d31526e7"' in OPERATOR.writer.encode(
        [Leaf(id="x", timestamp=TIME, target="d31526e7#2")], found.reading
    )


# -- copies -----------------------------------------------------------------------------------------------

NEW = Header(
    id="019eb0d9-0000-7000-8000-000000000001",
    version=3,
    timestamp="2026-06-11T00:00:00.000Z",
    cwd="/p",
    parent_session="/old.jsonl",
)


def test_a_fork_holds_the_path_re_chained_and_its_labels_at_the_end():
    source = read(sample("019eb0d3-0a86"))

    data = OPERATOR.writer.fork(source, source.tree.nearest_conversation_entry(source.reading.leaf), NEW)
    fork = read(data)

    assert as_operator(data)["labels"] == {"0f9f10eb": "two"}
    assert as_operator(data)["path"][:3] == source.tree.conversation_path(source.leaf)
    assert fork.tree.types[-1] == "label"
    assert fork.reading.labels["0f9f10eb"].time == source.reading.labels["0f9f10eb"].time
    assert fork.reading.header.parent_session == "/old.jsonl"
    assert fork.findings == []


@pytest.mark.parametrize("record", HEALTHY, ids=lambda record: record["file"].split("/")[-1][27:40])
def test_a_fork_at_any_entry_shows_the_same_conversation(record):
    source = read(SAMPLES / record["file"])
    tree = source.tree
    for position in range(len(tree)):
        if position in source.reading.inner or tree.nearest_conversation_entry(position) != position:
            continue

        fork = read(OPERATOR.writer.fork(source, position, NEW))

        assert fork.findings == []
        assert fork.tree.conversation_path(fork.leaf) == tree.conversation_path(tree.keys[position])
        for key in fork.tree.keys:
            if key in tree.positions:
                line = source.raw(tree.positions[key])
                assert fork.raw(fork.tree.positions[key]) == line or b'"parent_id"' in line


def test_a_fork_at_the_leaf_keeps_the_title_that_was_given_last():
    source = read(sample("019eb0d0-6ff0"))

    fork = read(OPERATOR.writer.fork(source, source.tree.position("d90b9c39"), NEW))

    assert fork.reading.title == "Reading a.py"


def test_a_fork_of_a_compacted_path_has_the_same_context():
    source = read(sample("019eb0d1-9d8d"))

    fork = read(OPERATOR.writer.fork(source, source.reading.leaf, NEW))

    assert context_letters(fork) == context_letters(source) == "kuaua"


def test_a_fork_moves_the_first_kept_entry_when_it_leaves_that_entry_out(session):
    """A fork drops labels; a compaction that keeps from a label keeps from the next entry instead."""
    label = session.append_label("799d704c", "checkpoint")
    session.append_message("kept question")
    session.append_message(AssistantMessage(content=(Text(text="kept answer"),)))
    session.append_compaction("what came before", first_kept=label)
    session.append_message("later question")

    with session.fork() as fork, Session.open(fork.file) as again:
        texts = [message_text(item.message) for item in again.context().messages]
        parents = [json.loads(again.raw(key)).get("parent_id") for key in again.index.keys]

        assert label not in again
        assert parents == [None, *again.index.keys[:-1]]
    assert texts == ["what came before", "kept question", "kept answer", "later question"]
    assert texts == [message_text(item.message) for item in session.context().messages]


def test_a_copy_holds_every_line_as_it_was():
    source = read(sample("torn-then-append"))

    data = OPERATOR.writer.copy(source, NEW)

    assert data.split(b"\n", 1)[1] == sample("torn-then-append").read_bytes().split(b"\n", 1)[1]
    assert read(data).tree.keys == source.tree.keys


# -- places -----------------------------------------------------------------------------------------------


@pytest.mark.parity("OPR-13")
def test_all_projects_lie_together_under_the_profiles():
    roots = OPERATOR.home.roots({}, "/home/dev")

    assert roots == ["/home/dev/.operator/profiles", "/home/dev/.operator/sessions"]
    assert (
        OPERATOR.home.directory("/p", {}, "/home/dev")
        == OPERATOR.home.directory("/q", {}, "/home/dev")
        == roots[1]
    )


@pytest.mark.parity("OPR-13")
def test_a_file_is_named_by_local_time_and_id(monkeypatch):
    import time

    header = Header(id="019eb0d0-4e6b-7ad7-ab51-8362b10cdb6d", timestamp="2026-06-10T09:15:02.433Z")
    try:
        monkeypatch.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        assert (
            OPERATOR.home.file_key(header)
            == "2026-06-10T14-45-02-433000_019eb0d0-4e6b-7ad7-ab51-8362b10cdb6d"
        )
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("record", HEALTHY, ids=lambda record: record["file"].split("/")[-1][27:40])
def test_a_fork_into_a_native_session_says_the_same_to_a_model(record, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes((SAMPLES / record["file"]).read_bytes())

    with (
        Session.open(path, clock=FixedClock()) as session,
        session.fork(store=FilesStore(tmp_path / "native"), to="branchline") as fork,
    ):
        assert [item.message for item in fork.context().messages] == [
            item.message for item in session.context().messages
        ]
        assert fork.labels == session.labels
        known = [entry.id for entry in session.entries(session.path()) if not isinstance(entry, Unknown)]
        assert fork.path() == known
