"""The entries of a path as cards."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import Damaged, entry_from_fields
from branchline.formats import LabelState
from branchline.views.cards import Card, Picture, cards
from branchline.views.tool_calls import Call
from branchline.views.tool_views import json_text
from support import CORPUS, transcript


def entry(number: int, type_: str = "message", **fields):
    return entry_from_fields(
        {
            "type": type_,
            "id": f"e{number}",
            "parentId": None,
            "timestamp": "2026-01-01T00:00:00.000Z",
            **fields,
        }
    )


def message(number: int, role: str, content, **more):
    return entry(number, message={"role": role, "content": content, **more})


def text(words: str) -> dict:
    return {"type": "text", "text": words}


def call(call_id: str, path: str) -> dict:
    return {"type": "toolCall", "id": call_id, "name": "read", "arguments": {"path": path}}


def brief(deck: list[Card]) -> list[tuple[str, str, str]]:
    return [(card.kind, card.title, card.body) for card in deck]


def test_an_answer_has_a_card_for_each_thing_it_holds_in_order():
    content = [{"type": "thinking", "thinking": "hm"}, text("I look"), call("c", "a.py"), text("and wait")]

    deck = cards([message(1, "user", "please"), message(2, "assistant", content)])

    assert brief(deck) == [
        ("user", "User", "please"),
        ("thinking", "Thinking", "hm"),
        ("assistant", "Assistant", "I look"),
        ("tool", "read: a.py", ""),
        ("assistant", "Assistant", "and wait"),
    ]
    assert {card.id for card in deck[1:]} == {"e2"}
    assert deck[3].open
    assert deck[3].call == Call("c", "read", {"path": "a.py"})


def test_a_result_goes_into_the_card_of_its_call():
    """Some programs use the same call id in every turn: a result answers the latest call that is open."""
    deck = cards(
        [
            message(1, "assistant", [call("c", "a"), call("d", "b")]),
            message(2, "toolResult", [text("of d")], toolCallId="d", toolName="read", isError=True),
            message(3, "toolResult", [text("of c")], toolCallId="c", toolName="read"),
            message(4, "assistant", [call("c", "again")]),
            message(5, "toolResult", [text("new")], toolCallId="c", toolName="read"),
            message(6, "toolResult", [text("nobody asked")], toolCallId="c", toolName="read"),
        ]
    )

    assert [(card.title, card.body, card.error, card.open) for card in deck] == [
        ("read: a", "of c", False, False),
        ("read: b", "of d", True, False),
        ("read: again", "new", False, False),
        ("read", "nobody asked", False, False),
    ]
    assert deck[3].meta == ("without its call",)


def test_facts_about_an_answer_stand_on_its_first_words():
    usage = {"input": 1200, "output": 300, "totalTokens": 1500, "cost": {"total": 0.0123}}
    more = {"provider": "p", "model": "m", "usage": usage, "stopReason": "length"}

    deck = cards([message(1, "assistant", [text("a"), text("b")], **more)])

    assert [card.meta for card in deck] == [("p/m", "1.5k tokens", "$0.01", "length"), ()]


def test_an_answer_that_failed_says_why():
    deck = cards(
        [
            message(1, "assistant", [], stopReason="error", errorMessage="overloaded"),
            message(2, "assistant", [text("half")], stopReason="aborted"),
            message(3, "assistant", []),
        ]
    )

    assert brief(deck) == [
        ("note", "Error: overloaded", ""),
        ("assistant", "Assistant", "half"),
        ("note", "Stopped", ""),
        ("assistant", "Assistant", "(no content)"),
    ]
    assert [card.error for card in deck] == [True, True, True, False]


def test_pictures_are_named_with_their_size_and_not_carried():
    picture = {"type": "image", "mimeType": "image/png", "data": "QUJD" * 1000}

    (card,) = cards([message(1, "user", [text("see"), picture])])

    assert card.pictures == (Picture(mime_type="image/png", size=3000),)
    assert "QUJD" not in repr(card)


def test_commands_summaries_settings_and_damage_have_their_cards():
    deck = cards(
        [
            message(
                1, "bashExecution", None, command="make", output="no", exitCode=2, excludeFromContext=True
            ),
            message(
                2,
                "bashExecution",
                None,
                command="sleep",
                output="",
                cancelled=True,
                truncated=True,
                fullOutputPath="/o",
            ),
            message(3, "system", "be good", sections={"a": "b", "c": None}, toolsAdded=[{"name": "read"}]),
            entry(4, "compaction", summary="before", tokensBefore=12345),
            entry(5, "branch_summary", summary="aside"),
            entry(6, "model_change", provider="p", modelId="m"),
            entry(7, "thinking_level_change", thinkingLevel="high"),
            entry(8, "custom_message", customType="note", content="hi", display=False),
            entry(9, "context_edit", targetId="e1", replacement={"content": "short"}),
            Damaged(id="d", text="{torn"),
            entry(10, "new_thing", field=1),
            message(11, "oracle", "x"),
        ]
    )

    assert [(card.kind, card.title) for card in deck] == [
        ("bash", "make"),
        ("bash", "sleep"),
        ("system", "System"),
        ("compaction", "Compaction"),
        ("branch", "Branch summary"),
        ("setting", "Model: p/m"),
        ("setting", "Thinking level: high"),
        ("custom", "note"),
        ("setting", "e1 replaced in the context"),
        ("damage", "Unreadable line"),
        ("unknown", "new_thing"),
        ("unknown", "oracle"),
    ]
    assert deck[0].meta == ("exit code 2", "not sent to the model")
    assert deck[0].error
    assert deck[1].meta == ("cancelled", "output cut, full output in /o")
    assert deck[2].body == "be good\n\na:\nb\n\nc: removed\n\nTools added: read"
    assert deck[3].meta == ("12.3k tokens before",)
    assert deck[7].meta == ("hidden",)
    assert deck[9].body == "{torn"


def test_side_records_are_shown_only_when_asked_for():
    path = [
        message(1, "user", "hi"),
        entry(2, "label", targetId="e1", label="start"),
        entry(3, "session_info", name="T"),
        entry(4, "leaf", targetId=None),
        entry(5, "usage", kind="cache"),
        entry(6, "custom", customType="ext"),
    ]

    assert len(cards(path)) == 1
    assert [card.title for card in cards(path, side_records=True)[1:]] == [
        "Label of e1: start",
        "Title: T",
        "Moved to the start",
        "Usage: cache",
        "Data of ext",
    ]


def test_a_label_stands_on_the_first_card_of_its_entry():
    labels = {"e1": LabelState("here", "")}

    deck = cards([message(1, "assistant", [text("a"), text("b")])], labels=labels)

    assert [card.label for card in deck] == ["here", None]


def test_every_sample_can_be_shown():
    for path in sorted((CORPUS / "pi").glob("*/*.jsonl")):
        source = transcript(path)
        entries = source.entries(range(len(source.tree)))
        shown = {card.id for card in cards(entries, labels=source.reading.labels, side_records=True)}
        answered = {e.id for e in entries if getattr(getattr(e, "message", None), "tool_call_id", None)}
        assert {e.id for e in entries} - shown <= answered


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.floats() | st.text(st.characters()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_has_a_json_text(value):
    json.loads(json_text(value))


def test_a_value_nested_deeper_than_any_parser_goes_has_a_json_text():
    value: list = []
    for _ in range(5000):
        value = [value]

    assert json_text(value).count("[") == 5001
