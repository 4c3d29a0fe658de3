"""The laws of compaction, on live sessions of any shape.

Answers call tools whose results come later, in any order, with prompts and other words in between; sessions
are compacted again and again, and every time nothing is lost.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline import Session
from branchline.compaction import (
    RESERVE_TOKENS,
    compaction_due,
    conversation_text,
    prepare_compaction,
    should_compact,
    split_by_tokens,
    summary_budget,
)
from branchline.context import build_context, context_tokens, estimate_message
from branchline.entries import (
    AssistantMessage,
    CompactionSummaryMessage,
    ToolCall,
    ToolResult,
    message_fields,
)
from branchline.errors import NothingToCompact
from branchline.flows import compact, run
from context.story import answer, at, call, compaction, result, story, usage, user

SIZES = st.integers(0, 60)
MOVES = st.one_of(
    st.tuples(st.just("user"), SIZES),
    st.tuples(st.just("custom"), SIZES),
    st.tuples(st.just("bash"), SIZES),
    st.tuples(st.just("answer"), SIZES),
    st.tuples(st.just("calls"), st.integers(1, 3)),
    st.tuples(st.just("result"), SIZES),
    st.tuples(st.just("label"), st.just(0)),
)
TALKS = st.lists(MOVES, min_size=1, max_size=30)


class Talk:
    """A live session that grows by moves; remembers which calls wait for their results."""

    def __init__(self):
        self.session = Session.in_memory("/home/u/proj")
        self.waiting: list[str] = []
        self.calls = 0

    def grow(self, moves):
        for kind, size in moves:
            self.move(kind, size)

    def move(self, kind, size):
        session, text = self.session, f"{kind} {len(self.session)} " + "w" * 4 * size
        match kind:
            case "user":
                session.append_message(text)
            case "custom":
                session.append_custom_message("acme", text)
            case "bash":
                session.append_message({"role": "bashExecution", "command": "ls", "output": text})
            case "answer":
                session.append_message({"role": "assistant", "content": [{"type": "text", "text": text}]})
            case "calls":
                names = [f"c{self.calls + number}" for number in range(size)]
                self.calls += size
                self.waiting += names
                blocks = [{"type": "toolCall", "id": name, "name": "t", "arguments": {}} for name in names]
                session.append_message({"role": "assistant", "content": blocks})
            case "result" if self.waiting:
                name = self.waiting.pop(size % len(self.waiting))
                session.append_message(
                    {"role": "toolResult", "toolCallId": name, "toolName": "t", "content": text}
                )
            case "label" if session.leaf is not None:
                session.append_label(session.leaf, text)
            case _:
                pass

    def compact(self, keep, summary="summary", seen=None):
        def write(request):
            if seen is not None:
                seen.append(request)
            return f"{summary} of {request.kind}"

        try:
            return run(compact(self.session, keep_recent_tokens=keep), summarizer=write)
        except NothingToCompact:
            return None


def messages(session, leaf=None):
    return [item.message for item in session.context(leaf).messages]


def calls_in(said):
    return {
        block.id
        for message in said
        if isinstance(message, AssistantMessage) and not isinstance(message.content, str)
        for block in message.content
        if isinstance(block, ToolCall)
    }


def results_in(said):
    return {message.tool_call_id for message in said if isinstance(message, ToolResult)}


def pieces(said):
    """The messages in pieces that no cut may divide: plainly, by trying every place."""
    found: list[list] = []
    for number, message in enumerate(said):
        parted = calls_in(said[:number]) & results_in(said[number:])
        if not found or (not parted and not isinstance(message, ToolResult)):
            found.append([])
        found[-1].append(message)
    return found


def tokens(said):
    return sum(map(estimate_message, said))


@given(moves=TALKS, keep=st.integers(1, 120))
@settings(max_examples=150, deadline=None)
def test_no_call_is_cut_from_its_result(moves, keep):
    talk = Talk()
    talk.grow(moves)
    before = messages(talk.session)
    if talk.compact(keep) is None:
        return

    kept = messages(talk.session)[1:]

    answered = calls_in(before) & results_in(before)
    assert answered & results_in(kept) == answered & calls_in(kept)


@given(moves=TALKS, keep=st.integers(1, 120))
@settings(max_examples=150, deadline=None)
def test_the_context_after_a_compaction_fits_the_budget(moves, keep):
    """What is kept is at most the wanted tokens and one piece that cannot be divided."""
    talk = Talk()
    talk.grow(moves)
    before = messages(talk.session)
    if talk.compact(keep) is None:
        return

    after = talk.session.context()
    kept = tokens(item.message for item in after.messages[1:])
    largest = max(map(tokens, pieces(before)))
    summary = estimate_message(after.messages[0].message)
    window = RESERVE_TOKENS + keep + largest + summary

    assert kept <= keep + largest
    assert not should_compact(context_tokens(after).tokens, window)
    assert not compaction_due(after, window)


@given(moves=TALKS, keep=st.integers(0, 120))
@settings(max_examples=100, deadline=None)
def test_what_was_kept_is_verbatim_and_what_was_summed_up_is_the_rest(moves, keep):
    talk = Talk()
    talk.grow(moves)
    before = [(item.entry, message_fields(item.message)) for item in talk.session.context().messages]
    if talk.compact(keep) is None:
        return

    after = [(item.entry, message_fields(item.message)) for item in talk.session.context().messages]

    assert isinstance(messages(talk.session)[0], CompactionSummaryMessage)
    assert after[1:] == before[len(before) - len(after) + 1 :]
    assert len(after) <= len(before)


@given(first=TALKS, second=TALKS, keep=st.integers(0, 60))
@settings(max_examples=100, deadline=None)
def test_two_compactions_in_a_row_keep_the_chain_of_summaries(first, second, keep):
    """The second is told of the first, or stores it as it is; and the first stays in the tree."""
    talk, seen = Talk(), []
    talk.grow(first)
    one = talk.compact(keep, "the first")
    talk.grow(second)
    if one is None or (two := talk.compact(keep, "the second", seen)) is None:
        return

    history = [request for request in seen if request.kind == "history"]
    assert all(f"<previous-summary>\n{one.summary}\n</previous-summary>" in item.prompt for item in history)
    assert history or two.summary.startswith(one.summary)
    assert one.entry in talk.session.path()
    assert two.entry == talk.session.leaf


@given(talks=st.lists(st.tuples(TALKS, st.integers(0, 60)), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_branching_to_before_a_compaction_restores_the_full_messages(talks):
    talk = Talk()
    remembered = {}
    for moves, keep in talks:
        talk.grow(moves)
        remembered |= {key: messages(talk.session, key) for key in talk.session.path()[-3:]}
        talk.compact(keep)

    for key, said in remembered.items():
        talk.session.branch(key)
        assert messages(talk.session) == said


@given(moves=TALKS)
@settings(max_examples=60, deadline=None)
def test_a_context_that_was_just_compacted_is_left_alone(moves):
    talk = Talk()
    talk.grow(moves)
    if talk.compact(0) is None:
        return

    assert talk.compact(0) is None
    assert not compaction_due(talk.session.context(), RESERVE_TOKENS)


# -- words between a call and its result ------------------------------------------------------------------


def test_a_prompt_between_a_call_and_its_result_is_no_place_to_cut():
    """pi would cut at the prompt and send a result whose call nobody sees."""
    told = [
        user("start"),
        answer(call("read", path="a")),
        user("hurry up"),
        result("x" * 400),
        answer("done"),
    ]
    session = story(*told)

    found = prepare_compaction(session, at(session), keep_recent_tokens=102)

    assert found.first_kept == "e5"


# -- when it is due ---------------------------------------------------------------------------------------

WINDOW = RESERVE_TOKENS + 1000


def due(*told):
    session = story(*told)
    return compaction_due(build_context(session, at(session)), WINDOW)


@pytest.mark.parametrize(("reported", "trailing", "expected"), [(900, 400, False), (900, 404, True)])
def test_it_is_due_when_the_last_report_and_what_came_after_leave_too_little_room(
    reported, trailing, expected
):
    assert due(user("q"), answer("a", usage=usage(reported)), user("x" * trailing)) is expected


def test_without_a_report_the_estimate_counts():
    assert not due(user("x" * 4000))
    assert due(user("x" * 4004))


def test_what_an_answer_reported_before_the_compaction_counts_no_more():
    long_ago = (user("q"), answer("a", usage=usage(5000)), user("kept"))

    assert due(*long_ago)
    assert not due(*long_ago, compaction("s", "e3"), user("new"))
    assert not due(*long_ago, compaction("s", "e1"), user("new"), answer("b", usage=usage(50)))
    assert due(*long_ago, compaction("s", "e1"), user("new"), answer("b", usage=usage(1001)))


def test_a_context_that_was_compacted_waits_for_an_answer():
    assert not due(user("x" * 9000), compaction("s", "e1"), user("more"))
    assert due(user("x" * 9000), compaction("s", "e1"), user("more"), answer("b"))


def test_where_the_window_is_not_known_it_is_never_due():
    session = story(user("x" * 9000))

    assert not compaction_due(build_context(session, at(session)), None)


# -- in pieces --------------------------------------------------------------------------------------------


@given(moves=TALKS, budget=st.integers(1, 80))
@settings(max_examples=80, deadline=None)
def test_pieces_are_the_messages_in_order_and_each_fits_or_is_one_message(moves, budget):
    talk = Talk()
    talk.grow(moves)
    said = messages(talk.session)

    found = split_by_tokens(said, budget)

    assert [message for piece in found for message in piece] == said
    assert all(piece for piece in found)
    assert all(len(piece) == 1 or len(conversation_text(piece)) <= 4 * budget for piece in found)
    assert split_by_tokens(said, None) == ([tuple(said)] if said else [])


@pytest.mark.parametrize(("window", "expected"), [(None, None), (128_000, 83_712), (8_000, 2_000), (2, 1)])
def test_a_summarizer_is_shown_what_fits_its_window(window, expected):
    assert summary_budget(window) == expected
