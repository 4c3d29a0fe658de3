"""Every screen and page shows a result with its call, whatever stands between the two."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.errors import BranchlineError
from branchline.formats import EntryLog
from branchline.session import Session
from branchline.views import call_results
from branchline.views.browser.conversation import Conversation
from branchline.views.browser.preview import cards_at, last_cards
from branchline.views.call_results import CallPairs, pair_path
from branchline.views.cards import Card, cards
from branchline.views.entry_rows import RowTexts
from branchline.views.html.pieces import PieceRenderer
from branchline.views.markdown import markdown
from support import SHARED, transcript

ABOVE = -1
"""The parent of an entry, unless told: the entry before it."""


def call(key: str, name: str = "bash") -> dict:
    return {"type": "toolCall", "id": key, "name": name, "arguments": {"command": f"run {key}"}}


def said(role: str, *content: dict | str, parent: int = ABOVE, **more) -> dict:
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    return {"message": {"role": role, "content": blocks, **more}, "parent": parent}


def answer(*content: dict | str, parent: int = ABOVE) -> dict:
    return said("assistant", *content, parent=parent)


def result(key: str, text: str, *, parent: int = ABOVE) -> dict:
    return said("toolResult", text, parent=parent, toolCallId=key, toolName="bash")


def lines(*entries: dict) -> bytes:
    head = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
    made = [head]
    for number, entry in enumerate(entries):
        fields = dict(entry)
        parent = fields.pop("parent", ABOVE)
        above = number - 1 if parent == ABOVE else parent
        made.append(
            {
                "type": "message",
                "id": f"e{number}",
                "parentId": f"e{above}" if above >= 0 else None,
                "timestamp": f"2026-01-01T00:00:{number % 60:02d}.000Z",
                **fields,
            }
        )
    return "".join(json.dumps(line) + "\n" for line in made).encode()


def source(*entries: dict) -> EntryLog:
    return transcript(lines(*entries))


def outcomes(deck: list[Card]) -> list[tuple[str, str]]:
    """The outcome of each call in order, and of results without one."""
    return [
        (card.call.id if card.call else "-", card.body if not card.open else "no result")
        for card in deck
        if card.kind == "tool"
    ]


NOTE = {"type": "custom_message", "customType": "hook", "content": "a note"}
BETWEEN = {
    "nothing": [],
    "a note": [NOTE],
    "a prompt": [said("user", "wait")],
    "another answer": [answer("I wait")],
    "another call with its result": [answer(call("other")), result("other", "of other")],
    "a compaction": [{"type": "compaction", "summary": "short"}],
    "many entries": [NOTE] * 2500,
}


@pytest.mark.parametrize("between", BETWEEN)
def test_a_result_is_shown_with_its_call_whatever_stands_between(tmp_path, between):
    entries = [said("user", "go"), answer(call("a"), "and"), answer(call("b")), *BETWEEN[between]]
    entries += [result("a", "of a"), *BETWEEN[between], result("b", "of b"), answer("done")]
    found = source(*entries)
    file = tmp_path / "s.jsonl"
    file.write_bytes(lines(*entries))
    expected = {("a", "of a"), ("b", "of b")}

    size = len(found.tree)
    assert expected <= set(outcomes(cards(found.entries(range(size)))))
    pieces = PieceRenderer(found).pieces([1, 2])
    assert ["of a" in piece for piece in pieces] == [True, False]
    assert ["of b" in piece for piece in pieces] == [False, True]
    assert not any("no result" in piece or "without" in piece for piece in pieces)
    with Session.open(file) as session:
        conversation = Conversation(session, session.leaf)
        assert outcomes(conversation.cards(1)) == [("a", "of a")]
        assert outcomes(conversation.cards(2)) == [("b", "of b")]
        deck = [card for part in range(len(conversation)) for card in conversation.cards(part)]
        assert not any("without its call" in card.meta or card.open for card in deck)
        last = session.index.keys[-2]
        assert conversation.part_of(last) == 2
        assert outcomes(cards_at(session, last))[0] == ("b", "of b")
        assert "no result" not in markdown(deck)
        assert RowTexts(session.transcript)(size - 2) == "[bash: run b]"


def test_parallel_calls_of_claude_code_are_answered_in_any_order(tmp_path):
    """Each block is a row of its own, and each result follows the row before it."""
    keys = [f"c{number}" for number in range(12)]
    rows = [said("user", "go"), *(answer(call(key)) for key in keys)]
    rows += [result(key, f"of {key}") for key in (*keys[::2], *reversed(keys[1::2]))]
    file = tmp_path / "s.jsonl"
    file.write_bytes(lines(*rows, answer("done")))

    with Session.open(file) as session:
        conversation = Conversation(session, session.leaf)
        deck = [card for part in range(len(conversation)) for card in conversation.cards(part)]
        preview = last_cards(session)
        pieces = PieceRenderer(session.transcript).pieces(range(len(session.index)))

    assert outcomes(deck) == [(key, f"of {key}") for key in keys]
    assert outcomes(preview) == [(key, f"of {key}") for key in keys[1:]]
    assert all(f"of {key}" in piece for key, piece in zip(keys, pieces[1:13], strict=True))
    assert not any("<article" in piece for piece in pieces[13:25])


def test_a_result_that_another_row_shows_leads_to_it():
    found = source(answer(call("a")), answer(call("b")), result("a", "of a"), result("b", "of b"))

    pieces = PieceRenderer(found).pieces(range(4))

    assert pieces[2] == '<a class="with" href="#e-e0"></a>'
    assert pieces[3] == ""
    assert [PieceRenderer(found).row_of(position) for position in range(4)] == [0, 1, 0, 1]


def test_a_call_without_a_result_and_a_result_without_a_call_are_said_to_be_so():
    found = source(answer(call("a"), call("b")), result("b", "of b"), result("lost", "of nobody"))

    deck = cards(found.entries(range(3)))
    pieces = PieceRenderer(found).pieces(range(3))

    assert outcomes(deck) == [("a", "no result"), ("b", "of b"), ("-", "of nobody")]
    assert deck[-1].meta == ("without its call",)
    assert pieces[0].count("no result") == 1
    assert pieces[0].count("of b") == 1
    assert "without its call" in pieces[2]


def test_the_same_id_on_two_branches_and_twice_on_one_names_the_nearest_call():
    found = source(
        said("user", "go"),
        answer(call("x")),
        result("x", "first"),
        answer(call("x")),
        result("x", "second"),
        answer(call("x"), parent=0),
        result("x", "third"),
    )
    pieces = PieceRenderer(found).pieces(range(7))

    assert outcomes(cards(found.entries(range(5)))) == [("x", "first"), ("x", "second")]
    assert outcomes(cards(found.entries([0, 5, 6]))) == [("x", "third")]
    shown = [re.findall("first|second|third", pieces[position]) for position in (1, 3, 5)]
    assert shown == [["first"], ["second"], ["third"]]


def test_calls_of_one_answer_with_one_id_are_answered_in_their_order():
    found = source(answer(call("x"), call("x")), result("x", "one"), result("x", "two"), result("x", "three"))

    deck = cards(found.entries(range(4)))

    assert [card.body for card in deck] == ["one", "two", "three"]
    assert [card.meta for card in deck] == [(), (), ("without its call",)]


def test_a_branch_between_call_and_result_shows_each_branch_its_own(tmp_path):
    """And the branch that goes on without a result, that there is none."""
    entries = (
        answer(call("x")),
        result("x", "of the left"),
        answer("left"),
        {**NOTE, "parent": 0},
        result("x", "of the right"),
        {**NOTE, "parent": 0},
        said("user", "never mind"),
    )
    file = tmp_path / "s.jsonl"
    file.write_bytes(lines(*entries))

    with Session.open(file) as session:
        tree = session.index
        for leaf, shown in (("e2", "of the left"), ("e4", "of the right"), ("e6", "no result")):
            path = tree.path_positions(tree.position(leaf))
            whole = cards(session.transcript.entries(path))
            piece = PieceRenderer(session.transcript).pieces([0], frozenset(path))[0]
            assert outcomes(whole) == outcomes(Conversation(session, leaf).cards(0)) == [("x", shown)]
            assert [text in piece for text in ("of the left", "of the right")] == [
                shown == "of the left",
                shown == "of the right",
            ]
            assert ("no result" in piece) == (shown == "no result")
        every = PieceRenderer(session.transcript).piece(0)
    assert re.findall(r'<details class="(tool[^"]*)" id="([^"]*)"', every) == [
        ("tool", "e-e1"),
        ("tool variant", "e-e4"),
    ]


def test_the_result_of_a_tool_that_the_provider_ran_is_found_in_a_later_row():
    """Claude Code writes the call and the result of a web search as two rows."""
    block = {"type": "web_search_tool_result", "tool_use_id": "w", "content": [{"text": "sunny"}]}
    found = source(answer(call("w", "web_search")), answer(block), answer(block, "It is sunny"))

    deck = cards(found.entries(range(3)))
    pieces = PieceRenderer(found).pieces(range(3))

    assert outcomes(deck) == [("w", "sunny")]
    assert "sunny" in pieces[0]
    assert "no result" not in pieces[0]
    assert pieces[1] == ""
    assert "It is sunny" in pieces[2]


def test_a_result_that_is_appended_changes_the_row_of_its_call(tmp_path):
    file = tmp_path / "s.jsonl"
    entries = [said("user", "go"), answer(call("a")), answer(call("b")), result("b", "of b")]
    file.write_bytes(lines(*entries))

    with Session.open(file) as session:
        conversation = Conversation(session, session.leaf)
        renderer = PieceRenderer(session.transcript)
        before = outcomes(conversation.cards(1)), "no result" in renderer.piece(1)
        file.write_bytes(lines(*entries, result("a", "of a")))
        session.refresh()
        following = Conversation(session, session.transcript.leaf, pairs=conversation.pairs)

        assert before == ([("a", "no result")], True)
        assert outcomes(following.cards(1)) == [("a", "of a")]
        assert "of a" in renderer.piece(1)
        assert renderer.answered_rows(4) == [1]


def test_a_window_never_shows_half_a_call(tmp_path):
    rows = [said("user", "go")]
    for number in range(30):
        key = f"c{number}"
        rows += [answer(call(key)), NOTE, NOTE, result(key, f"of {key}")]
    file = tmp_path / "s.jsonl"
    file.write_bytes(lines(*rows))

    with Session.open(file) as session:
        conversation = Conversation(session, session.leaf)
        for first in range(0, len(conversation), 3):
            for card in conversation.window(first, first + 3):
                assert not card.open
                assert "without its call" not in card.meta
        for entry in session.path():
            deck = cards_at(session, entry)
            assert all(card.body.startswith("of c") for card in deck if card.kind == "tool")


def test_pairing_everything_costs_one_walk(tmp_path):
    """Calls without results far above the end, and results without calls far below the beginning."""
    size = 3000
    rows = [answer(call(f"open{number}")) for number in range(size)]
    rows += [result(f"lost{number}", "x") for number in range(size)]
    found = source(*rows)
    reads: list[int] = []
    found.entry = lambda position, entry=found.entry: reads.append(position) or entry(position)
    pairs = CallPairs(found)

    assert not any(pairs.results(position)[0] for position in range(0, size, 7))
    assert not any(pairs.call(position) for position in range(size, 2 * size, 7))
    assert len(reads) < size


# -- all shapes --------------------------------------------------------------------------------------------

IDS = st.sampled_from(["a", "b", "c", ""])
ENTRIES = st.one_of(
    st.lists(IDS, max_size=3).map(lambda keys: answer(*map(call, keys), "words")),
    IDS.map(lambda key: result(key, "r")),
    st.just(NOTE),
    st.just(said("user", "go on")),
    IDS.map(lambda key: answer({"type": "web_search_tool_result", "tool_use_id": key, "content": []})),
)


@given(st.lists(st.tuples(ENTRIES, st.integers(0, 30)), min_size=1, max_size=24), st.booleans())
@settings(max_examples=300, deadline=None)
def test_near_walks_the_whole_session_and_each_path_give_the_same_pairs(made, near):
    entries = [
        {**entry, "parent": ABOVE if jump > 12 else jump % number if number else ABOVE}
        for number, (entry, jump) in enumerate(made)
    ]
    found = source(*entries)
    tree = found.tree
    pairs = CallPairs(found)
    if not near:
        pairs._pair_all()

    for leaf in tree.tip_positions():
        path = tree.path_positions(leaf)
        whole = pair_path(found.entries(path))
        for place, position in enumerate(path):
            for number in range(3):
                one, other = pairs.call(position, number), whole.call(place, number)
                assert (one is None) == (other is None)
                if one is not None and other is not None:
                    assert one == other._replace(position=path[other.position])
            shown = [
                [at._replace(position=path.index(at.position)) for at in places if at.position in path]
                for places in pairs.results(position)
            ]
            assert shown == [list(places) for places in whole.results(place)]


def test_limits_of_near_walks_change_nothing(monkeypatch):
    monkeypatch.setattr(call_results, "_ABOVE", 2)
    monkeypatch.setattr(call_results, "_BELOW", 2)

    test_near_walks_the_whole_session_and_each_path_give_the_same_pairs()


# -- sessions of real programs -----------------------------------------------------------------------------


def _sessions(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*.jsonl")) if path.stat().st_size < 3_000_000]


def test_every_renderer_shows_the_same_outcomes_of_real_sessions():
    """Also in Claude Code's sessions with many calls in one answer."""
    if not SHARED.is_dir():
        pytest.skip("there are no samples beside this repository")
    checked = 0
    for path in _sessions(SHARED):
        try:
            session = Session.open(path)
        except (BranchlineError, OSError):
            continue
        with session:
            tree = session.index
            leaf = session.leaf
            positions = [] if leaf is None else tree.path_positions(tree.position(leaf))
            whole = outcomes(cards(session.transcript.entries(positions)))
            conversation = Conversation(session, leaf)
            parts = [card for part in range(len(conversation)) for card in conversation.cards(part)]
            pieces = PieceRenderer(session.transcript).pieces(positions, frozenset(positions))
            assert sorted(outcomes(parts)) == sorted(whole), path
            html = "".join(pieces)
            assert html.count('aria-label="no result"') == sum(body == "no result" for _, body in whole), path
            assert html.count('aria-label="Tool result"') == sum(key == "-" for key, _ in whole), path
            checked += len(whole)
    assert checked > 500
