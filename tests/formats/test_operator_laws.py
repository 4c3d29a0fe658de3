"""Laws of Operator's format: whatever is in a file opens; what is written is read again."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from branchline import Session
from branchline.clock import FixedClock, iso
from branchline.entries import (
    AssistantMessage,
    Compaction,
    Cost,
    Custom,
    CustomMessage,
    Header,
    Image,
    MessageEntry,
    ModelChange,
    SystemMessage,
    Text,
    Thinking,
    ThinkingLevelChange,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from branchline.formats import EntryLog
from branchline.formats.operator import OPERATOR
from branchline.formats.operator.reader import OperatorReader
from branchline.formats.operator.records import LEVELS
from formats.line_laws import (
    MANY,
    SEPARATORS,
    LineLaws,
    alike_in_lists,
    alike_with_care,
)
from formats.operator_kit import HEADER, SAMPLES, as_operator, line_ids, read, sample
from readings import facts
from strategies import texts, wild_texts

NAME = "x.jsonl"
ALL = sorted(SAMPLES.rglob("*.jsonl"))

# -- files of any shape -----------------------------------------------------------------------------------

ids = st.sampled_from(["a", "b", "c", "d", "e", "a.1", "b#2", "x y"]) | st.text(min_size=1, max_size=4)
moments = st.floats(0, 2e9) | st.integers(0, 2**31) | st.sampled_from([-1, 1e300, "2026", None, True])
parts = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "content": wild_texts | st.sampled_from(["", " ", 5])}),
    st.fixed_dictionaries({"type": st.just("thinking"), "content": texts, "signature": texts}),
    st.fixed_dictionaries({"type": st.just("image"), "images": st.lists(texts, max_size=2)}),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_call"),
            "id": ids,
            "name": texts,
            "args": st.just({"id": "x"}),
            "metadata": st.just({}),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_result"),
            "id": ids,
            "content": texts,
            "is_error": st.booleans(),
            "metadata": st.just({}),
        }
    ),
    st.sampled_from([{"type": "audio", "audio": []}, {"type": "video"}, {}, None, "text"]),
)
messages = st.fixed_dictionaries(
    {
        "contents": st.lists(parts, max_size=4) | st.none(),
        "id": texts,
        "timestamp": moments,
        "role": st.sampled_from(["user", "assistant", "tool", "tool", "system", "custom", "oracle", None]),
    },
    optional={
        "stop_reason": st.sampled_from(["stop", "tool_calls", "error", "tired", None, 5]),
        "usage": st.none(),
    },
)
entries = st.fixed_dictionaries(
    {"id": ids, "timestamp": moments},
    optional={"parent_id": ids | st.none() | st.just(7)},
).flatmap(
    lambda common: st.one_of(
        st.fixed_dictionaries({"type": st.just("message"), "message": messages}),
        st.fixed_dictionaries(
            {"type": st.just("leaf")}, optional={"target_id": ids | st.none() | st.just(7)}
        ),
        st.fixed_dictionaries(
            {"type": st.just("label"), "target_id": ids | st.just(7)},
            optional={"label": texts | st.none() | st.just(7)},
        ),
        st.fixed_dictionaries({"type": st.just("session_info")}, optional={"name": texts | st.none()}),
        st.sampled_from(
            [
                {"type": "custom", "custom_type": "t", "data": {"id": "a"}},
                {"type": "channel", "name": "stdio"},
                {
                    "type": "compaction",
                    "summary": "s",
                    "first_kept_entry_id": "a",
                    "tokens_before": 1,
                    "from_hook": False,
                },
                {"type": "branch_summary", "from_id": "root", "summary": "s", "from_hook": True},
                {"type": "custom_message", "custom_type": "t", "content": [], "display": True},
                {"type": "model_change", "model_id": "m", "provider_id": "p"},
                {"type": "thinking_level_change", "thinking_level": "high"},
                {"type": "poll"},
                {"type": "message"},
                {},
            ]
        ),
    ).map(lambda own: {**common, **own})
)
lines = st.one_of(
    entries.map(lambda entry: json.dumps(entry, separators=(",", ":")).encode("utf-8", "surrogatepass")),
    st.sampled_from([b"", b"  ", b"{", b"null", b"[]", b"\0\0", HEADER.strip(), HEADER.strip()[:40], b'{"type":"session"}']),
    st.tuples(entries, st.integers(1, 120)).map(
        lambda torn: json.dumps(torn[0], separators=(",", ":")).encode()[: torn[1]]
    ),
)  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Header and entries in order, or anything else."""
    data = draw(st.sampled_from([HEADER, HEADER, HEADER, b"", b"\xef\xbb\xbf" + HEADER]))
    for line in draw(st.lists(lines, max_size=12)):
        data += line + draw(SEPARATORS)
    return data


