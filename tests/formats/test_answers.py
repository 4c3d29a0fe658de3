"""An answer that is appended to a session of any program says the same when it is read again."""

from __future__ import annotations

import pytest

from branchline.context import totals
from branchline.entries import (
    AssistantMessage,
    Cost,
    Header,
    Leaf,
    MessageEntry,
    ModelChange,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from branchline.formats import EntryLog, Format
from branchline.plugins.formats import format_named, formats

HEADER = Header(id="01a1dc74-bb00-784e-95bd-447e7184d454", timestamp="2026-11-15T10:00:00.000Z", cwd="/p")
WRITABLE = [format_.name for format_ in formats() if format_.is_appendable]
MOMENT = 1_794_700_000_000
CALL = ToolCall(id="c1", name="read", arguments={"path": "a.py"})
SPENT = Usage(input=10, output=5, cache_read=3, cache_write=2, total_tokens=20, cost=Cost(total=0.25))
ANSWERS = [
    AssistantMessage(
        content=(Thinking(thinking="hm", thinking_signature="sig"), Text(text="one"), CALL),
        provider="anthropic",
        model="claude-x",
        usage=SPENT,
        stop_reason="toolUse",
        timestamp=MOMENT,
    ),
    AssistantMessage(
        content=(Text(text="two"),),
        provider="anthropic",
        model="claude-x",
        usage=SPENT,
        stop_reason="stop",
        timestamp=MOMENT,
    ),
    AssistantMessage(
        content=(Text(text="cut"),),
        provider="openai",
        model="gpt-y",
        usage=SPENT,
        stop_reason="length",
        timestamp=MOMENT,
    ),
    AssistantMessage(
        content=(Text(text="on another host"),),
        provider="azure",
        model="gpt-y",
        usage=SPENT,
        stop_reason="aborted",
        timestamp=MOMENT,
    ),
    AssistantMessage(
        content=(Text(text="back"),),
        provider="anthropic",
        model="claude-x",
        usage=SPENT,
        stop_reason="error",
        error_message="overloaded",
        timestamp=MOMENT,
    ),
]


class Live:
    """A file in memory that is appended to, one entry after the other."""

    def __init__(self, format_: Format) -> None:
        self._format = format_
        self._data = format_.required_writer().encode_header(HEADER)
        self._made = 0
        self.transcript = EntryLog(
            format_,
            lambda offset, size: self._data[offset : offset + size],
            f"session{format_.traits.suffix}",
        )

    def write(self, *entries: MessageEntry | Leaf) -> bytes:
        lines = self._format.required_writer().encode(entries, self.transcript.reading)
        self._data += lines
        self.transcript.take(lines)
        return lines

    def say(self, message: AssistantMessage | UserMessage | ToolResult) -> str:
        """Append a message; returns its id in the tree."""
        self._made += 1
        time = f"2026-11-15T10:{self._made // 60:02}:{self._made % 60:02}.000Z"
        parent = self.transcript.leaf
        self.write(MessageEntry(id=f"{self._made:016x}", parent=parent, timestamp=time, message=message))
        assert self.transcript.leaf is not None
        return self.transcript.leaf

    def move(self, target: str | None) -> None:
        self._made += 1
        self.write(Leaf(id=f"{self._made:016x}", parent=target, timestamp=HEADER.timestamp, target=target))

    def answer(self, key: str) -> AssistantMessage:
        entry = self.transcript.entry(self.transcript.tree.position(key))
        assert isinstance(entry, MessageEntry)
        assert isinstance(entry.message, AssistantMessage)
        return entry.message

    def again(self) -> EntryLog:
        data = self._data
        name = f"session{self._format.traits.suffix}"
        return EntryLog(self._format, lambda offset, size: data[offset : offset + size], name)


def prompt(text: str = "go on") -> UserMessage:
    return UserMessage(content=(Text(text=text),), timestamp=MOMENT)


@pytest.mark.parametrize("name", WRITABLE)
def test_an_answer_keeps_its_provider_model_thoughts_and_the_reason_why_it_ended(name):
    live = Live(format_named(name))
    keys = []

    for answer in ANSWERS:
        live.say(prompt())
        keys.append(live.say(answer))
        if CALL in answer.content:
            live.say(
                ToolResult(
                    tool_call_id="c1",
                    tool_name="read",
                    content=(Text(text="r"),),
                    is_error=False,
                    timestamp=MOMENT,
                )
            )

    for key, wanted in zip(keys, ANSWERS, strict=True):
        found = live.answer(key)
        for field in ("content", "provider", "model", "stop_reason", "error_message", "timestamp"):
            assert getattr(found, field) == getattr(wanted, field), (key, field)
        assert found.usage == SPENT or name == "zot"  # which has rows of its own for that
    assert live.again().tree.keys == live.transcript.tree.keys
    assert totals(live.again()).all.total.cost == pytest.approx(0.25 * len(ANSWERS))


def test_in_an_operator_file_a_model_is_named_once_and_again_where_it_changes():
    live = Live(format_named("operator"))

    for answer in (ANSWERS[1], ANSWERS[1], ANSWERS[2], ANSWERS[2], ANSWERS[1]):
        live.say(prompt())
        live.say(answer)

    types = live.transcript.tree.types
    assert [kind for kind in types if kind == "model_change"] == ["model_change"] * 3
    chosen = [live.transcript.entry(place) for place, kind in enumerate(types) if kind == "model_change"]
    assert [entry.model_id for entry in chosen if isinstance(entry, ModelChange)] == [
        "claude-x",
        "gpt-y",
        "claude-x",
    ]
    assert not live.transcript.findings


def test_in_an_operator_file_the_model_in_force_is_that_of_the_branch():
    live = Live(format_named("operator"))
    start = live.say(prompt())
    first = live.say(ANSWERS[1])
    live.move(start)
    second = live.say(ANSWERS[2])
    live.move(first)
    third = live.say(ANSWERS[1])
    live.move(second)
    fourth = live.say(ANSWERS[1])

    assert [live.answer(key).model for key in (first, second, third, fourth)] == [
        "claude-x",
        "gpt-y",
        "claude-x",
        "claude-x",
    ]
    tree = live.transcript.tree
    assert tree.parent(third) == first  # nothing had to be said
    assert tree.types[tree.position(tree.parent(fourth) or "")] == "model_change"
    assert not live.transcript.findings


def test_in_an_operator_file_an_answer_and_the_choice_of_its_model_are_one_write():
    live = Live(format_named("operator"))
    live.say(prompt())
    answer = MessageEntry(
        id="a" * 16, parent=live.transcript.leaf, timestamp=HEADER.timestamp, message=ANSWERS[2]
    )

    lines = live.write(answer).splitlines()

    assert [b'"type":"model_change"' in line for line in lines] == [True, False]
    assert live.transcript.leaf == answer.id


def test_an_answer_of_an_operator_file_that_names_no_model_has_the_one_that_was_chosen():
    live = Live(format_named("operator"))
    live.say(prompt())
    live.say(ANSWERS[2])
    nameless = AssistantMessage(content=(Text(text="?"),), stop_reason="stop", timestamp=MOMENT)

    key = live.say(nameless)

    assert live.answer(key).model == "gpt-y"
    assert live.transcript.tree.types.count("model_change") == 1
