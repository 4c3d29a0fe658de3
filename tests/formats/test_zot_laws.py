"""Laws of zot's format: whatever is in a file opens; what is written is read again."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline.entries import (
    AssistantMessage,
    Cost,
    Image,
    MessageEntry,
    ModelChange,
    SessionInfo,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from branchline.formats import EntryLog
from branchline.formats.zot import ZOT
from branchline.formats.zot.reader import ZotReader
from branchline.formats.zot.rows import row_of
from formats.line_laws import (
    MANY,
    SEPARATORS,
    LineLaws,
    alike_in_lists,
    read_with,
)
from formats.zot_kit import HEADER, META, SAMPLES, message, read, sample, usage
from readings import facts
from strategies import go_objects, texts

NAME = "20261115-063609-c16e23b8.jsonl"
ALL = sorted(path for path in SAMPLES.rglob("*") if path.suffix in (".jsonl", ".zotsession"))
SMALL = META + message("user", {"text": "é <b>"}) + usage(tokens=10, cost=0.5) + message(
    "assistant", {"text": "ok"}, {"id": "c", "name": "read", "arguments": {"type": "x"}}
) + message("tool", {"call_id": "c", "content": [{"text": "r"}], "is_error": False}) + b'{"title":"t","type":"rename"}\n'  # fmt: skip


# -- files of any shape -----------------------------------------------------------------------------------

moments = st.sampled_from(
    [
        "2026-11-15T06:36:09.643675607Z",
        "2026-11-15T06:36:09.6Z",
        "2026-11-15T06:36:09Z",
        "2026-11-15T07:36:09.643675607+01:00",
        "2026-11-15T07:37:09.643+01:00",
        "2026-99-15T07:37:09.643+01:00",
        "0001-01-01T00:00:00+14:00",
        "0001-01-01T00:00:00Z",
        "soon",
        "",
        None,
        7,
    ]
)
calls = st.sampled_from(["a", "b", "", None, 7])
blocks = st.one_of(
    st.fixed_dictionaries({"text": texts | st.sampled_from(["", " ", None, 5])}),
    st.fixed_dictionaries({"mime_type": texts, "data": texts | st.just(5)}),
    st.fixed_dictionaries({"id": calls, "name": texts | st.none(), "arguments": go_objects | st.sampled_from([None, [], 5])}),
    st.fixed_dictionaries({"call_id": calls, "content": st.lists(st.just({"text": "r"}), max_size=2) | st.none(), "is_error": st.sampled_from([True, False, None])}),
    st.fixed_dictionaries({"reasoning_id": texts, "summary": texts, "encrypted_content": texts}),
    st.sampled_from([{}, {"summary": "s"}, {"summary": "s", "text": "t"}, None, "text", 5, {"call_id": 5}]),
)  # fmt: skip
contents = st.lists(blocks, max_size=4) | st.sampled_from([None, "plain", 5, {}])
metas = st.sampled_from(
    [
        {"compaction": "true", "tokens_before": "12"},
        {"compaction": "true", "tokens_before": "²"},
        {"branchline": '{"api":"x","content":{"0":{"textSignature":"s"},"9":5,"x":1}}'},
        {"branchline": '{"0":{"details":1},"role":5,"content":7}'},
        {"branchline": "{"},
        {"branchline": 5},
        5,
    ]
)
said = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "tool", "oracle", None, 5]), "content": contents},
    optional={"time": moments, "meta": metas},
)
sums = st.fixed_dictionaries(
    {"input_tokens": st.integers(0, 9) | st.sampled_from([None, "1", True, 1.5]), "cost_usd": st.floats(0, 1)}
)
values = st.one_of(
    st.fixed_dictionaries({"type": st.just("message"), "message": said}),
    st.fixed_dictionaries(
        {"type": st.just("usage")}, optional={"usage": sums, "cumulative": sums | st.none()}
    ),
    st.fixed_dictionaries({"title": texts | st.sampled_from(["", None, 5]), "type": st.just("rename")}),
    st.fixed_dictionaries(
        {"type": st.just("meta")},
        optional={
            "meta": st.fixed_dictionaries(
                {"id": texts | st.just(5), "model": texts | st.none(), "provider": texts},
                optional={
                    "title": texts | st.none(),
                    "parent": texts,
                    "fork_point": st.sampled_from([0, 1, 2, 99, -1, "2", True, 1.5]),
                    "started": moments,
                    "cwd": texts | st.none(),
                },
            )
            | st.sampled_from([None, 5, {}])
        },
    ),
    st.sampled_from(
        [
            {"type": "bookmark"},
            {"type": "message"},
            {"type": "message", "message": None, "usage": {}},
            {"type": "usage", "message": {"role": "user"}},
            {"type": 5},
            {},
        ]
    ),
)
lines = st.one_of(
    values.map(lambda value: json.dumps(value, separators=(",", ":")).encode()),
    st.sampled_from([b"", b"  ", b"{", b"null", b"[]", b"\0\0", META.strip(), META.strip()[:40]]),
    st.tuples(values, st.integers(1, 120)).map(
        lambda torn: json.dumps(torn[0], separators=(",", ":")).encode()[: torn[1]]
    ),
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A meta row and others in order, or anything else."""
    data = draw(st.sampled_from([META, META, META, b"", b"\xef\xbb\xbf" + META]))
    for line in draw(st.lists(lines, max_size=12)):
        data += line + draw(SEPARATORS)
    return data


