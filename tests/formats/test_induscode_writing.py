"""What is appended to a session of induscode leads induscode to the path that is meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from branchline import Session
from branchline.clock import FixedClock
from branchline.context import build_context
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummary,
    Compaction,
    Cost,
    CustomContent,
    CustomMessage,
    Header,
    Image,
    Leaf,
    MessageEntry,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownMessage,
    Usage,
    UserMessage,
)
from branchline.errors import NotSupported
from branchline.formats.induscode import INDUSCODE
from branchline.stores import FilesStore
from formats.induscode_kit import EXPECTED, SAMPLES, as_induscode, head, move, node, read, sample
from readings import facts

START = 1_794_722_740_407
AT = "2026-11-15T06:05:40.407Z"
FIRST = node("01M7EWZE5QCF823TJ4D8RKPCP0", None) + node(
    "01M7EWZE631HQ2T5XXPEJXG221", "01M7EWZE5QCF823TJ4D8RKPCP0", "assistant"
)
ROOT_ID, ANSWER_ID = "01M7EWZE5QCF823TJ4D8RKPCP0", "01M7EWZE631HQ2T5XXPEJXG221"


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "s_demo.ndjson"
    path.write_bytes(FIRST)
    with Session.open(path, clock=FixedClock(start=START, step=10)) as opened:
        yield opened


def content(session) -> bytes:
    with open(session.file, "rb") as file:
        return file.read()


def new_lines(session) -> list[dict]:
    return [json.loads(line) for line in content(session)[len(FIRST) :].splitlines()]


def check(session) -> None:
    """A fresh look shows what memory holds, and induscode's own rules lead to the same place."""
    with Session.open(session.file) as again:
        assert facts(again.transcript) == facts(session.transcript)
        assert again.leaf == session.leaf
    assert as_induscode(content(session))["path"] == session.path()


# -- lines ------------------------------------------------------------------------------------------------

