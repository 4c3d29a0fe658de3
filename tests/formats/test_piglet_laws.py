"""Laws of piglet's format: whatever is in a file opens; what is written is read again, by piglet too."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from branchline.entries import (
    AssistantMessage,
    Cost,
    Image,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from branchline.errors import NotSupported
from branchline.formats import EntryLog
from branchline.formats.piglet import PIGLET, PigletReader
from formats.line_laws import (
    MANY,
    SEPARATORS,
    LineLaws,
)
from formats.piglet_kit import (
    HEADER,
    META,
    SAMPLES,
    answer,
    as_piglet,
    content,
    letters,
    line,
    live,
    read,
    said,
    user,
)
from strategies import go_objects, texts

NAME = "46f1d87e-099f-435d-81b6-34ddf53ec43b.jsonl"
ALL = sorted(SAMPLES.rglob("*.jsonl"))
SMALL = (
    META
    + user("a", None, "é <b>")
    + answer("b", "a", "ok")
    + line("label", "c", "b", {"targetId": "a", "label": "x"})
    + line("branch_summary", "d", "a", {"summary": "", "fromId": "c"})
    + line("compact", "e", "d", [{"type": "user", "ts": "0001-01-01T00:00:00Z", "data": {"content": "s"}}])
    + user("f", "e", "on")
)

# -- files of any shape -----------------------------------------------------------------------------------

ids = st.sampled_from(["a", "b", "c", "d", "e", "f", "L0", "L1", "L2", "b#2", "x y"])
moments = st.sampled_from(
    [
        "2026-11-15T06:36:09.643675607Z",
        "2026-11-15T07:36:09.643675607+01:00",
        "2026-11-15T06:36:09Z",
        "yesterday",
        "",
        None,
        7,
    ]
)
blocks = st.one_of(
    st.fixed_dictionaries({"text": texts | st.sampled_from([" ", None, 5])}),
    st.fixed_dictionaries({"data": texts, "mimeType": texts}),
    st.fixed_dictionaries({"thinking": texts | st.none()}),
    st.fixed_dictionaries({"id": texts, "name": texts, "arguments": go_objects | st.sampled_from([None, [], 5])}),
    st.sampled_from([{}, None, 5, {"id": "x", "providerMeta": {"thoughtSignature": 5}}]),
)  # fmt: skip
contents = st.lists(blocks, max_size=3) | st.sampled_from([None, "words", 5])
payloads = st.one_of(
    st.fixed_dictionaries({"content": contents}, optional={"blocks": contents, "timestamp": moments}),
    st.fixed_dictionaries(
        {"content": contents},
        optional={
            "stopReason": st.sampled_from(["stop", "toolUse", "error", None, 5]),
            "usage": st.sampled_from([None, {}, {"inputTokens": "5", "cost": 0.5}, 5]),
            "model": texts | st.just(5),
            "branchline": st.sampled_from([{"api": "x", "content": {"0": {"text": 5}}, "role": "oracle"}, {"usage": 5}, 5]),
        },
    ),
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", None, 5]), "content": texts | st.just(5)}),
    st.fixed_dictionaries({"summary": texts | st.sampled_from(["", None, 5]), "fromId": ids | st.just(5)}),
    st.fixed_dictionaries({"targetId": ids | st.just(5), "label": texts | st.sampled_from(["", None, 5])}),
    st.lists(
        st.fixed_dictionaries({"type": st.sampled_from(["user", "assistant", "label"]), "data": st.just({"content": None})})
        | st.none(),
        max_size=2,
    ),
    st.sampled_from([None, 5, "x", {}, {"thinkingLevel": "high"}]),
)  # fmt: skip
kinds = st.sampled_from(
    [
        "user",
        "assistant",
        "tool_result",
        "compact",
        "branch_summary",
        "label",
        "custom_message",
        "ext:x:y",
        "ext:branchline:usage",
        "ext:branchline:thinking_level_change",
        "poll",
        "",
    ]
)
rows = st.fixed_dictionaries(
    {"type": kinds},
    optional={"id": ids, "parentId": ids | st.sampled_from(["", "zz"]), "ts": moments, "data": payloads},
)
values = st.one_of(
    rows,
    rows,
    rows,
    st.fixed_dictionaries(
        {"type": st.just("meta"), "ts": moments},
        optional={
            "id": ids,
            "data": st.fixed_dictionaries(
                {"id": texts | st.just(5)},
                optional={"title": texts | st.none(), "parentId": texts, "forkPoint": st.sampled_from([1, 2, "2", True]), "createdAt": moments},
            )
            | st.none(),
        },
    ),
    st.sampled_from([{}, {"type": 5}, {"id": "a"}, {"type": "user", "id": 5}, {"type": "user", "id": "a", "parentId": 5}]),
)  # fmt: skip
lines = st.one_of(
    values.map(lambda value: json.dumps(value, separators=(",", ":")).encode()),
    st.sampled_from([b"", b"  ", b"{", b"null", b"[]", b"5", b"\0\0", META.strip(), META.strip()[:40]]),
    st.tuples(values, st.integers(1, 120)).map(
        lambda torn: json.dumps(torn[0], separators=(",", ":")).encode()[: torn[1]]
    ),
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A meta row and others in order, or anything else."""
    data = draw(st.sampled_from([META, META, META, b"", b"\xef\xbb\xbf" + META]))
    for text in draw(st.lists(lines, max_size=12)):
        data += text + draw(SEPARATORS)
    return data