class TestZotLines(LineLaws):
    format, reader, name, files, samples = ZOT, ZotReader, NAME, files(), ALL

    def small_file(self) -> bytes:
        return SMALL

    def check(self, found: EntryLog) -> None:
        assert found.tree.parents == list(range(-1, len(found.tree) - 1))


def test_an_answer_with_a_damaged_extra_field_has_the_same_row_in_a_list():
    data = (
        b'{"type":"meta","meta":{"id":"c16e23b8-0dad-4288-853f-6657b00cae58","model":"claude-sonnet-4-5"}}\n'
        b'{"type":"message","message":{"role":"assistant","content":[{"text":"Yes."}],'
        b'"meta":{"branchline":"{\\"role\\":5,\\"content\\":7,\\"model\\":\\"m\\"}"}}}\n'
    )

    alike_in_lists(ZOT, data, NAME)


@MANY
@given(files())
def test_what_the_fast_way_remembers_is_what_the_careful_way_remembers(data):
    fast = read(data).reading
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ZotReader, "takes_rows", lambda *arguments: False)
        careful = read(data).reading

    for name in ("numbers", "calls_open", "message_rows", "inherited_entries"):
        assert getattr(fast, name) == getattr(careful, name), name
    assert fast.calls == careful.calls
    for position in (*range(len(fast.tree)), len(fast.tree)):
        assert fast.totals_before(position) == careful.totals_before(position)


@MANY
@given(files(), st.randoms(use_true_random=False))
def test_results_name_the_tool_that_the_last_answer_before_them_asked_for(data, chance):
    found = read(data)
    tree, expected, asked = found.tree, {}, {}
    for position, role in enumerate(tree.roles):
        if tree.types[position] != "message" or position in tree.placeholders:
            continue
        record = found.entry(position).message
        if role == "assistant":
            blocks = row_of(found.raw(position)).message.content or ()
            asked = {block.id: block.name for block in blocks if None not in (block.id, block.name)}
        elif isinstance(record, ToolResult):
            expected[position] = asked.get(record.tool_call_id, "")
    order = list(expected)
    chance.shuffle(order)

    named = {position: found.entry(position).message.tool_name for position in order}

    assert named == expected


@MANY
@given(files())
def test_any_file_can_be_forked_copied_and_the_copy_says_the_same(data):
    found = read(data)
    if found.reading.header is None or found.reading.read_only:
        return

    copied, forked = (
        read(ZOT.writer.copy(found, HEADER)),
        read(ZOT.writer.fork(found, len(found.tree) - 1, HEADER)),
    )

    kept = [place for place, kind in enumerate(found.tree.types) if kind == "message"]
    for other in (copied, forked):
        assert not other.findings
        there = [place for place, kind in enumerate(other.tree.types) if kind == "message"]
        assert [other.raw(place) for place in there] == [found.raw(place).strip() for place in kept]
        assert other.reading.totals == found.reading.totals or other is forked


# -- what is written --------------------------------------------------------------------------------------

