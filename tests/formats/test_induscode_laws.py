"""Laws of induscode's format: whatever is in a file opens; what is written is read again, also by its own rules."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from branchline import Session
from branchline.clock import FixedClock, iso
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummary,
    Cost,
    CustomMessage,
    Header,
    Image,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from branchline.formats.induscode import INDUSCODE
from branchline.formats.induscode.reader import InduscodeReader
from formats.induscode_kit import SAMPLES, SCHEMA, as_induscode, move, node, read, sample
from formats.line_laws import (
    MANY,
    SEPARATORS,
    LineLaws,
)
from readings import facts
from strategies import texts, unknown_blocks, wild_texts

NAME = "s_mwhiju6j_fy49o976.ndjson"
ALL = sorted(SAMPLES.rglob("*.ndjson"))

# -- files of any shape -----------------------------------------------------------------------------------

ids = st.sampled_from(["a", "b", "c", "d", "e", "b#2"]) | st.text(min_size=1, max_size=4)
numbers = st.integers(0, 10**13) | st.floats(0, 1e13) | st.sampled_from([None, "x", -1, 1e300, True])
parts = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": wild_texts | st.sampled_from(["", " ", 5])}),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": texts}),
    st.fixed_dictionaries(
        {"type": st.just("toolCall"), "id": ids, "arguments": st.sampled_from([{}, None, [1]])}
    ),
    st.sampled_from([{"type": "image", "data": "", "mimeType": ""}, {"type": "video"}, {}, None]),
)
roles = st.sampled_from(
    [
        "user",
        "assistant",
        "assistant",
        "toolResult",
        "bashExecution",
        "custom",
        "branchSummary",
        "compactionSummary",
        "weird",
    ]
)
messages = st.fixed_dictionaries(
    {"role": roles | st.none()},
    optional={
        "content": st.lists(parts, max_size=3) | texts | st.none(),
        "usage": st.none() | st.fixed_dictionaries({"input": numbers}, optional={"cost": st.fixed_dictionaries({"total": numbers})}),
        "stopReason": st.sampled_from(["stop", "toolUse", "error", None, 5]),
        "timestamp": numbers,
        "tokensBefore": numbers,
        "summary": texts | st.none(),
        "fromId": ids | st.just(5),
        "customType": texts,
        "toolCallId": texts,
        "command": texts,
    },
)  # fmt: skip
entries = st.fixed_dictionaries(
    {"schema": st.just(SCHEMA), "kind": st.just("entry"), "id": ids},
    optional={
        "prev": ids | st.none() | st.just(5),
        "role": st.sampled_from(["user", "assistant", "note", "x"]) | st.just(5),
        "message": messages | st.sampled_from([None, 5, "x"]),
        "at": st.sampled_from(["2026-11-15T07:28:48.544Z", "2026-11-15T07:28:49.000Z", "", "never"])
        | st.just(5),
        "meta": st.sampled_from([{}, {"command": "ls"}, [1]]),
    },
)
regular = st.builds(
    lambda key, prev, role: json.loads(node(key, prev, role)),
    ids,
    ids | st.none(),
    st.sampled_from(["user", "assistant"]),
)
heads = st.fixed_dictionaries(
    {"schema": st.just(SCHEMA), "kind": st.just("head"), "sessionId": texts},
    optional={"leaf": ids | st.none() | st.just(5), "id": st.just(7)},
)
objects = st.one_of(
    regular,
    regular,
    entries,
    heads,
    st.sampled_from(
        [
            {"schema": "indus/transcript@2", "kind": "entry"},
            {"schema": SCHEMA, "kind": "x"},
            {},
            {"schema": 5},
        ]
    ),
)
lines = st.one_of(
    objects.map(lambda value: json.dumps(value, separators=(",", ":")).encode()),
    objects.map(lambda value: json.dumps(value, separators=(",", ":")).encode()),
    st.sampled_from([b"", b"  ", b"{", b"null", b"[]", b"\0\0"]),
    st.tuples(objects, st.integers(1, 160)).map(
        lambda torn: json.dumps(torn[0], separators=(",", ":")).encode()[: torn[1]]
    ),
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    data = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    for line in draw(st.lists(lines, max_size=12)):
        data += line + draw(SEPARATORS)
    return data


class TestInduscodeLines(LineLaws):
    format, reader, name, files, samples = INDUSCODE, InduscodeReader, NAME, files(), ALL

    def small_file(self) -> bytes:
        return sample("s_mwhiju74").read_bytes()

    def file_to_corrupt(self) -> bytes:
        return b"".join(sample("s_mwhiju8t").read_bytes().splitlines(keepends=True)[:4])


# -- what is written is read again ------------------------------------------------------------------------

times = st.integers(1, 4_000_000_000_000)
counts = st.integers(0, 10**9)
arguments = st.dictionaries(
    texts, st.none() | st.integers(-(10**30), 10**30) | texts | st.lists(texts), max_size=3
)
blocks = st.one_of(
    st.builds(Text, text=texts, text_signature=st.none() | texts),
    st.builds(Thinking, thinking=texts, thinking_signature=st.none() | texts),
    st.builds(Image, data=texts, mime_type=texts),
    st.builds(ToolCall, id=texts, name=texts, arguments=arguments, thought_signature=st.none() | texts),
    unknown_blocks,
)
several = st.lists(blocks, max_size=3).map(tuple)
spent = st.builds(
    lambda tokens, cost: Usage(
        input=tokens[0],
        output=tokens[1],
        cache_read=tokens[2],
        cache_write=tokens[3],
        total_tokens=sum(tokens),
        cost=Cost(input=cost[0], output=cost[1], cache_read=cost[2], cache_write=cost[3], total=cost[4]),
    ),
    st.tuples(counts, counts, counts, counts),
    st.tuples(*[st.floats(0, 100)] * 5),
)
stored = st.one_of(
    st.builds(UserMessage, content=several | texts, timestamp=times),
    st.builds(
        AssistantMessage,
        content=several,
        api=texts,
        provider=texts,
        model=texts,
        usage=spent,
        stop_reason=st.sampled_from(["stop", "length", "toolUse", "error", "aborted"]),
        error_message=st.none() | texts,
        timestamp=times,
    ),
    st.builds(
        ToolResult,
        tool_call_id=texts,
        tool_name=texts,
        content=several,
        details=st.none() | arguments,
        is_error=st.booleans(),
        timestamp=times,
    ),
    st.builds(
        BashExecution,
        command=texts,
        output=texts,
        exit_code=st.none() | st.integers(0, 255),
        cancelled=st.booleans(),
        truncated=st.booleans(),
        full_output_path=st.none() | texts,
        exclude_from_context=st.none() | st.booleans(),
        timestamp=times,
    ),
)
common = {"id": st.just("e" * 16), "parent": st.just("a"), "timestamp": times.map(iso)}
records = st.one_of(
    st.builds(MessageEntry, **common, message=stored),
    st.builds(
        CustomMessage,
        **common,
        custom_type=texts,
        content=several | texts,
        display=st.booleans(),
        details=st.none() | arguments,
    ),
    st.builds(
        BranchSummary,
        **common,
        from_id=texts.filter(bool),
        summary=texts,
        details=st.none() | arguments,
        from_hook=st.none() | st.booleans(),
    ),
)


@MANY
@given(records)
def test_a_record_that_is_written_is_read_as_it_was(record):
    """decode(encode(record)) == record"""
    data = node("a", None)
    line = INDUSCODE.writer.encode([record], read(data).reading)

    found = read(data + line)

    assert found.entry(1) == record
    assert found.findings == []


@MANY
@given(st.data())
def test_a_session_that_was_written_step_by_step_is_found_again_also_by_the_rules_of_induscode(data):
    session = Session.in_memory(data=node("a", None), clock=FixedClock(1_794_722_740_407))
    for step in data.draw(st.lists(st.sampled_from("uuuaabbrscg"), max_size=12)):
        keys = session.index.keys
        match step:
            case "u":
                session.append_message("question")
            case "a":
                session.append_message(AssistantMessage(content="answer", usage=Usage(input=1)))
            case "b":
                target = data.draw(st.sampled_from(keys))
                if target != session.leaf:
                    move(session, target)
            case "s":
                session.branch_with_summary(data.draw(st.sampled_from(keys)), "was elsewhere")
            case "r" if session.leaf is not None:
                move(session, None)
            case "c":
                session.append_compaction("short")
            case "g":
                # induscode goes on where we stand, without a head of its own
                key = f"01{len(keys):024d}"
                written = session.transcript.bytes_between(0, None) + node(key, session.leaf)
                session = Session.in_memory(
                    data=written, clock=FixedClock(1_794_722_740_407, seed=len(keys) * 100)
                )
                assert session.leaf == key
                continue
            case _:
                pass
        written = session.transcript.bytes_between(0, None)
        again = read(written, "memory")
        assert facts(again) == facts(session.transcript)
        assert again.leaf == session.leaf
        if step in "uasc":
            assert again.findings == []
            assert as_induscode(written)["path"] == session.path()


@MANY
@given(files())
def test_a_fork_of_any_file_at_any_entry_shows_the_same_path(data):
    source = read(data)
    tree = source.tree
    for position in range(len(tree)):
        path = [key for key in tree.path(tree.keys[position]) if tree.positions[key] not in tree.placeholders]

        fork = read(INDUSCODE.writer.fork(source, position, Header(id="new")))

        assert fork.tree.path(fork.leaf) == path