class TestPigletLines(LineLaws):
    format, reader, name, files, samples = PIGLET, PigletReader, NAME, files(), ALL
    unstable_samples = frozenset({"legacy-bad-line"})
    other_lines = 1

    def small_file(self) -> bytes:
        return SMALL

    def check(self, found: EntryLog) -> None:
        assert all(parent < position for position, parent in enumerate(found.tree.parents))

    def is_stable(self, data: bytes) -> bool:
        """The number of a damaged line without an id is decided by what follows it."""
        return not any(
            finding.kind in ("unreadable", "glued", "no-final-newline") for finding in read(data).findings
        )


@MANY
@given(files())
def test_any_file_can_be_forked_and_copied_and_the_copy_says_the_same(data):
    found = read(data)
    if found.reading.header is None or found.reading.read_only:
        return

    copied, forked = (
        read(PIGLET.writer.copy(found, HEADER)),
        read(PIGLET.writer.fork(found, found.reading.leaf, HEADER)),
    )

    assert letters_of(forked) == letters_of(found)
    assert forked.tree.parents == list(range(-1, len(forked.tree) - 1))
    assert readable(copied) == readable(found)


def readable(found: Any) -> list[str]:
    """The ids as written: the number behind a repeated one also counts damaged lines, which a copy leaves out."""
    return [
        re.sub(r"#\d+$", "", key)
        for position, key in enumerate(found.tree.keys)
        if position not in found.tree.placeholders
    ]


def letters_of(found: Any) -> str:
    """Who speaks, whatever they say."""
    return "".join(type(message).__name__[0].replace("C", "U") for message in said(found))


# -- what is written --------------------------------------------------------------------------------------