stamps = st.integers(0, 4_000_000_000_000)
optional_texts = st.none() | texts.filter(bool)
pictures = st.builds(Image, data=texts, mime_type=texts)
words = st.builds(Text, text=texts, text_signature=optional_texts)
thoughts = st.builds(
    Thinking,
    thinking=texts,
    thinking_signature=optional_texts | st.just('{"id":"rs","encrypted_content":"e"}'),
)
tool_calls = st.builds(
    ToolCall, id=texts.filter(bool), name=texts, arguments=go_objects, thought_signature=optional_texts
)
spent = st.builds(
    Usage,
    input=st.integers(0, 10**9),
    output=st.integers(0, 10**9),
    cache_read=st.integers(0, 10**9),
    cache_write=st.integers(0, 10**9),
    cost=st.builds(Cost, total=st.integers(0, 10**6).map(lambda cents: cents / 10**5)),
)
prompts = st.builds(UserMessage, content=st.lists(words | pictures, max_size=3).map(tuple), timestamp=stamps)
answers = st.builds(
    AssistantMessage,
    content=st.lists(
        words | thoughts | tool_calls,
        max_size=4,
        unique_by=lambda b: b.id if isinstance(b, ToolCall) else id(b),
    ).map(tuple),
    api=optional_texts,
    provider=st.sampled_from(["anthropic", "openai"]),
    model=st.sampled_from(["claude-sonnet-4-5", "gpt-5.1"]),
    stop_reason=st.sampled_from(["stop", "toolUse", "length", "error", "aborted"]),
    error_message=optional_texts,
    usage=st.none() | spent,
    timestamp=stamps,
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Any]:
    """Messages as an agent appends them: answers with all their results, prompts, other models, titles."""
    made: list[Any] = []
    for said in draw(st.lists(prompts | answers | st.sampled_from(["title", "model"]), max_size=6)):
        made.append([said])
        if isinstance(said, AssistantMessage):
            made.append(
                [
                    ToolResult(
                        tool_call_id=block.id,
                        tool_name=block.name,
                        content=draw(st.lists(words | pictures, max_size=2).map(tuple)),
                        is_error=draw(st.booleans()),
                        details=draw(st.none() | go_objects),
                        timestamp=said.timestamp,
                    )
                    for block in said.content
                    if isinstance(block, ToolCall)
                ]
            )
    return [group for group in made if group]


def entry_for(said: Any, number: int, parent: str | None) -> Any:
    common: dict[str, Any] = {"id": f"new{number}", "parent": parent, "timestamp": "2026-11-15T06:36:11.5Z"}
    if said == "title":
        return SessionInfo(**common, name=f"title {number}")
    if said == "model":
        return ModelChange(**common, provider="openai", model_id=f"model-{number}")
    return MessageEntry(**common, message=said)


@MANY
@given(conversations())
def test_what_is_written_is_read_again(groups):
    data = META
    for number, group in enumerate(groups):
        found = read(data)
        parent = found.leaf
        entries = [
            entry_for(said, 10 * number + place, parent if not place else f"new{10 * number + place - 1}")
            for place, said in enumerate(group)
        ]
        data += ZOT.writer.encode(entries, found.reading)

    found = read(data)
    records = found.entries(range(len(found.tree)))
    assert not found.findings
    wanted = [said for group in groups for said in group if not isinstance(said, str)]
    got = [entry.message for entry in records if isinstance(entry, MessageEntry)]
    assert list(map(_without_usage, got)) == list(map(_without_usage, wanted))
    cost = sum(said.usage.cost.total for said in wanted if isinstance(said, AssistantMessage) and said.usage)
    assert found.reading.totals.cost_usd == pytest.approx(cost)
    tokens = sum(said.usage.input for said in wanted if isinstance(said, AssistantMessage) and said.usage)
    assert found.reading.totals.input_tokens == tokens


def _without_usage(said: Any) -> Any:
    if isinstance(said, AssistantMessage):
        return AssistantMessage(
            **{name: getattr(said, name) for name in said.__struct_fields__ if name != "usage"}
        )
    return said


@MANY
@given(conversations())
def test_appending_never_changes_what_is_there(groups):
    before = read(META)
    found = EntryLog(ZOT, read_with(ZOT, META, NAME)._read, NAME)
    for number, group in enumerate(groups):
        entries = [
            entry_for(said, 10 * number + place, found.leaf if not place else f"new{10 * number + place - 1}")
            for place, said in enumerate(group)
        ]
        found.take(ZOT.writer.encode(entries, found.reading))

    assert found.tree.keys[: len(before.tree)] == before.tree.keys


# -- size -------------------------------------------------------------------------------------------------


def test_many_rows_cost_no_more_each_than_few():
    turn = b"".join(
        message("user", {"text": "x" * 40}, time=f"2026-11-15T06:{m:02}:{s:02}.643675607Z")
        + usage(tokens=m * 60 + s, cost=0.5)
        + message("assistant", {"text": "y" * 40}, time=f"2026-11-15T07:{m:02}:{s:02}.643675607Z")
        for m in range(60)
        for s in range(0, 60, 4)
    )

    def seconds(data: bytes) -> float:
        started = time.process_time()
        read(data)
        return time.process_time() - started

    few, many = META + turn * 2, META + turn * 16
    seconds(few)

    assert min(seconds(many) for _ in range(3)) < 8 * 2.5 * min(seconds(few) for _ in range(5))


def test_a_file_of_one_row_again_and_again_opens_quickly():
    started = time.process_time()

    found = read(META + message("user", {"text": "again"}) * 30_000)

    assert time.process_time() - started < 5
    assert len(found.tree) == 30_001


def test_the_samples_differ():
    assert facts(read(sample("43d9df14"))) != facts(read(sample("7d292eb4")))