known_parts = st.one_of(
    st.builds(lambda text: {"type": "text", "content": text}, texts),
    st.sampled_from(
        [
            {"type": "image", "images": ["iVBORw0KGgo"]},
            {"type": "thinking", "content": "hm", "signature": ""},
            {"type": "audio", "audio": []},
            {"type": "tool_call", "id": "c1", "name": "read", "args": {}, "metadata": {}},
            {"type": "tool_result", "id": "c1", "content": "r", "is_error": False, "metadata": {}},
            {"type": "tool_result", "id": "c2", "content": "r", "is_error": True, "metadata": {}},
        ]
    ),
)
known_messages = st.fixed_dictionaries(
    {
        "contents": st.lists(known_parts, max_size=4),
        "timestamp": st.integers(1_781_000_000, 1_781_000_999),
        "role": st.sampled_from(["user", "assistant", "tool", "system"]),
    },
    optional={
        "stop_reason": st.sampled_from(["stop", "tool_calls", "error"]),
        "usage": st.just({"input_tokens": 5, "output_tokens": 7}),
    },
)
known_entries = st.one_of(
    st.fixed_dictionaries({"type": st.just("message"), "message": known_messages}),
    st.fixed_dictionaries(
        {"type": st.just("model_change"), "model_id": st.sampled_from("mn"), "provider_id": st.just("p")}
    ),
    st.fixed_dictionaries({"type": st.just("session_info"), "name": texts}),
    st.fixed_dictionaries({"type": st.just("leaf"), "target_id": st.sampled_from(["e0", "e1", "e2"])}),
)


@st.composite
def orderly(draw: st.DrawFn) -> bytes:
    """Entries that Operator itself could have written, on one branch or several."""
    header = {"type": "session", "version": 3, "id": "s", "timestamp": 1_781_000_500.5, "cwd": "/p"}
    if draw(st.booleans()):
        header["parent_session"] = "/elsewhere.jsonl"
    data = json.dumps(header, separators=(",", ":")) + "\n"
    for number, own in enumerate(draw(st.lists(known_entries, max_size=10))):
        time = 1_781_000_000 + draw(st.integers(0, 999))
        fields = {"id": f"e{number}", "timestamp": time, **own}
        if number:
            fields["parent_id"] = f"e{draw(st.sampled_from([number - 1, number - 1, 0]))}"
        data += json.dumps(fields, separators=(",", ":")) + "\n"
    return data.encode("utf-8", "surrogatepass")


@MANY
@given(orderly())
def test_a_file_in_good_order_is_read_alike_with_care_and_in_lists(data):
    alike_with_care(OPERATOR, OperatorReader, data, NAME)
    alike_in_lists(OPERATOR, data, NAME)


class TestOperatorLines(LineLaws):
    format, reader, name, files, samples = OPERATOR, OperatorReader, NAME, files(), ALL
    other_lines = 1

    def small_file(self) -> bytes:
        return sample("019eb0d0-6ff0").read_bytes()

    def file_to_corrupt(self) -> bytes:
        whole = self.small_file().splitlines(keepends=True)
        return b"".join([whole[0], *whole[3:6], *whole[9:]])


# -- what is written is read again ------------------------------------------------------------------------

arguments = st.dictionaries(
    texts, st.none() | st.integers(-(2**53), 2**53) | texts | st.lists(texts), max_size=3
)
times = st.integers(1, 4_000_000_000_000)
pictures = st.builds(
    lambda data: Image(data="iVBORw0KGgo" + data, mime_type="image/png"), st.text("ABC+/", max_size=5)
)
written_texts = st.builds(Text, text=wild_texts)
thoughts = st.builds(
    Thinking, thinking=wild_texts, thinking_signature=st.none() | st.text(min_size=1, max_size=5)
)
calls = st.builds(ToolCall, id=texts, name=texts, arguments=arguments, thought_signature=st.none() | texts)
counts = st.integers(0, 10**9)
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


def several(*blocks: Any) -> st.SearchStrategy[Any]:
    return st.lists(st.one_of(*blocks), max_size=3).map(tuple)


