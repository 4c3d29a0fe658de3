"""Random entries, and random session files with every kind of damage, for anyone's properties."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummary,
    Compaction,
    ContextEdit,
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
    Replacement,
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
    UsageEntry,
    UserMessage,
)

# -- values -----------------------------------------------------------------------------------------------


def _whole(text: str) -> bool:
    """No two surrogates that would become one character when they are written and read."""
    return text == text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


texts = st.text(max_size=30)
wild_texts = st.text(st.characters(), max_size=30).filter(_whole)
"""Also lone surrogates, which JavaScript programs write."""
ids = st.one_of(st.text("0123456789abcdef", min_size=8, max_size=8), st.text(min_size=1, max_size=12))
times = st.datetimes().map(lambda time: time.isoformat(timespec="milliseconds") + "Z")
numbers = st.integers(0, 10**15) | st.floats(0, 10)
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)


# -- records ----------------------------------------------------------------------------------------------

unknown_blocks = st.builds(
    lambda kind, fields: UnknownBlock(type=kind, fields={**fields, "type": kind}),
    texts.filter(lambda kind: kind not in ("text", "image", "thinking", "toolCall")),
    json_objects,
)
blocks = st.one_of(
    st.builds(Text, text=wild_texts, text_signature=maybe(texts)),
    st.builds(Image, data=texts, mime_type=texts),
    st.builds(Thinking, thinking=wild_texts, thinking_signature=maybe(texts), redacted=maybe(st.booleans())),
    st.builds(
        ToolCall,
        id=texts,
        name=texts,
        arguments=json_objects,
        thought_signature=maybe(texts),
        namespace=maybe(texts),
    ),
    unknown_blocks,
)
contents = wild_texts | st.lists(blocks, max_size=4).map(tuple)
usages = st.builds(
    Usage,
    input=numbers,
    output=numbers,
    cache_read=numbers,
    cache_write=numbers,
    reasoning=numbers,
    cache_write_1h=numbers,
    total_tokens=numbers,
    cost=st.builds(
        Cost, input=numbers, output=numbers, cache_read=numbers, cache_write=numbers, total=numbers
    ),
)
user_messages = st.builds(UserMessage, content=contents, timestamp=maybe(numbers))
assistant_messages = st.builds(
    AssistantMessage,
    content=contents,
    api=maybe(texts),
    provider=maybe(texts),
    model=maybe(texts),
    response_model=maybe(texts),
    response_id=maybe(texts),
    provider_thinking_level=maybe(texts),
    thinking_level=maybe(texts),
    diagnostics=json_values,
    usage=maybe(usages),
    stop_reason=maybe(st.sampled_from(["stop", "toolUse", "error", "aborted", "length", "deferred"]) | texts),
    deferred=maybe(json_objects),
    error_message=maybe(texts),
    raw_stop_reason=maybe(texts),
    end_turn=maybe(st.booleans()),
    timestamp=maybe(numbers),
)
tool_results = st.builds(
    ToolResult,
    tool_call_id=texts,
    tool_name=texts,
    content=contents,
    details=json_values,
    usage=maybe(usages),
    nested_calls=maybe(json_objects),
    is_error=st.booleans(),
    timestamp=maybe(numbers),
)
system_messages = st.builds(
    SystemMessage,
    content=contents,
    sections=maybe(st.dictionaries(texts, maybe(texts), max_size=3)),
    tools_added=maybe(st.lists(json_objects, max_size=2).map(tuple)),
    tools_removed=maybe(st.lists(json_objects, max_size=2).map(tuple)),
    timestamp=maybe(numbers),
)
bash_executions = st.builds(
    BashExecution,
    command=wild_texts,
    output=wild_texts,
    exit_code=maybe(numbers),
    cancelled=st.booleans(),
    truncated=st.booleans(),
    full_output_path=maybe(texts),
    exclude_from_context=maybe(st.booleans()),
    timestamp=maybe(numbers),
)
custom_contents = st.builds(
    CustomContent,
    custom_type=texts,
    content=contents,
    display=st.booleans(),
    details=json_values,
    timestamp=maybe(numbers),
)
unknown_messages = st.builds(
    lambda role, fields: UnknownMessage(role=role, fields={**fields, "role": role}),
    st.text("xyz", min_size=1, max_size=8),
    json_objects,
)
messages = st.one_of(
    user_messages,
    assistant_messages,
    tool_results,
    system_messages,
    bash_executions,
    custom_contents,
    unknown_messages,
)

_common = {"id": ids, "parent": maybe(ids), "timestamp": times}
entry_strategies: dict[str, st.SearchStrategy[Any]] = {
    "message": st.builds(MessageEntry, **_common, message=messages),
    "thinking_level_change": st.builds(ThinkingLevelChange, **_common, thinking_level=texts),
    "model_change": st.builds(ModelChange, **_common, provider=texts, model_id=texts),
    "compaction": st.builds(
        Compaction,
        **_common,
        summary=wild_texts,
        first_kept=maybe(ids),
        tokens_before=maybe(numbers),
        details=json_values,
        usage=maybe(usages),
        from_hook=maybe(st.booleans()),
        system_message=maybe(system_messages),
        retained_tail=maybe(st.lists(messages, max_size=2).map(tuple)),
    ),
    "branch_summary": st.builds(
        BranchSummary,
        **_common,
        from_id=maybe(ids),
        summary=wild_texts,
        details=json_values,
        usage=maybe(usages),
        from_hook=maybe(st.booleans()),
    ),
    "custom": st.builds(Custom, **_common, custom_type=texts, data=json_values),
    "custom_message": st.builds(
        CustomMessage,
        **_common,
        custom_type=texts,
        content=contents,
        display=st.booleans(),
        details=json_values,
    ),
    "label": st.builds(Label, **_common, target=ids, label=maybe(wild_texts)),
    "session_info": st.builds(SessionInfo, **_common, name=wild_texts),
    "context_edit": st.builds(
        ContextEdit, **_common, target=ids, replacement=maybe(st.builds(Replacement, content=contents))
    ),
    "usage": st.builds(
        UsageEntry,
        **_common,
        kind=texts,
        provider=maybe(texts),
        model=maybe(texts),
        usage=maybe(usages),
        note=maybe(texts),
    ),
    "leaf": st.builds(Leaf, **_common, target=maybe(ids)),
    "unknown": st.builds(
        lambda kind, entry_id, parent, time, rest: Unknown(
            type=kind,
            id=entry_id,
            parent=parent,
            timestamp=time,
            fields={"type": kind, "id": entry_id, "parentId": parent, "timestamp": time, **rest},
        ),
        st.text("uvwxyz", min_size=1, max_size=8),
        ids,
        maybe(ids),
        times,
        st.dictionaries(st.text("abc", min_size=1, max_size=4), json_values, max_size=3),
    ),
}
"""One strategy per type of entry."""
entries = st.one_of(*entry_strategies.values())
headers = st.builds(
    Header,
    id=ids,
    version=st.integers(1, 3),
    timestamp=times,
    cwd=texts,
    parent_session=maybe(texts),
    metadata=maybe(json_objects),
)


# -- files ------------------------------------------------------------------------------------------------

_POOL = ["a", "b", "c", "d", "e", "f", "a#2", "b#2", ""]
"""Few ids, so that repeated ids, rings and forward references come up by themselves."""
_TYPES = [
    "message",
    "message",
    "message",
    "label",
    "session_info",
    "leaf",
    "custom",
    "compaction",
    "odd_type",
]
_FURTHER: dict[str, list[dict[str, Any]]] = {
    "label": [{"targetId": "a", "label": "here"}, {"targetId": "a"}, {"targetId": "zz", "label": "there"}],
    "session_info": [{"name": ""}, {"name": " a name "}, {"name": "другое"}],
    "leaf": [
        {"targetId": None},
        {"targetId": "a"},
        {"targetId": "b"},
        {"targetId": "lost"},
        {"targetId": 5},
        {},
    ],
    "compaction": [{"summary": "s", "firstKeptEntryId": "a", "tokensBefore": 5}],
    "custom": [{"customType": "x", "data": {"id": "inside", "parentId": "a"}}],
    "odd_type": [{"more": 1}, {"message": {"role": "user", "content": "x", "timestamp": 50}}],
    "message": [
        {"message": message}
        for message in [
            {"role": "user", "content": "hello", "timestamp": 5},
            {"role": "user", "content": [{"type": "text", "text": "hello"}], "timestamp": 9},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "words"}],
                "stopReason": "stop",
                "timestamp": 7,
            },
            {
                "role": "assistant",
                "content": [{"type": "text", "text": " "}],
                "stopReason": "stop",
                "timestamp": 7,
            },
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "hm"}],
                "stopReason": "toolUse",
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": '},{"type":"text","text":"no"'},
                    {"type": "text", "text": ""},
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "1", "name": "x", "arguments": {"text": "t"}}],
            },
            {"role": "assistant", "content": [], "stopReason": "error"},
            {"role": "assistant", "content": "text, not blocks", "timestamp": 0},
            {"role": "assistant", "content": "", "timestamp": -4},
            {"role": "assistant", "content": None, "stopReason": None},
            {"role": "assistant", "content": [{"type": "new", "text": "t"}], "timestamp": 1e300},
            {"role": "assistant"},
            {"role": "toolResult", "toolCallId": "1", "toolName": "x", "content": [], "timestamp": 99},
            {"role": "hookMessage", "content": "x", "timestamp": 3},
            {"role": "stranger", "content": 5},
            {"role": None},
            {"role": 5, "content": [], "timestamp": "soon"},
            {},
            None,
            [],
            "text",
        ]
    ],
}


@st.composite
def entry_lines(draw: st.DrawFn) -> bytes:
    """One entry that is JSON in good order; its links, and now and then a field, may be anything."""
    kind = draw(st.sampled_from(_TYPES))
    fields: dict[str, Any] = {
        "type": kind,
        "id": draw(st.sampled_from(_POOL)),
        "parentId": draw(st.sampled_from([None, *_POOL, "missing"])),
        "timestamp": draw(
            st.sampled_from(["2026-01-01T00:00:01.000Z", "2026-01-01T00:00:00.000Z", "no time", ""])
        ),
        **draw(st.sampled_from(_FURTHER[kind])),
    }
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


header_lines = st.sampled_from(
    [
        b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}',
        b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}',
        b'{"type":"session","version":2,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}',
        b'{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}',
        b'{"type":"session","version":9,"id":"s"}',
        b'{"type":"session"}',
        b'{"type":"session","version":"3","id":7}',
    ]
)

odd_lines = st.one_of(
    st.sampled_from(
        [
            b"",
            b"   ",
            b"\r",
            b"null",
            b"5",
            b"[]",
            b"{}",
            b'"text"',
            b"\0" * 40,
            b"\xef\xbb\xbf{}",
            b'{"type":"message"}',
            b'{"type":"message","id":5,"parentId":null}',
            b'{"type":7,"id":"x","parentId":null}',
            b'{"type":"message","id":"c"}',
            b'{"type":"message","id":"c","parentId":5,"message":null}',
            b'{"type":"message","id":"\xff","parentId":null}',
            b'{"type":"message","id":"\\ud800","parentId":"\\ud800"}',
            b'{"type":"message","id":"d","parentId":"a","message":{"role":"user","content":NaN}}',
            b'{"type":"message","id":"d","parentId":"a","message":{"role":"assistant","content":[NaN,"\\ud800"]}}',
            b'{"type":"message","id":"d","parentId":"a","message":{"role":"user","timestamp":1e400}}',
            b'{"type":"message","id":"d","parentId":"a","message":{"role":"user","timestamp":'
            + b"9" * 5000
            + b"}}",
            b'{"type":"message","id":"d","parentId":"a","timestamp":5,"message":{"role":"user","content":'
            + b"[" * 1200
            + b"]" * 1200
            + b"}}",
            b'{"type":"message","id":"torn',
            b'{"type":"message","id":"e","parentId":"b","message":{"rol',
            b'{"type":"message","id":"e","parentId":null,\x00\x00\x00',
            b'{"type":"message","id":"e","pare{"type":"message","id":"f","parentId":"a"}',
            b'{"type":"message","id":"e","parentId":"a"}{"type":"message","id":"f","parentId":"e"}',
            b'{"type":"message","id":"e","parentId":"a"} {"type":"custom","id":"f","parentId":"e"}',
            b'{"type":"message","id":"e","parentId":"a"}{"type":"mess',
            b'{"type":"message","id":"e","parentId":"a"}\r',
            b' {"type":"message","id":"e","parentId":"a"} ',
            b'{"type":"message",',
            b'"id":"e","parentId":"a"}',
            b'{"type":"custom","id":"b","parentId":"a","data":',
            b'{"type":"label","id":"x","parentId":"a"}}',
            b'{"type":"message","id":"d","parentId":"a","message":{"role":"user","role":"assistant","content":[]}}',
            b'{"type":"label","type":"message","id":"d","parentId":"a","id":"e"}',
        ]
    ),
    st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")),
)


@st.composite
def session_files(draw: st.DrawFn) -> bytes:
    """A whole file: usually with a header, mostly entries in good order, some damage, perhaps a torn end."""
    lines: list[bytes] = draw(
        st.lists(entry_lines() | entry_lines() | entry_lines() | odd_lines, max_size=14)
    )
    if draw(st.integers(0, 4)):
        lines.insert(0, draw(header_lines))
    if not draw(st.integers(0, 9)):
        lines.insert(draw(st.integers(0, len(lines))), draw(header_lines))
    data = b"".join(line + b"\n" for line in lines)
    if not draw(st.integers(0, 9)):
        data = b"\xef\xbb\xbf" + data
    return data[: len(data) - draw(st.integers(0, 20))] if draw(st.booleans()) else data


go_objects = st.dictionaries(
    texts,
    st.recursive(
        # Go writes a large whole number without its exponent, and Python reads that as another number.
        st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(-(10**6), 10**6) | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)
"""JSON objects that survive Go's number format."""