EXAMPLES = [
    (
        MessageEntry(
            id="01M7EWZE5QCF823TJ4D8RKPCP0",
            timestamp=AT,
            message=UserMessage(content=(Text(text="hello"),), timestamp=1718000000001),
        ),
        ('"id":"01M7EWZE5QCF823TJ4D8RKPCP0","prev":null,"role":"user","message":{"role":"user","content":[{"type":"text",'
        '"text":"hello"}],"timestamp":1718000000001},"at":"2026-11-15T06:05:40.407Z"}'),
    ),
    (
        MessageEntry(
            id="a",
            parent=ROOT_ID,
            timestamp=AT,
            message=AssistantMessage(
                content=(
                    Thinking(thinking="hmm", thinking_signature="sig"),
                    Text(text="I will run ls"),
                    ToolCall(id="call_1", name="bash", arguments={"command": "ls"}),
                ),
                api="anthropic-messages",
                provider="anthropic",
                model="claude-sonnet-4-5",
                usage=Usage(input=12, output=34, total_tokens=46, cost=Cost(input=0.1, output=0.2, total=0.3)),
                stop_reason="toolUse",
                timestamp=1718000000002,
            ),
        ),
        ('"id":"a","prev":"01M7EWZE5QCF823TJ4D8RKPCP0","role":"assistant","message":{"role":"assistant","content":'
        '[{"type":"thinking","thinking":"hmm","thinkingSignature":"sig"},{"type":"text","text":"I will run ls"},'
        '{"type":"toolCall","id":"call_1","name":"bash","arguments":{"command":"ls"}}],"api":"anthropic-messages",'
        '"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":12,"output":34,"cacheRead":0,"cacheWrite":0,'
        '"totalTokens":46,"cost":{"input":0.1,"output":0.2,"cacheRead":0.0,"cacheWrite":0.0,"total":0.3}},'
        '"stopReason":"toolUse","timestamp":1718000000002},"at":"2026-11-15T06:05:40.407Z"}'),
    ),
    (
        MessageEntry(
            id="a",
            parent=ROOT_ID,
            timestamp=AT,
            message=ToolResult(
                tool_call_id="call_1",
                tool_name="bash",
                content=(Text(text="a.txt"),),
                details={"exit": 0},
                is_error=False,
                timestamp=1718000000003,
            ),
        ),
        ('"id":"a","prev":"01M7EWZE5QCF823TJ4D8RKPCP0","role":"tool","message":{"role":"toolResult","toolCallId":"call_1",'
        '"toolName":"bash","content":[{"type":"text","text":"a.txt"}],"details":{"exit":0},"isError":false,'
        '"timestamp":1718000000003},"at":"2026-11-15T06:05:40.407Z"}'),
    ),
    (
        MessageEntry(
            id="a",
            parent=ROOT_ID,
            timestamp=AT,
            message=UserMessage(
                content=(Text(text="look"), Image(data="aGk=", mime_type="image/png")), timestamp=1718000000004
            ),
        ),
        ('"id":"a","prev":"01M7EWZE5QCF823TJ4D8RKPCP0","role":"user","message":{"role":"user","content":[{"type":"text",'
        '"text":"look"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"timestamp":1718000000004},'
        '"at":"2026-11-15T06:05:40.407Z"}'),
    ),
    (
        MessageEntry(
            id="a",
            parent=ROOT_ID,
            timestamp=AT,
            message=BashExecution(
                command="ls", output="x", exit_code=0, cancelled=False, truncated=False, timestamp=1718000000006
            ),
        ),
        ('"id":"a","prev":"01M7EWZE5QCF823TJ4D8RKPCP0","role":"note","message":{"role":"bashExecution","command":"ls",'
        '"output":"x","exitCode":0,"cancelled":false,"truncated":false,"timestamp":1718000000006},'
        '"at":"2026-11-15T06:05:40.407Z"}'),
    ),
    (
        MessageEntry(
            id="a",
            parent=ROOT_ID,
            timestamp=AT,
            message=CustomContent(custom_type="ext", content="hi", display=True, timestamp=1718000000007),
        ),
        ('"id":"a","prev":"01M7EWZE5QCF823TJ4D8RKPCP0","role":"note","message":{"role":"custom","customType":"ext",'
        '"content":"hi","display":true,"timestamp":1718000000007},"at":"2026-11-15T06:05:40.407Z"}'),
    ),
    (
        CustomMessage(id="a", parent=ROOT_ID, timestamp=AT, custom_type="ext", content="hi", details={"k": None}),
        ('"id":"a","prev":"01M7EWZE5QCF823TJ4D8RKPCP0","role":"note","message":{"role":"custom","customType":"ext",'
        '"content":"hi","display":true,"timestamp":1794722740407,"details":{"k":null}},"at":"2026-11-15T06:05:40.407Z"}'),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "line"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_entry_is_written_as_induscode_writes_it(entry, line):
    known = node(ROOT_ID, None) if entry.parent else b""

    data = INDUSCODE.writer.encode([entry], read(known).reading)

    assert data.decode() == '{"schema":"indus/transcript@1","kind":"entry",' + line + "\n"


def test_a_session_begins_with_its_first_entry():
    assert INDUSCODE.writer.encode_header(Header(id="s")) == b""


def test_a_move_is_written_as_a_head_line():
    reading = read(FIRST, "s_demo.ndjson").reading

    assert INDUSCODE.writer.encode([Leaf(id="x", target=ROOT_ID)], reading) == (
        b'{"schema":"indus/transcript@1","kind":"head","sessionId":"s_demo","leaf":"01M7EWZE5QCF823TJ4D8RKPCP0"}\n'
    )
    assert INDUSCODE.writer.encode([Leaf(id="x")], reading).endswith(b'"leaf":null}\n')


# -- verbs ------------------------------------------------------------------------------------------------


def test_a_file_that_stays_linear_gets_no_head(session):
    session.append_message("one")
    session.append_message(AssistantMessage(content="two", model="m", provider="p"))

    assert [line["kind"] for line in new_lines(session)] == ["entry", "entry"]
    check(session)


def test_an_entry_that_is_not_the_deepest_is_followed_by_a_head(tmp_path):
    path = tmp_path / "s.ndjson"
    path.write_bytes(FIRST + node("c", ANSWER_ID) + node("d", "c"))
    with Session.open(path, clock=FixedClock(START)) as session, Session.open(path) as other:
        other.append_message("somebody goes on")
        session._leaf = ANSWER_ID

        key = session.append_message("a shorter branch")

        assert json.loads(path.read_bytes().splitlines()[-1])["leaf"] == key
        check(session)


@pytest.mark.parity("IND-11")
def test_a_move_and_what_follows_it_are_found_again(session):
    session.append_message("one")
    move(session, ROOT_ID)
    assert session.leaf == ROOT_ID
    check(session)

    key = session.append_message("another way")

    assert [line["kind"] for line in new_lines(session)] == ["entry", "head", "entry", "head"]
    assert new_lines(session)[-1]["leaf"] == key
    assert session.path() == [ROOT_ID, key]
    check(session)


def test_a_reset_and_what_follows_it_are_found_again(session):
    move(session, None)
    assert session.leaf is None
    check(session)

    key = session.append_message("from the start")

    assert new_lines(session)[-2]["prev"] is None
    assert session.path() == [key]
    check(session)


def test_a_head_follows_every_append_once_there_is_one(session):
    move(session, ROOT_ID)
    for number in range(3):
        session.append_message(f"question {number}")
        check(session)

    assert [line["kind"] for line in new_lines(session)] == ["head"] + ["entry", "head"] * 3


def test_a_stale_head_is_mended_by_the_next_append(tmp_path):
    path = tmp_path / "s.ndjson"
    path.write_bytes(sample("s_mwhiju8t").read_bytes())

    with Session.open(path, clock=FixedClock(START)) as session:
        assert as_induscode(path.read_bytes())["path"] != session.path()
        session.append_message("go on")

        assert session.findings == []
        check(session)


def test_a_branch_summary_hangs_below_its_target_and_is_followed_by_a_head(session):
    session.append_message("one")
    left = session.leaf

    key = session.branch_with_summary(ROOT_ID, "was elsewhere", details={"read_files": ["a"]}, from_hook=True)

    entry, named = new_lines(session)[-2:]
    assert entry["message"] == {
        "role": "branchSummary",
        "summary": "was elsewhere",
        "fromId": left,
        "timestamp": entry["message"]["timestamp"],
    }
    assert (entry["prev"], entry["role"], named["leaf"]) == (ROOT_ID, "condense", key)
    record = session.entry(key)
    assert isinstance(record, BranchSummary)
    assert (record.details, record.from_hook) == ({"read_files": ["a"]}, True)
    check(session)


def test_a_compaction_that_keeps_nothing_is_a_new_beginning(session):
    key = session.append_compaction("all of it", tokens_before=1234)

    reset, entry, named = new_lines(session)
    assert (reset["leaf"], entry["prev"], entry["role"], named["leaf"]) == (None, None, "condense", key)
    assert entry["message"]["tokensBefore"] == 1234
    assert session.path() == [key]
    check(session)


def test_a_compaction_writes_the_messages_that_are_kept_once_more():
    kept = (
        UserMessage(content="last question", timestamp=1),
        AssistantMessage(content="last answer", timestamp=2),
    )
    found = read(FIRST)
    entry = Compaction(id="c", parent=ANSWER_ID, timestamp=AT, summary="short", retained_tail=kept)

    data = FIRST + INDUSCODE.writer.encode([entry], found.reading)
    again = read(data)

    messages = [item.message for item in build_context(again, again.reading.leaf).messages]
    assert messages[0].summary == "short"
    assert [message.content for message in messages[1:]] == ["last question", (Text(text="last answer"),)]
    assert as_induscode(data)["path"] == again.tree.path(again.leaf)


def test_messages_may_come_as_plain_objects(session):
    session.append_message({"role": "user", "content": "hello"})
    session.append_message(UnknownMessage(role="poll", fields={"role": "poll", "options": ["a"]}))

    first, second = new_lines(session)
    assert (first["role"], first["message"]["content"]) == ("user", "hello")
    assert (second["role"], second["message"]["options"]) == ("note", ["a"])
    assert isinstance(session.entry(session.leaf).message, UnknownMessage)
    check(session)


def test_nothing_written_is_ever_changed(session):
    seen = content(session)
    for verb in (
        lambda: session.append_message("x"),
        lambda: move(session, ROOT_ID),
        lambda: session.append_message("y"),
        lambda: session.append_compaction("s"),
        lambda: session.branch_with_summary(ROOT_ID, "z"),
        lambda: session.append_custom_message("ext", [{"type": "text", "text": "note"}], display=False),
    ):
        verb()
        assert content(session).startswith(seen)
        seen = content(session)
        check(session)


@pytest.mark.parametrize("name", ["missing-parent", "torn-line"])
def test_damage_alone_is_no_reason_for_a_head_which_would_hide_what_induscode_writes_later(tmp_path, name):
    path = tmp_path / "s.ndjson"
    torn = node("a", None) + node("b", "a") + b'{"schema":"indus/transcript@1","kind":"en'
    path.write_bytes(torn if name == "torn-line" else sample(name).read_bytes())

    with Session.open(path, clock=FixedClock(START)) as session:
        key = session.append_message("go on")

    assert as_induscode(path.read_bytes())["leaf"] == key
    assert json.loads(path.read_bytes().splitlines()[-1])["kind"] == "entry"


def test_an_entry_behind_a_gap_that_is_not_the_deepest_one_for_induscode_gets_a_head(tmp_path):
    lines = [node("a", None), node("b", "a"), node("c", "b"), b'{"schema":"indus/tra\n', node("e", "lost")]
    path = tmp_path / "s.ndjson"
    path.write_bytes(b"".join(lines))

    with Session.open(path, clock=FixedClock(START)) as session:
        key = session.append_message("go on")

    assert as_induscode(path.read_bytes())["leaf"] == key
    assert json.loads(path.read_bytes().splitlines()[-1])["leaf"] == key


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "reason"),
    [
        (lambda s: s.append_label(ROOT_ID, "x"), "no labels"),
        (lambda s: s.set_title("x"), "no title"),
        (lambda s: s.append_model_change("p", "m"), "named by each answer"),
        (lambda s: s.append_thinking_level_change("high"), "not recorded"),
        (lambda s: s.append_custom("x", 1), "no place for extension data"),
        (lambda s: s.append_usage("cache", Usage()), "only inside an answer"),
        (lambda s: s.append_context_edit(ROOT_ID, None), "cannot be edited"),
        (lambda s: s.append_message(SystemMessage(content="x")), "system prompt"),
        (lambda s: s.append_message("half a \ud83d smile"), "lone surrogate"),
    ],
)
def test_what_induscode_cannot_hold_is_refused_with_a_way_out_and_nothing_is_written(session, verb, reason):
    before, leaf = content(session), session.leaf

    with pytest.raises(NotSupported, match=reason) as refused:
        verb(session)

    assert "Fork it into a native session" in str(refused.value)
    assert content(session) == before
    assert session.leaf == leaf