stored = st.one_of(
    st.builds(UserMessage, content=several(written_texts, pictures), timestamp=times),
    st.builds(SystemMessage, content=several(written_texts), timestamp=times),
    st.builds(
        AssistantMessage,
        content=several(written_texts, thoughts, calls),
        usage=spent,
        stop_reason=st.sampled_from(["stop", "length", "toolUse", "error", "aborted"]),
        error_message=st.none() | st.text(min_size=1, max_size=9),
        timestamp=times,
    ),
    st.builds(
        ToolResult,
        tool_call_id=texts,
        tool_name=st.just(""),
        content=st.builds(lambda text: (Text(text=text),), wild_texts),
        details=st.none() | st.dictionaries(texts, texts, min_size=1, max_size=2),
        is_error=st.booleans(),
        timestamp=times,
    ),
)


def moment(second: int) -> str:
    return iso(second * 1000 + second % 1000)


common = {
    "id": st.just("e" * 16),
    "parent": st.just("d31526e7"),
    "timestamp": st.integers(1, 4_000_000_000).map(moment),
}


records = st.one_of(
    st.builds(MessageEntry, **common, message=stored),
    st.builds(ModelChange, **common, provider=texts, model_id=texts),
    st.builds(ThinkingLevelChange, **common, thinking_level=st.sampled_from(sorted(LEVELS))),
    st.builds(
        Compaction,
        **common,
        summary=wild_texts,
        first_kept=st.just("d31526e7"),
        tokens_before=counts,
        details=st.none() | st.dictionaries(texts, texts, max_size=2),
        from_hook=st.booleans(),
    ),
    st.builds(Custom, **common, custom_type=texts, data=st.none() | arguments),
    st.builds(
        CustomMessage,
        **common,
        custom_type=texts,
        content=several(written_texts, pictures),
        display=st.booleans(),
        details=st.none() | arguments,
    ),
)
FIRST = (
    b'{"id":"d31526e7","timestamp":1781082904.1,"type":"message","message":{"contents":[{"type":"text","content":"hi"}],'
    b'"id":"m","timestamp":1781082904.0,"role":"user"}}\n'
)


@MANY
@given(records)
def test_a_record_that_is_written_is_read_as_it_was(record):
    """decode(encode(record)) == record"""
    data = HEADER + FIRST
    line = OPERATOR.writer.encode([record], read(data).reading)

    found = read(data + line)

    assert found.entry(1) == record
    assert found.findings == []
    assert len(line.decode().splitlines()) == 1


@MANY
@given(st.data())
def test_a_session_that_was_written_step_by_step_is_read_as_it_was(data):
    session = Session.in_memory(data=HEADER, clock=FixedClock(1_781_082_903_000))
    for step in data.draw(st.lists(st.sampled_from("uuaatlcnbrs"), max_size=12)):
        keys = [key for key in session.index.keys if key == session._conversation_at(key)]
        match step:
            case "u":
                session.append_message("question")
            case "a":
                session.append_message(AssistantMessage(content="answer", usage=Usage(input=1)))
            case "t":
                session.set_title(data.draw(st.sampled_from(["one", "two"])))
            case "l" if keys:
                session.append_label(
                    data.draw(st.sampled_from(keys)), data.draw(st.sampled_from(["x", None]))
                )
            case "c":
                session.append_custom("t", 1)
            case "n":
                session.append_compaction("short", first_kept=session.leaf)
            case "b" if keys:
                session.branch(data.draw(st.sampled_from(keys)))
            case "s" if keys:
                session.branch_with_summary(data.draw(st.sampled_from(keys)), "was elsewhere")
            case "r":
                session.reset()
            case _:
                pass
    written = session.transcript.bytes_between(0, None)

    again = read(written, "memory")
    ruled = as_operator(written)

    assert facts(again) == facts(session.transcript)
    assert again.leaf == session.leaf
    assert again.findings == []
    assert ruled["title"] == session.title
    assert ruled["labels"] == session.labels
    kinds = session.index
    assert [key for key in ruled["path"] if kinds.types[kinds.position(key)] not in _SIDE] == session.path()


_SIDE = {"label", "session_info", "leaf", "custom"}


@MANY
@given(files())
def test_a_fork_of_any_file_at_any_entry_shows_the_same_conversation(data):
    source = read(data)
    header = Header(id="n", version=3, timestamp="2026-06-11T00:00:00.000Z", cwd="/p")
    tree = source.tree
    for position in range(len(tree)):
        if position in source.reading.inner or tree.nearest_conversation_entry(position) != position:
            continue
        fork = read(OPERATOR.writer.fork(source, position, header))

        assert _said(fork, fork.reading.leaf) == _said(source, position)


def _said(found: EntryLog, position: int) -> list[str]:
    """The conversation, line by line; results that share a line have names that depend on it."""
    tree = found.tree
    chain = [step for step in tree.path_positions(position) if step not in tree.placeholders]
    return line_ids(found, [step for step in chain if tree.nearest_conversation_entry(step) == step])
