"""Every kind of entry is written as pi writes it: the same keys in the same order, compact, one line.

The expected lines are the examples of the format's description, with the ids and times of this session put in.
"""

import json

import pytest

from branchline import Session
from branchline.clock import iso
from branchline.entries import SystemMessage, Usage
from session.kit import CWD, START, clock, lines_of, new, reopened, require_same_after_reopening, said
from support import CORPUS

USAGE = Usage(input=1, output=2, cache_read=3, cache_write=4, total_tokens=10)
USAGE_TEXT = (
    '{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,'
    '"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}'
)
COMMON = '"id":"ID","parentId":PARENT,"timestamp":"TIME"'

VERBS = {
    "message": (
        lambda s, first: s.append_message(
            {"role": "user", "content": [{"type": "text", "text": "hello"}], "timestamp": 1794725185329}
        ),
        '{"type":"message",'
        + COMMON
        + ',"message":{"role":"user","content":[{"type":"text","text":"hello"}],'
        '"timestamp":1794725185329}}',
    ),
    "thinking level": (
        lambda s, first: s.append_thinking_level_change("high"),
        '{"type":"thinking_level_change",' + COMMON + ',"thinkingLevel":"high"}',
    ),
    "model": (
        lambda s, first: s.append_model_change("openai", "gpt-5"),
        '{"type":"model_change",' + COMMON + ',"provider":"openai","modelId":"gpt-5"}',
    ),
    "compaction": (
        lambda s, first: s.append_compaction(
            "…",
            first,
            123,
            details={"readFiles": [], "modifiedFiles": []},
            usage=USAGE,
            from_hook=False,
        ),
        '{"type":"compaction",' + COMMON + ',"summary":"…","firstKeptEntryId":FIRST,"tokensBefore":123,'
        '"details":{"readFiles":[],"modifiedFiles":[]},"usage":' + USAGE_TEXT + ',"fromHook":false}',
    ),
    "short compaction": (
        lambda s, first: s.append_compaction("", None, 0),
        '{"type":"compaction",' + COMMON + ',"summary":"","firstKeptEntryId":"ID","tokensBefore":0}',
    ),
    "branch summary": (
        lambda s, first: s.branch_with_summary(
            first,
            "…",
            details={"readFiles": [], "modifiedFiles": []},
            usage=USAGE,
            from_hook=False,
        ),
        '{"type":"branch_summary","id":"ID","parentId":FIRST,"timestamp":"TIME","fromId":PARENT,"summary":"…",'
        '"details":{"readFiles":[],"modifiedFiles":[]},"usage":' + USAGE_TEXT + ',"fromHook":false}',
    ),
    "custom": (
        lambda s, first: s.append_custom("my-ext", {"a": 1}),
        '{"type":"custom","customType":"my-ext","data":{"a":1},' + COMMON + "}",
    ),
    "custom without data": (
        lambda s, first: s.append_custom("my-ext"),
        '{"type":"custom","customType":"my-ext",' + COMMON + "}",
    ),
    "custom with false": (
        lambda s, first: s.append_custom("my-ext", data=False),
        '{"type":"custom","customType":"my-ext","data":false,' + COMMON + "}",
    ),
    "custom message": (
        lambda s, first: s.append_custom_message("my-ext", "remember this", details={"d": 1}),
        '{"type":"custom_message","customType":"my-ext","content":"remember this","display":true,'
        '"details":{"d":1},' + COMMON + "}",
    ),
    "hidden custom message": (
        lambda s, first: s.append_custom_message("x", [{"type": "text", "text": "…"}], display=False),
        '{"type":"custom_message","customType":"x","content":[{"type":"text","text":"…"}],"display":false,'
        + COMMON
        + "}",
    ),
    "label": (
        lambda s, first: s.append_label(first, "checkpoint"),
        '{"type":"label",' + COMMON + ',"targetId":FIRST,"label":"checkpoint"}',
    ),
    "cleared label": (
        lambda s, first: s.append_label(first, None),
        '{"type":"label",' + COMMON + ',"targetId":FIRST}',
    ),
    "title": (
        lambda s, first: s.set_title("Auth refactor"),
        '{"type":"session_info",' + COMMON + ',"name":"Auth refactor"}',
    ),
    "cleared title": (
        lambda s, first: s.set_title(" \r\n "),
        '{"type":"session_info",' + COMMON + ',"name":""}',
    ),
    "omission": (
        lambda s, first: s.append_context_edit(first, None),
        '{"type":"context_edit",' + COMMON + ',"targetId":FIRST,"replacement":null}',
    ),
    "replacement": (
        lambda s, first: s.append_context_edit(first, [{"type": "text", "text": "shorter"}]),
        '{"type":"context_edit",' + COMMON + ',"targetId":FIRST,"replacement":{"content":'
        '[{"type":"text","text":"shorter"}]}}',
    ),
    "replacement by a text": (
        lambda s, first: s.append_context_edit(first, "shorter"),
        '{"type":"context_edit",' + COMMON + ',"targetId":FIRST,"replacement":{"content":"shorter"}}',
    ),
    "usage": (
        lambda s, first: s.append_usage(
            "cache_warm", USAGE, provider="anthropic", model="claude-sonnet-4-5", note="…"
        ),
        '{"type":"usage",'
        + COMMON
        + ',"kind":"cache_warm","provider":"anthropic","model":"claude-sonnet-4-5",'
        '"usage":' + USAGE_TEXT + ',"note":"…"}',
    ),
    "leaf": (
        lambda s, first: s.branch(first),
        '{"type":"leaf","id":"ID","parentId":FIRST,"timestamp":"TIME","targetId":FIRST}',
    ),
    "reset": (
        lambda s, first: s.reset(),
        '{"type":"leaf","id":"ID","parentId":null,"timestamp":"TIME","targetId":null}',
    ),
}