def test_a_compaction_that_only_names_what_it_keeps_is_refused(session):
    compaction = Compaction(id="c" * 16, parent=session.leaf, summary="s", first_kept=ROOT_ID)

    with pytest.raises(NotSupported, match="contain the kept messages"):
        INDUSCODE.writer.encode([compaction], session.transcript.reading)


# -- copies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", EXPECTED, ids=lambda record: record["file"].split("/")[-1])
def test_a_fork_at_any_entry_is_the_path_without_a_head(record):
    source = read(SAMPLES / record["file"])
    tree = source.tree
    for position in range(len(tree)):
        path = [key for key in tree.path(tree.keys[position]) if tree.positions[key] not in tree.placeholders]

        data = INDUSCODE.writer.fork(source, position, Header(id="new"))

        fork = read(data)
        assert fork.tree.keys == path
        assert {finding.kind for finding in fork.findings} <= {"bad-value"}
        if not record["invalid_utf8_lines"]:
            assert as_induscode(data)["path"] == path


def test_a_copy_is_the_same_file():
    for path in SAMPLES.rglob("*.ndjson"):
        data = path.read_bytes()

        copied = INDUSCODE.writer.copy(read(data), Header(id="new"))

        assert copied.rstrip(b"\n") == data.rstrip(b"\n")
        assert copied.endswith(b"\n") or not copied


