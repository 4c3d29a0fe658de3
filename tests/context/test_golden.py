"""The contexts of the sample sessions are exactly those of the real pi 1.5.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from branchline.context import (
    BRANCH_SUMMARY_PREFIX,
    COMPACTION_SUMMARY_PREFIX,
    TokenEstimate,
    build_context,
    context_tokens,
    estimate_message,
    estimate_messages,
    selected_entries,
    to_model,
)
from branchline.entries import SIDE_TYPES, ContextEdit, message_fields, message_text
from support import CORPUS, load, transcript

GOLDEN = sorted((CORPUS / "pi" / "golden").glob("*.jsonl"))
EDGE = sorted((CORPUS / "pi" / "edge").glob("*.jsonl"))
VIEWS = [path for path in GOLDEN + EDGE if (path.parent / "views-pi-1.5.0" / f"{path.stem}.json").exists()]
EDGE_EXPECTED = load(CORPUS / "pi" / "edge" / "expected.json")


def named(paths: list[Path]) -> Any:
    return pytest.mark.parametrize("path", paths, ids=[path.stem for path in paths])


def view(path: Path) -> Any:
    return load(path.parent / "views-pi-1.5.0" / f"{path.stem}.json")


@pytest.mark.parity("OPR-06")
@named(GOLDEN)
def test_messages_model_and_thinking_level_are_those_of_pi(path):
    expected = load(path.parent / "expected-pi-1.5.0" / f"{path.stem}.json")
    session = transcript(path)

    context = build_context(session, session.reading.leaf)

    assert [message_fields(item.message) for item in context.messages] == expected["context"]["messages"]
    assert context.thinking_level == expected["context"]["thinkingLevel"]
    assert _model(context) == expected["context"]["model"]


@named(GOLDEN)
def test_the_selected_entries_are_those_of_pi_without_side_records(path):
    """Our path passes through labels, titles and the like; pi lists them as part of the selection."""
    expected = load(path.parent / "expected-pi-1.5.0" / f"{path.stem}.json")
    session = transcript(path)
    types = dict(zip(session.tree.keys, session.tree.types, strict=True))

    selected = selected_entries(session, session.reading.leaf)

    assert selected == [key for key in expected["contextEntryIds"] if types[key] not in SIDE_TYPES]


@pytest.mark.parity("ZOT-12")
@named(GOLDEN + EDGE)
def test_a_stored_message_without_an_edit_comes_through_word_for_word(path):
    session = transcript(path)
    context = build_context(session, session.reading.leaf)
    selected = session.entries(
        [session.tree.positions[key] for key in selected_entries(session, session.reading.leaf)]
    )
    edited = {entry.target for entry in selected if isinstance(entry, ContextEdit)}

    for item in context.messages:
        position = session.tree.positions[item.entry]
        if session.tree.types[position] != "message" or item.entry in edited:
            continue
        stored = json.loads(session.raw(position).decode("utf-8", "replace"))["message"]

        if "content" in stored and stored["content"] is None:
            stored["content"] = []  # section 7: null counts as empty
        if stored["role"] == "hookMessage":
            stored["role"] = "custom"  # the name of version 2
        shown = message_fields(item.message)
        if "usage" in stored and "totalTokens" not in stored["usage"]:
            shown["usage"].pop("totalTokens")  # version 1 has none
        assert shown == stored


@named([path for path in EDGE if "context" in EDGE_EXPECTED[path.stem]["reader"]])
def test_special_cases_give_the_context_that_our_reader_promises(path):
    """What the damage section of the format page says: a bad line costs that line only."""
    expected = EDGE_EXPECTED[path.stem]["reader"]
    session = transcript(path)

    context = build_context(session, session.reading.leaf)

    shown = [[_role(item.message), message_text(item.message)] for item in context.messages]
    assert shown == [list(pair) for pair in expected["context"]]
    assert context.thinking_level == expected["thinkingLevel"]
    assert _model(context) == expected["model"]


@named(VIEWS)
def test_what_goes_to_the_model_is_what_pi_sends(path):
    """Only the two fixed sentences are in our own words."""
    session = transcript(path)

    sent = [message_fields(message) for message in to_model(build_context(session, session.reading.leaf))]

    text = json.dumps(sent)
    text = text.replace(BRANCH_SUMMARY_PREFIX, "{branch sentence}")
    text = text.replace(COMPACTION_SUMMARY_PREFIX, "{compaction sentence}")
    assert json.loads(text) == view(path)["toModel"]


@named(VIEWS)
def test_token_estimates_are_those_of_pi(path):
    session = transcript(path)
    expected = view(path)
    context = build_context(session, session.reading.leaf)
    messages = [item.message for item in context.messages]

    assert list(map(estimate_message, messages)) == expected["estimates"]
    assert _fields(estimate_messages(messages)) == expected["contextEstimate"]
    assert _fields(context_tokens(context)) == expected["projectedEstimate"]


def _model(context):
    return context.model and {"provider": context.model.provider, "modelId": context.model.id}


def _role(message):
    return message_fields(message)["role"]


def _fields(estimate: TokenEstimate) -> dict[str, Any]:
    return {
        "tokens": estimate.tokens,
        "usageTokens": estimate.usage_tokens,
        "trailingTokens": estimate.trailing_tokens,
        "lastUsageIndex": estimate.last_usage_index,
    }
