"""The partial answer of an interrupted stream."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline.entries import Text, Thinking, ToolCall, Usage
from branchline.models import OfflineModel, PartialAnswer, TextDelta, ThinkingDelta, ToolCallDelta
from branchline.models.partial_answer import INCOMPLETE


def test_nothing_has_come_before_the_first_event():
    assert PartialAnswer().is_empty
    assert PartialAnswer().message is None


def test_pieces_of_one_block_are_joined_and_blocks_stay_in_order():
    answer = PartialAnswer()

    for event in [
        ThinkingDelta(block=0, text="hm"),
        TextDelta(block=1, text="on"),
        ToolCallDelta(block=2, id="c", name="read"),
        TextDelta(block=1, text="e"),
        ToolCallDelta(block=2, arguments='{"path":'),
        ToolCallDelta(block=2, arguments=' "x"}'),
    ]:
        answer.take(event)
    message = answer.interrupted(OfflineModel(), stop_reason="aborted", error_message=None)

    assert message.content == (
        Thinking(thinking="hm"),
        Text(text="one"),
        ToolCall(id="c", name="read", arguments={"path": "x"}),
    )
    assert (message.stop_reason, message.usage) == ("aborted", Usage())


@given(st.dictionaries(st.text(), st.text()), st.data())
def test_of_a_call_that_broke_off_every_letter_is_kept(arguments, data):
    text = json.dumps(arguments)
    cut = data.draw(st.integers(0, len(text)))
    answer = PartialAnswer()

    answer.take(ToolCallDelta(block=0, id="c", name="read", arguments=text[:cut]))
    (call,) = answer.blocks()

    if cut == len(text):
        assert call.arguments == arguments
    elif cut:
        assert call.arguments == {INCOMPLETE: text[:cut]}


@pytest.mark.parametrize("text", ["[1]", "7", '"x"'])
def test_arguments_that_are_no_object_are_kept_as_text(text):
    answer = PartialAnswer()
    answer.take(ToolCallDelta(block=0, id="c", name="read", arguments=text))

    assert answer.blocks() == (ToolCall(id="c", name="read", arguments={INCOMPLETE: text}),)