def test_an_entry_hidden_behind_a_later_one_of_the_same_id_cannot_be_gone_back_to():
    found = read(FIRST + node(ROOT_ID, ANSWER_ID, text="again"))

    with pytest.raises(NotSupported, match="same id"):
        INDUSCODE.writer.encode([Leaf(id="x", target=ROOT_ID)], found.reading)
    assert (
        json.loads(INDUSCODE.writer.encode([Leaf(id="x", target=f"{ROOT_ID}#2")], found.reading))["leaf"]
        == ROOT_ID
    )


def test_going_on_elsewhere_and_coming_back_keeps_the_place(tmp_path):
    """induscode appends below our head without a head of its own; the next look finds the newest entry."""
    path = tmp_path / "s.ndjson"
    path.write_bytes(FIRST)
    with Session.open(path, clock=FixedClock(START)) as session:
        move(session, ROOT_ID)
        key = session.append_message("ours")
        with path.open("ab") as file:
            file.write(node("01ZZZ", key, "assistant"))

        session.refresh()

        assert session.leaf == "01ZZZ"
        last = session.append_message("ours again")
        assert session.path() == [ROOT_ID, key, "01ZZZ", last]
        check(session)
    assert head(last).split(b'"leaf"')[1] == path.read_bytes().splitlines()[-1].split(b'"leaf"')[1] + b"\n"


def test_a_fork_into_a_native_session_says_the_same_to_a_model(session, tmp_path):
    session.branch_with_summary(ROOT_ID, "was elsewhere")
    session.append_message(BashExecution(command="ls", output="x", exit_code=0))
    session.append_custom_message("ext", "note")

    with session.fork(store=FilesStore(tmp_path / "native"), to="branchline") as fork:
        assert [item.message for item in fork.context().messages] == [
            item.message for item in session.context().messages
        ]
        assert fork.path() == session.path()
        fork.append_label(ROOT_ID, "now it can be named")


def test_a_fork_and_a_copy_name_their_parent_in_a_line_that_induscode_passes_over(tmp_path):
    source = tmp_path / "s_mwhiju6j_fy49o976.ndjson"
    source.write_bytes(sample("s_mwhiju6j").read_bytes())

    with Session.open(source) as session:
        forked, path = session.fork(), session.path()

    lines = Path(forked.file).read_bytes().splitlines()
    assert json.loads(lines[0]) == {"schema": "branchline/origin@1", "parent": str(source)}
    assert all(json.loads(line)["schema"] == "indus/transcript@1" for line in lines[1:])
    again = Session.open(forked.file)
    assert again.parent_session == str(source)
    assert (again.path(), again.findings) == (path, [])
