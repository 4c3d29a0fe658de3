"""What is decoded can be encoded again, and what we do not know is never lost."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import (
    AssistantMessage,
    Compaction,
    Cost,
    Damaged,
    Image,
    MessageEntry,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    UnknownBlock,
    UnknownMessage,
    Usage,
    UserMessage,
    decode_entry,
    decode_header,
    encode_entry,
    encode_header,
    json_codec,
    message_fields,
    message_from_fields,
)
from strategies import blocks, entry_strategies, headers, json_objects, messages, wild_texts
from support import CORPUS, transcript

SAMPLES = sorted((CORPUS / "pi").rglob("*.jsonl"))
MANY = settings(max_examples=150, deadline=None)


# -- records to lines and back ----------------------------------------------------------------------------


@pytest.mark.parity("OPR-04")
@pytest.mark.parametrize("kind", sorted(entry_strategies))
def test_an_entry_survives_being_written_and_read(kind):
    @MANY
    @given(entry_strategies[kind])
    def law(entry):
        line = encode_entry(entry)

        assert decode_entry(line) == needed_by_pi(entry)
        assert line.endswith(b"}\n")
        assert line.count(b"\n") == 1

    law()


def needed_by_pi(entry):
    """The entry with what its line has for pi: usage of answers, and blocks for texts."""
    if isinstance(entry, Compaction) and entry.retained_tail:
        return msgspec.structs.replace(
            entry, retained_tail=tuple(map(needed_in_message, entry.retained_tail))
        )
    if isinstance(entry, MessageEntry):
        return msgspec.structs.replace(entry, message=needed_in_message(entry.message))
    return entry


def needed_in_message(message):
    if isinstance(message, AssistantMessage) and message.usage is None:
        message = msgspec.structs.replace(message, usage=Usage(cost=Cost(known=False)))
    if isinstance(message, AssistantMessage | ToolResult) and isinstance(message.content, str):
        content = (Text(text=message.content),) if message.content else ()
        message = msgspec.structs.replace(message, content=content)
    return message


@MANY
@given(headers)
def test_a_header_survives_being_written_and_read(header):
    line = encode_header(header)

    assert decode_header(line) == header
    assert line.count(b"\n") == 1


@MANY
@given(messages)
def test_a_message_survives_as_fields(message):
    assert message_from_fields(message_fields(message)) == message


@pytest.mark.parity("ZOT-12")
@MANY
@given(st.lists(blocks, max_size=5).map(tuple))
def test_content_blocks_round_trip(content):
    entry = MessageEntry(id="x", message=UserMessage(content=content))

    assert decode_entry(encode_entry(entry)).message.content == content


@pytest.mark.parity("ZOT-12")
def test_text_image_tool_call_nested_tool_result_with_error_and_reasoning_round_trip():
    content = (
        Text(text="words", text_signature="sig"),
        Image(data="aGVsbG8=", mime_type="image/png"),
        Thinking(thinking="", thinking_signature="payload", redacted=True),
        ToolCall(id="call", name="read", arguments={"path": "a", "deep": {"b": [1, None]}}, namespace="n"),
        UnknownBlock(type="audio", fields={"type": "audio", "seconds": 3}),
    )
    result = ToolResult(
        tool_call_id="call",
        tool_name="read",
        content=content[:2],
        is_error=True,
        nested_calls={"calls": [{"id": "1", "name": "bash", "status": "error"}], "complete": True},
    )

    for message in (UserMessage(content=content), result):
        assert decode_entry(encode_entry(MessageEntry(id="x", message=message))).message == message


def test_unknown_blocks_and_roles_inside_a_compaction_round_trip():
    odd = UnknownBlock(type="new", fields={"type": "new", "x": 1})
    entry = Compaction(
        id="c",
        summary="s",
        system_message=SystemMessage(content=(odd,)),
        retained_tail=(
            UserMessage(content=(odd,)),
            UnknownMessage(role="robot", fields={"role": "robot", "y": 2}),
        ),
    )

    line = encode_entry(entry)

    assert json.loads(line)["systemMessage"] == {"role": "system", "content": [{"type": "new", "x": 1}]}
    assert json.loads(line)["retainedTail"] == [
        {"role": "user", "content": [{"type": "new", "x": 1}]},
        {"role": "robot", "y": 2},
    ]
    assert decode_entry(line) == entry


def test_a_damaged_entry_is_never_encoded():
    with pytest.raises(ValueError, match="only its bytes can be copied"):
        encode_entry(Damaged(id="x", text="{"))


@MANY
@given(wild_texts)
def test_any_text_is_written_as_javascript_writes_it(text):
    line = json_codec.dumps({"text": text})

    assert json.loads(line) == {"text": text}
    assert json.dumps({"text": text}, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "backslashreplace"
    ) == line.replace(b"\\u007f", b"\x7f")


def test_numbers_without_a_json_text_become_null_as_in_javascript():
    odd = [math.nan, math.inf, -math.inf, 1.5]

    assert json_codec.dumps(odd) == b"[null,null,null,1.5]"
    assert json_codec.dumps([*odd, "\ud800"]) == b'[null,null,null,1.5,"\\ud800"]'
    assert json_codec.dumps([10**400 // 10**380, "\ud800"]) == b'[100000000000000000000,"\\ud800"]'


# -- lines that pi wrote ----------------------------------------------------------------------------------

USAGE = '{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.1,"output":0.2,"cacheRead":0.3,"cacheWrite":0.4,"total":1}}'
AS_PI_WRITES = [
    '{"type":"message","id":"ccc83b34","parentId":null,"timestamp":"2026-11-15T06:46:25.329Z","message":{"role":"user","content":[{"type":"text","text":"hello"}],"timestamp":1794725185329}}',
    '{"type":"message","id":"a","parentId":"ccc83b34","timestamp":"t","message":{"role":"assistant","content":[{"type":"text","text":"t","textSignature":"s"},{"type":"thinking","thinking":"","thinkingSignature":"s","redacted":true},{"type":"toolCall","id":"c","name":"n","arguments":{"b":1,"a":2},"thoughtSignature":"s","namespace":"n"}],"api":"a","provider":"p","model":"m","responseModel":"r","responseId":"i","providerThinkingLevel":"high","thinkingLevel":"high","diagnostics":[1],"usage":' + USAGE + ',"stopReason":"stop","deferred":{"id":"d"},"errorMessage":"e","rawStopReason":"r","endTurn":true,"timestamp":1}}',
    '{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"toolResult","toolCallId":"c","toolName":"n","content":[{"type":"image","data":"d","mimeType":"m"}],"details":{"d":1},"usage":' + USAGE + ',"nestedCalls":{"calls":[],"complete":true},"isError":false,"timestamp":1}}',
    '{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"system","content":"","sections":{"a":"b","c":null},"toolsAdded":[{"name":"x"}],"toolsRemoved":[{"name":"y"}],"timestamp":1}}',
    '{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"bashExecution","command":"ls","output":"","exitCode":0,"cancelled":false,"truncated":false,"fullOutputPath":"p","excludeFromContext":true,"timestamp":1}}',
    '{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"custom","customType":"x","content":"c","display":true,"details":1,"timestamp":1}}',
    '{"type":"thinking_level_change","id":"2788b36a","parentId":"54c1e424","timestamp":"2026-11-15T06:46:25.330Z","thinkingLevel":"high"}',
    '{"type":"model_change","id":"543783cf","parentId":"2788b36a","timestamp":"2026-11-15T06:46:25.330Z","provider":"openai","modelId":"gpt-5"}',
    '{"type":"compaction","id":"39716142","parentId":"01ca2b91","timestamp":"t","summary":"…","firstKeptEntryId":"01ca2b91","tokensBefore":123,"details":{"readFiles":[],"modifiedFiles":[]},"usage":' + USAGE + ',"fromHook":false,"systemMessage":{"role":"system","content":"","sections":{"s":"x"},"toolsAdded":[{"name":"t"}],"timestamp":1794725185331}}',
    '{"type":"branch_summary","id":"0a7e1c55","parentId":"a1b2c3d4","timestamp":"t","fromId":"f6a7b8c9","summary":"…","details":{"readFiles":[],"modifiedFiles":[]},"usage":' + USAGE + ',"fromHook":false}',
    '{"type":"branch_summary","id":"new-1","parentId":null,"timestamp":"t","fromId":"root","summary":""}',
    '{"type":"custom","customType":"my-ext","data":{"a":1},"id":"8936819b","parentId":"ccc83b34","timestamp":"t"}',
    '{"type":"custom_message","customType":"my-ext","content":"remember this","display":true,"details":{"d":1},"id":"01ca2b91","parentId":"543783cf","timestamp":"t"}',
    '{"type":"label","id":"0485a41f","parentId":"ee2cfe95","timestamp":"t","targetId":"ccc83b34","label":"checkpoint"}',
    '{"type":"label","id":"54c1e424","parentId":"0485a41f","timestamp":"t","targetId":"ccc83b34"}',
    '{"type":"label","id":"54c1e424","parentId":"0485a41f","timestamp":"t","targetId":"ccc83b34","label":""}',
    '{"type":"session_info","id":"ee2cfe95","parentId":"8936819b","timestamp":"t","name":"Auth refactor"}',
    '{"type":"context_edit","id":"710868bd","parentId":"39716142","timestamp":"t","targetId":"ccc83b34","replacement":null}',
    '{"type":"context_edit","id":"710868be","parentId":"710868bd","timestamp":"t","targetId":"ccc83b34","replacement":{"content":[{"type":"text","text":"shorter"}]}}',
    '{"type":"usage","id":"879fab90","parentId":"710868bd","timestamp":"t","kind":"cache_warm","provider":"anthropic","model":"m","usage":' + USAGE + ',"note":"n"}',
    '{"type":"leaf","id":"f00dfeed","parentId":"t","timestamp":"t","targetId":"t"}',
    '{"type":"leaf","id":"f00dfee0","parentId":null,"timestamp":"t","targetId":null}',
    '{"type":"active_tools_change","id":"f00dfee0","parentId":null,"timestamp":"t","activeToolNames":["x"]}',
    '{"type":"message","id":"u","parentId":null,"timestamp":"t","message":{"role":"user","content":"\u2028 é \\ud800 \u0085","timestamp":1}}'.replace("\\u", "\\u"),
]  # fmt: skip


@pytest.mark.parity("OPR-04")
@pytest.mark.parametrize("line", AS_PI_WRITES, ids=lambda line: line[9:40])
def test_a_line_as_pi_writes_it_is_encoded_to_the_same_bytes(line):
    assert encode_entry(decode_entry(line.encode())) == line.encode() + b"\n"


def test_lines_that_pi_wrote_for_its_verbs_are_encoded_to_the_same_bytes():
    header, *lines = (CORPUS / "pi" / "verbs" / "source.jsonl").read_bytes().splitlines(keepends=True)

    again = [encode_entry(decode_entry(line)) for line in lines]

    assert again == lines
    assert encode_header(decode_header(header)) == header


@pytest.mark.parametrize(
    ("version", "means"),
    [("1", 1), ("2", 2), ("3", 3), ("99", 99), ("null", 1), ('"3"', 3), ("3.0", 3), ('"x"', 3), ("[]", 3), ("true", 3), ("1e400", 3), ("0", 0)],
)  # fmt: skip
def test_a_version_that_cannot_be_read_does_not_make_a_file_one_without_ids(version, means):
    header = decode_header(b'{"type":"session","id":"s","version":%s}' % version.encode())

    assert header.version == means


# -- lines of the samples ---------------------------------------------------------------------------------


def is_known(entry: Any) -> bool:
    """No Unknown, nowhere inside."""
    if isinstance(entry, Unknown | UnknownMessage | UnknownBlock | Damaged):
        return False
    if isinstance(entry, MessageEntry):
        content = getattr(entry.message, "content", ())
        return is_known(entry.message) and all(map(is_known, content if isinstance(content, tuple) else ()))
    return True


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_known_fields_keep_their_values_when_a_sample_is_decoded_and_encoded(path):
    found = transcript(path)
    if found.reading.version != 3:
        pytest.skip("older versions are changed while reading")

    for position, entry in enumerate(found.entries(range(len(found.tree)))):
        before = None if not is_known(entry) else json_codec.loads(found.raw(position))
        if before is None or before["id"] != entry.id:
            continue
        after = json_codec.loads(encode_entry(entry))
        for key in set(after) - {"parentId"}:
            assert key in before or after[key] in ("", None), (position, key)
            assert known_part(after[key], before.get(key)), (position, key)
        assert after["parentId"] == found.tree.parent(entry.id)


def known_part(after: Any, before: Any) -> bool:
    """Whether everything that is left is as it was; what is new is nothing."""
    match after, before:
        case dict(), dict():
            return all(known_part(value, before.get(key)) for key, value in after.items())
        case list(), list():
            return len(after) == len(before) and all(map(known_part, after, before))
        case dict(), None:
            return all(known_part(value, None) for value in after.values())
        case _, None:
            return after in (None, 0, "", [])
        case _:
            return after == before


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_line_of_a_sample_is_handed_out_byte_for_byte(path):
    data = path.read_bytes()
    found = transcript(path)

    lines = data.split(b"\n")
    for position in range(len(found.tree)):
        span = found.reading.span(position)
        raw = found.raw(position)
        assert raw == data[span.offset : span.offset + span.size]
        line = lines[found.reading.line_of(position) - 1]
        assert raw == (line if "glued" not in path.stem else raw)
        assert raw in line


def test_odd_lines_are_handed_out_byte_for_byte():
    lines = [
        b'{"type":"session","version":3,"id":"s","timestamp":"","cwd":""}',
        b'{"type":"message","id":"a","parentId":null,"new":{"deep":[1,2]},"message":{"role":"robot","x":1}}',
        b'{"type":"message","id":"b","parentId":"a","n":' + b"9" * 9000 + b',"f":1e400,"e":1.50,"z":-0}',
        b'{"type":"message","id":"c","parentId":"b","k":1,"k":2,"message":{"role":"user","content":"\\u0041\\/\\ud800"}}',
        b'{ "type" : "later_type" , "id":"d","parentId":"c"}\r',
        '{"type":"custom","customType":"x","data":"\u2028\u0085é","id":"e","parentId":"d"}'.encode(),
        b'{"type":"message","id":"f","parentId":"e","message":{"role":"user","content":"\xff\xfe"}}',
    ]
    found = transcript(b"\n".join(lines))

    raw = [found.raw(position) for position in range(len(found.tree))]

    assert raw == lines[1:]
    assert found.tree.keys == ["a", "b", "c", "d", "e", "f"]


# -- any object with a type -------------------------------------------------------------------------------

WRONG: list[Any] = [
    None,
    True,
    5,
    -1.5,
    10**30,
    "text",
    "",
    [],
    [1],
    ["x"],
    [None],
    {},
    {"a": 1},
    {"content": 5},
    {"type": 5},
]


def plain(kind: str) -> dict[str, Any]:
    """An object that has every field of its type."""
    usage = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3, "cost": {"total": 1}}
    further: dict[str, dict[str, Any]] = {
        "thinking_level_change": {"thinkingLevel": "high"},
        "model_change": {"provider": "p", "modelId": "m"},
        "compaction": {
            "summary": "s",
            "firstKeptEntryId": "a",
            "tokensBefore": 5,
            "details": {},
            "usage": usage,
            "fromHook": True,
            "systemMessage": {"role": "system", "content": ""},
            "retainedTail": [{"role": "user", "content": "x"}],
        },
        "branch_summary": {"fromId": "a", "summary": "s", "details": {}, "usage": usage, "fromHook": False},
        "custom": {"customType": "x", "data": 1},
        "custom_message": {"customType": "x", "content": "c", "display": True, "details": 1},
        "label": {"targetId": "a", "label": "l"},
        "session_info": {"name": "n"},
        "context_edit": {"targetId": "a", "replacement": {"content": "c"}},
        "usage": {"kind": "k", "provider": "p", "model": "m", "usage": usage, "note": "n"},
        "leaf": {"targetId": "a"},
        "later_type": {"anything": [1]},
    }
    return {
        "type": kind,
        "id": "x",
        "parentId": "p",
        "timestamp": "2026-01-01T00:00:00.000Z",
        **further[kind],
    }


MESSAGES: dict[str, dict[str, Any]] = {
    "user": {"content": [{"type": "text", "text": "x"}], "timestamp": 1},
    "assistant": {
        "content": [
            {"type": "thinking", "thinking": "h"},
            {"type": "toolCall", "id": "1", "name": "n", "arguments": {}},
        ],
        "api": "a",
        "provider": "p",
        "model": "m",
        "responseModel": "m",
        "responseId": "i",
        "providerThinkingLevel": "l",
        "thinkingLevel": "l",
        "diagnostics": [],
        "usage": {"input": 1, "cost": {"input": 1}},
        "stopReason": "stop",
        "deferred": {},
        "errorMessage": "e",
        "rawStopReason": "r",
        "endTurn": True,
        "timestamp": 1,
    },
    "toolResult": {
        "toolCallId": "1",
        "toolName": "n",
        "content": [{"type": "image", "data": "d", "mimeType": "m"}],
        "details": 1,
        "usage": {"input": 1},
        "nestedCalls": {"calls": []},
        "isError": False,
        "timestamp": 1,
    },
    "system": {
        "content": "",
        "sections": {"a": None},
        "toolsAdded": [{}],
        "toolsRemoved": [{"name": "n"}],
        "timestamp": 1,
    },
    "bashExecution": {
        "command": "c",
        "output": "o",
        "exitCode": 0,
        "cancelled": False,
        "truncated": False,
        "fullOutputPath": "p",
        "excludeFromContext": True,
        "timestamp": 1,
    },
    "custom": {"customType": "x", "content": "c", "display": True, "details": 1, "timestamp": 1},
    "robot": {"anything": 1},
}
TYPES = ["thinking_level_change", "model_change", "compaction", "branch_summary", "custom", "custom_message", "label",
         "session_info", "context_edit", "usage", "leaf", "later_type"]  # fmt: skip


def readable(fields: dict[str, Any]) -> Any:
    """Decoding gives a record, the line enters a tree, and both say the same."""
    line = json.dumps(fields).encode()
    entry = decode_entry(line)
    if not isinstance(entry, Unknown):
        encode_entry(entry)
    found = transcript(b'{"type":"session","version":3,"id":"s"}\n' + line + b"\n")
    for position in range(len(found.tree)):
        assert found.entry(position).id == found.tree.keys[position]
    return entry


@pytest.mark.parametrize("kind", TYPES)
def test_a_wrong_value_in_any_field_of_an_entry_costs_no_more_than_that_field(kind):
    whole = plain(kind)
    for field in whole:
        for value in WRONG:
            entry = readable({**whole, field: value})

            if field == "type":
                continue
            if isinstance(entry, Unknown):
                assert entry.fields == {**whole, field: value}
            else:
                kept = json.loads(encode_entry(entry))
                for other in set(whole) - {field}:
                    assert known_part(kept[other], whole[other]), (field, value, other)
        readable({key: value for key, value in whole.items() if key != field})


@pytest.mark.parametrize("role", sorted(MESSAGES))
def test_a_wrong_value_in_any_field_of_a_message_costs_no_more_than_that_field(role):
    whole = {"role": role, **MESSAGES[role]}
    common = {"type": "message", "id": "x", "parentId": None, "timestamp": ""}
    for field in whole:
        for value in WRONG:
            entry = readable({**common, "message": {**whole, field: value}})

            assert isinstance(entry, MessageEntry)
            kept = json.loads(encode_entry(entry))["message"]
            for other in set(whole) - {field}:
                if field != "role":
                    assert known_part(kept[other], whole[other]), (field, value, other)
        readable({**common, "message": {key: value for key, value in whole.items() if key != field}})


@pytest.mark.parametrize("message", WRONG, ids=repr)
def test_a_message_entry_whose_message_is_anything_is_still_an_entry(message):
    entry = readable({"type": "message", "id": "x", "parentId": None, "message": message})

    assert entry.id == "x"
    assert entry.type == "message"


@settings(max_examples=400, deadline=None)
@given(
    json_objects,
    st.sampled_from([*TYPES, "message", "session", "новый"]),
    st.dictionaries(
        st.sampled_from(
            [
                "id",
                "parentId",
                "timestamp",
                "message",
                "content",
                "summary",
                "usage",
                "targetId",
                "replacement",
                "label",
                "name",
            ]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | wild_texts,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(wild_texts, inner, max_size=3),
            max_leaves=8,
        ),
        max_size=6,
    ),
)
def test_decoding_never_raises_on_an_object_with_a_type(rest, kind, known):
    fields = {**rest, **known, "type": kind}
    line = json.dumps(fields).encode()

    entry = decode_entry(line)

    assert entry.type == kind
    found = transcript(b'{"type":"session","version":3,"id":"s"}\n' + line + b"\n")
    assert isinstance(found.findings, list)


@pytest.mark.parametrize(
    "text", [b"", b"5", b"[]", b"null", b'"x"', b"{", b'{"type":"message"', b"{}{}", b"\xff"]
)
def test_what_is_no_json_object_is_a_value_error(text):
    with pytest.raises(ValueError):
        decode_entry(text)


def test_one_wrong_field_does_not_cost_the_other_blocks():
    entry = decode_entry(
        json.dumps(
            {
                "type": "message",
                "id": "x",
                "message": {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": 5},
                        {"type": "text", "text": "kept"},
                        "bare",
                        7,
                        None,
                    ],
                    "usage": {"input": "many", "output": 3},
                },
            }
        ).encode()
    )

    assert entry.message.content[1] == Text(text="kept")
    assert entry.message.content[2] == Text(text="bare")
    assert entry.message.content[0] == UnknownBlock(type="text", fields={"type": "text", "text": 5})
    assert (entry.message.usage.input, entry.message.usage.output) == (0, 3)


def test_records_are_frozen():
    entry = decode_entry(b'{"type":"label","id":"x","targetId":"y"}')

    with pytest.raises((AttributeError, TypeError)):
        entry.id = "other"
    assert msgspec.structs.replace(entry, id="other").id == "other"