stamps = st.integers(0, 4_000_000_000_000)
optional_texts = st.none() | texts.filter(bool)
pictures = st.builds(Image, data=texts, mime_type=texts.filter(bool))
words = st.builds(Text, text=texts, text_signature=optional_texts)
thoughts = st.builds(Thinking, thinking=texts, thinking_signature=optional_texts)
tool_calls = st.builds(
    ToolCall, id=texts.filter(bool), name=texts, arguments=go_objects, thought_signature=optional_texts
)
prompts = st.builds(UserMessage, content=st.lists(words | pictures, max_size=3).map(tuple), timestamp=stamps)
answers = st.builds(
    AssistantMessage,
    content=st.lists(words | thoughts | tool_calls, max_size=4).map(tuple),
    api=optional_texts,
    provider=st.sampled_from(["anthropic", "openai"]),
    model=st.sampled_from(["claude-sonnet-4-5", "gpt-5.1"]),
    stop_reason=st.sampled_from(["stop", "toolUse", "length", "error", "aborted"]),
    error_message=optional_texts,
    usage=st.builds(
        Usage,
        input=st.integers(0, 10**9),
        output=st.integers(0, 10**9),
        total_tokens=st.integers(0, 10**9),
        cost=st.builds(Cost, input=st.floats(0, 1), total=st.floats(0, 1)),
    ),
    timestamp=stamps,
)
results = st.builds(
    ToolResult,
    tool_call_id=texts,
    tool_name=texts.filter(bool),  # an empty one is filled in from its call
    content=st.lists(words | pictures, max_size=2).map(tuple),
    is_error=st.booleans(),
    details=st.none() | go_objects,
    timestamp=stamps,
)


@MANY
@given(st.lists(prompts | answers | results, max_size=6))
def test_what_is_written_is_read_again(messages):
    session = live(META)

    for message in messages:
        session.append_message(message)

    found = read(content(session))
    records = found.entries(range(len(found.tree)))
    assert not found.findings
    assert [entry.message for entry in records if isinstance(entry, MessageEntry)] == messages


verbs = st.one_of(
    st.tuples(st.just("say"), st.integers(0, 9)),
    st.tuples(st.just("branch"), st.integers(0, 9)),
    st.tuples(st.just("summary"), st.integers(0, 9)),
    st.tuples(st.just("label"), st.integers(0, 9)),
    st.tuples(st.just("custom"), st.integers(0, 9)),
    st.tuples(st.just("compact"), st.integers(0, 9)),
    st.tuples(st.just("reset"), st.integers(0, 9)),
)


@MANY
@given(st.lists(verbs, max_size=14))
def test_whatever_is_done_piglet_stands_where_we_stand(steps):
    session = live(META)

    for verb, number in steps:
        keys = session.index.keys
        target = keys[number % len(keys)] if keys else None
        if verb == "say":
            session.append_message(f"words {number}")
        elif verb == "custom":
            session.append_custom("ext:x:y", {"n": number})
        elif verb == "compact":
            session.append_compaction(f"summary {number}")
        elif verb == "reset":
            session.reset()
        elif target is not None and verb == "branch":
            session.branch(target)
        elif target is not None and verb == "summary":
            session.branch_with_summary(target, "left")
        elif target is not None:
            session.append_label(target, f"label {number}")
        data = content(session)
        found = read(data)
        assert found.leaf == session.leaf
        assert not found.findings
        assert as_piglet(data)["path"] == [
            found.tree.keys[place] for place in found.tree.path_positions(found.reading.leaf)
        ]
        assert as_piglet(data)["context"] == letters(said(found))


@MANY
@given(files(), st.integers(0, 20))
def test_a_message_can_be_appended_to_any_file_that_is_open_for_it(data, number):
    found = read(data)
    if found.reading.read_only or found.reading.unterminated or not PIGLET.reader.sniff(data, NAME):
        return
    session = live(data)

    try:
        session.append_message("on")
    except NotSupported:  # the id of the leaf means another entry by now
        return

    again = read(content(session))
    assert again.leaf == session.leaf
    assert [key for key in again.tree.keys if key != session.leaf] == found.tree.keys


# -- size -------------------------------------------------------------------------------------------------


def test_many_lines_cost_no_more_each_than_few():
    def lines_of(count: int) -> bytes:
        return META + b"".join(
            user(f"{n:08x}", f"{n - 1:08x}" if n else None, "x" * 40) for n in range(count)
        )

    def seconds(data: bytes) -> float:
        started = time.process_time()
        read(data)
        return time.process_time() - started

    few, many = lines_of(4_000), lines_of(32_000)
    seconds(few)

    assert min(seconds(many) for _ in range(3)) < 8 * 2.5 * min(seconds(few) for _ in range(5))
