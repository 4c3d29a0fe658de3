"""JSON and times as programs written in Go write them, and what is kept beside a message."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from branchline.entries import AssistantMessage, Text, Thinking, ToolResult, Usage, UserMessage
from branchline.formats.extra_fields import extra_fields, restore_extra_fields
from branchline.formats.go_json import NO_TIME, dumps, go_timestamp, time_text, utc_time
from strategies import json_values, wild_texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.00001, "0.00001"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-0.25, "-0.25"),
        (12345678901234567890, "12345678901234567890"),
        ("<a> & b", '"\\u003ca\\u003e \\u0026 b"'),
        ("\u2028\u2029\u0085é", '"\\u2028\\u2029\u0085é"'),
        ({"1.0": 1.0, 'x"5e3': [5e3]}, '{"1.0":1,"x\\"5e3":[5000]}'),
        (None, "null"),
    ],
)
def test_values_are_written_as_go_writes_them(value, text):
    assert dumps(value).decode() == text


@given(json_values | wild_texts)
def test_what_is_written_is_the_same_value_for_go(value):
    # In Go every number is read as a float, also one that was written without an exponent.
    written = dumps(value).decode("utf-8", "surrogatepass")

    assert json.loads(written, parse_int=float) == json.loads(json.dumps(value), parse_int=float)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (1_800_000_000_000, "2027-01-15T08:00:00Z"),
        (1_800_000_000_120, "2027-01-15T08:00:00.12Z"),
        (0, "1970-01-01T00:00:00Z"),
        (-62_000_000_000_000, "0005-04-19T09:46:40Z"),
        (None, NO_TIME),
        (1e300, NO_TIME),
    ],
)
def test_instants_are_written_without_zeros_at_the_end(milliseconds, text):
    assert time_text(milliseconds) == text


def test_our_times_are_written_as_go_writes_them():
    assert go_timestamp("2027-01-15T08:00:00.250Z") == "2027-01-15T08:00:00.25Z"
    assert go_timestamp("2027-01-15T08:00:00.000Z") == "2027-01-15T08:00:00Z"
    assert go_timestamp("2027-01-15T09:00:00.643617647+01:00") == "2027-01-15T08:00:00.643617647Z"
    assert go_timestamp("soon") == NO_TIME


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-15T07:36:09.643675607+01:00", "2026-11-15T06:36:09.643675607Z"),
        ("2026-11-15T07:36:10.643675607+01:00", "2026-11-15T06:36:10.643675607Z"),
        ("2026-11-15T07:36:09+01:00", "2026-11-15T06:36:09.000Z"),
        ("2026-11-15T06:36:09.1Z", "2026-11-15T06:36:09.100Z"),
        ("2026-11-15T06:36:09Z", "2026-11-15T06:36:09.000Z"),
        ("2026-11-15T06:36:09", ""),
        (NO_TIME, ""),
        ("x", ""),
        ("", ""),
    ],
)
def test_times_are_read_in_utc_with_milliseconds_at_least(text, time):
    assert utc_time(text) == time
    assert utc_time(text) == time  # its minute is known now


def test_nothing_is_kept_beside_a_message_that_was_read_whole():
    message = UserMessage(content=(Text(text="x"),), timestamp=1)

    assert extra_fields(message, message) == {}
    assert extra_fields(UserMessage(content="x", timestamp=1), message) == {}
    assert restore_extra_fields(message, None) is message


def test_what_is_missing_is_given_back():
    wanted = AssistantMessage(
        content=(Thinking(thinking="a", thinking_signature="s"), Text(text="b")),
        api="api",
        usage=Usage(input=1, reasoning=1),
        stop_reason="length",
    )
    found = AssistantMessage(content=(Text(text=""), Text(text="b")), usage=Usage(input=1))

    rest = extra_fields(wanted, found)

    assert rest["content"] == {"0": {"type": "thinking", "thinking": "a", "thinkingSignature": "s"}}
    assert restore_extra_fields(found, rest) == wanted


def test_what_stands_elsewhere_is_not_kept_twice():
    wanted = AssistantMessage(content=(), usage=Usage(input=1))

    assert extra_fields(wanted, AssistantMessage(content=()), frozenset({"usage"})) == {}


@pytest.mark.parametrize(
    "rest", [5, [], {"content": 5}, {"role": "oracle"}, {"content": {"7": {}, "x": 1}}, {"toolName": 5}]
)
def test_whatever_was_kept_the_message_opens(rest):
    restore_extra_fields(ToolResult(tool_call_id="c", tool_name="t", content=(Text(text="x"),)), rest)