@pytest.mark.parity("OPR-04", "OPR-16", "PIG-01", "PIG-03", "PIG-04", "PIG-12", "ZOT-10", "ZOT-11")
@pytest.mark.parametrize("kind", VERBS)
def test_an_entry_is_written_with_the_keys_of_the_format_in_their_order(place, kind):
    session = new(place)
    first = session.append_message("first")
    leaf = session.append_message({"role": "assistant", "content": []})
    verb, expected = VERBS[kind]

    verb(session, first)

    line = lines_of(session._writer.log.read(0, session._writer.log.size()))[-1].decode()
    entry = session.entries()[-1]
    expected = (
        expected.replace('"ID"', json.dumps(entry.id))
        .replace("PARENT", json.dumps(leaf))
        .replace("FIRST", json.dumps(first))
        .replace("TIME", entry.timestamp)
    )
    assert line == expected
    assert entry.timestamp >= iso(START)
    require_same_after_reopening(session)


@pytest.mark.parity("OPR-01")
def test_the_header_comes_first_with_the_keys_of_the_format_in_their_order(place):
    session = Session.create(CWD, directory=place, id="abc", clock=clock(), persist="at_once")
    linked = Session.create(CWD, directory=place, id="def", clock=clock(), parent_session="/p.jsonl")
    linked.append_message({"role": "assistant", "content": []})

    assert lines_of(session._writer.log.read(0, 10_000)) == [
        b'{"type":"session","version":3,"id":"abc","timestamp":"%s","cwd":"%s"}'
        % (iso(START).encode(), CWD.encode())
    ]
    assert lines_of(linked._writer.log.read(0, 10_000))[0] == (
        b'{"type":"session","version":3,"id":"def","timestamp":"%s","cwd":"%s","parentSession":"/p.jsonl"}'
        % (iso(START).encode(), CWD.encode())
    )


def test_text_is_written_as_javascript_writes_it(place):
    """Non-ASCII raw, also U+2028; lone surrogates as escapes; numbers beyond 64 bits with all their digits."""
    session = new(place)

    session.append_message({"role": "user", "content": "ä\u2028\u2029\x85😀\ud800\x00", "n": 10**40})

    line = session.raw(session.leaf)
    assert '"content":"ä\u2028\u2029\x85😀\\ud800\\u0000","n":1'.encode() + b"0" * 40 in line
    assert said(session)[0]["content"] == "ä\u2028\u2029\x85😀\ud800\x00"
    require_same_after_reopening(session)


# -- the system state in a compaction --------------------------------------------------------------------

SYSTEM = CORPUS / "pi" / "edge" / "system-messages.jsonl"


@pytest.mark.parity("PIG-02")
def test_a_compaction_carries_the_system_state_that_is_in_force_as_pi_does():
    before_compaction = b"".join(line + b"\n" for line in lines_of(SYSTEM)[:7])
    session = Session.in_memory(data=before_compaction, clock=clock())

    session.append_compaction(
        "said hello", "00000003", 500, details={"readFiles": ["a.py"], "modifiedFiles": []}
    )

    theirs = json.loads(lines_of(SYSTEM)[7])
    ours = json.loads(session.raw(session.leaf))
    assert list(ours) == list(theirs)
    assert list(ours["systemMessage"]) == list(theirs["systemMessage"])
    assert ours["systemMessage"].pop("timestamp") == round(START)
    theirs["systemMessage"].pop("timestamp")
    assert ours["systemMessage"] == theirs["systemMessage"]
    assert [message["role"] for message in said(session)] == [
        "system",
        "compactionSummary",
        "assistant",
        "user",
        "assistant",
    ]


def test_the_system_state_survives_a_second_compaction(place):
    session = new(place)
    session.append_message(
        SystemMessage(content="Be brief.", sections={"a": "A"}, tools_added=({"name": "read"},))
    )
    session.append_message("hello")
    session.append_compaction("one")
    session.append_message(SystemMessage(content="", sections={"a": None, "b": "B"}))
    session.append_compaction("two")

    state = json.loads(session.raw(session.leaf))["systemMessage"]

    assert state["content"] == "Be brief."
    assert state["sections"] == {"b": "B"}
    assert state["toolsAdded"] == [{"name": "read"}]
    assert [message["role"] for message in said(session)] == ["system", "compactionSummary"]


def test_without_system_messages_a_compaction_carries_none(place):
    session = new(place)
    session.append_message("hello")

    session.append_compaction("short")

    assert b"systemMessage" not in session.raw(session.leaf)


def test_the_system_state_is_that_of_the_branch_where_the_compaction_stands(place):
    session = new(place)
    root = session.append_message("hello")
    session.append_message(SystemMessage(content="Only here."))
    session.branch(root)

    session.append_compaction("elsewhere")

    assert b"systemMessage" not in session.raw(session.leaf)


@pytest.mark.parity("PIG-02")
def test_an_empty_compaction_stays_in_force_after_reopening(place):
    session = new(place)
    session.append_message("forgotten")
    session.append_message({"role": "assistant", "content": [{"type": "text", "text": "this too"}]})
    session.append_compaction("", None, 99)
    session.append_message("next")

    again = reopened(session)

    assert [message["role"] for message in said(again)] == ["compactionSummary", "user"]
    assert said(again)[0]["tokensBefore"] == 99
    require_same_after_reopening(session)
