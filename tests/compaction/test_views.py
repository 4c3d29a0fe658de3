"""Compactions and branch summaries of the sample sessions are prepared exactly as in pi 1.5.0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from branchline.compaction import (
    collect_branch,
    conversation_text,
    prepare_branch_summary,
    prepare_compaction,
)
from branchline.context import (
    BRANCH_SUMMARY_PREFIX,
    COMPACTION_SUMMARY_PREFIX,
    build_context,
    selected_entries,
)
from branchline.entries import SIDE_TYPES, message_fields
from branchline.formats import EntryLog
from support import CORPUS, load, transcript

VIEWS = sorted((CORPUS / "pi").glob("*/views-pi-1.5.0/*.json"))
each_view = pytest.mark.parametrize("path", VIEWS, ids=[path.stem for path in VIEWS])


def opened(path: Path) -> tuple[EntryLog, Any]:
    return transcript(path.parent.parent / f"{path.stem}.jsonl"), load(path)


@each_view
def test_the_text_for_the_summarizer_is_that_of_pi(path):
    """Only the two fixed sentences are in our own words."""
    session, view = opened(path)
    context = build_context(session, session.reading.leaf)

    text = conversation_text(item.message for item in context.messages)

    text = text.replace(BRANCH_SUMMARY_PREFIX, "{branch sentence}")
    assert text.replace(COMPACTION_SUMMARY_PREFIX, "{compaction sentence}") == view["transcript"]


@pytest.mark.parametrize("budget", [60, 400, 20000])
@each_view
def test_a_compaction_is_prepared_as_in_pi(path, budget):
    session, view = opened(path)
    expected = view["compaction"][str(budget)]

    found = prepare_compaction(session, session.reading.leaf, keep_recent_tokens=budget)

    shown = found and {
        "firstKeptEntryId": found.first_kept,
        "isSplitTurn": found.split_turn,
        "tokensBefore": found.tokens_before,
        "previousSummary": found.previous_summary,
        "messagesToSummarize": _roles(found.history),
        "turnPrefixMessages": _roles(found.prefix),
        "readFiles": list(found.files.read),
        "modifiedFiles": list(found.files.modified),
    }
    assert shown == (expected and {**expected, "firstKeptEntryId": _first_kept(session, expected)})


@each_view
def test_what_is_left_behind_is_collected_as_in_pi(path):
    """Our collection leaves side records out, and a shared ancestor that is one stands for the entry above."""
    session, view = opened(path)
    tree = session.tree

    for expected in view["branchSummary"]:
        found = collect_branch(session, session.reading.leaf, tree.positions[expected["target"]])

        ancestor = expected["commonAncestorId"]
        if ancestor is not None:
            position = tree.nearest_conversation_entry(tree.positions[ancestor])
            ancestor = None if position < 0 else tree.keys[position]
        assert found.common_ancestor == ancestor
        assert list(found.entries) == [
            key for key in expected["entries"] if _type(session, key) not in SIDE_TYPES
        ]


@pytest.mark.parametrize("budget", [0, 300])
@each_view
def test_a_branch_summary_is_prepared_as_in_pi(path, budget):
    session, view = opened(path)

    for expected in view["branchSummary"]:
        target = session.tree.positions[expected["target"]]
        collection = collect_branch(session, session.reading.leaf, target)
        found = prepare_branch_summary(session, collection, budget)

        assert {
            "roles": _roles(found.messages),
            "totalTokens": found.tokens,
            "readFiles": list(found.files.read),
            "modifiedFiles": list(found.files.modified),
        } == expected[f"budget{budget}"]


def _roles(messages):
    return [message_fields(message)["role"] for message in messages]


def _type(session: EntryLog, key: str) -> str:
    return session.tree.types[session.tree.positions[key]]


def _first_kept(session: EntryLog, expected: dict[str, Any]) -> str:
    """Pi may name a side record; we name the next entry that counts, so that a fork keeps the mark."""
    path = session.tree.path(session.tree.keys[session.reading.leaf])
    counting = [
        key
        for key in selected_entries(session, session.reading.leaf)
        if _type(session, key) != "compaction" or key == expected["firstKeptEntryId"]
    ]
    following = path[path.index(expected["firstKeptEntryId"]) :]
    return next(key for key in following if key in counting)
