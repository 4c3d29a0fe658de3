"""Every tool call gets exactly one result, directly after it, whatever the history contains."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.context import (
    NO_RESULT,
    Context,
    ContextMessage,
    anthropic,
    close_tool_calls,
    openai_chat,
    openai_responses,
)
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummaryMessage,
    CustomContent,
    Image,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownBlock,
    UserMessage,
)
from context.validators import check_anthropic, check_openai_chat, check_openai_responses


def asks(*ids, **fields):
    return AssistantMessage(
        content=tuple(ToolCall(id=name, name="read", arguments={"path": name}) for name in ids), **fields
    )


def gives(name, text="done"):
    return ToolResult(tool_call_id=name, tool_name="read", content=(Text(text=text),), is_error=False)


def says(text):
    return UserMessage(content=text)


def test_a_complete_conversation_stays_as_it_is():
    messages = [says("go"), asks("a", "b"), gives("b"), gives("a"), asks("c"), gives("c"), says("thanks")]

    assert close_tool_calls(messages) == messages


def test_a_call_without_a_result_gets_one_that_says_so():
    closed = close_tool_calls([asks("a", "b", timestamp=5), gives("b"), says("stop")])

    assert closed[1:3] == [
        gives("b"),
        ToolResult(
            tool_call_id="a",
            tool_name="read",
            content=(Text(text=NO_RESULT),),
            is_error=True,
            timestamp=5,
        ),
    ]
    assert closed[3] == says("stop")


def test_a_result_moves_up_to_its_call():
    """What the person said or ran while the tool was working comes after the result."""
    assert close_tool_calls([asks("a"), says("wait"), gives("a")]) == [asks("a"), gives("a"), says("wait")]


def test_the_last_of_several_results_counts():
    assert close_tool_calls([asks("a"), gives("a", "first"), gives("a", "second")]) == [
        asks("a"),
        gives("a", "second"),
    ]


def test_a_result_without_a_call_is_left_out():
    assert close_tool_calls([gives("a"), says("hello"), gives("b")]) == [says("hello")]


def test_an_answer_that_failed_before_it_said_anything_is_left_out():
    failed = AssistantMessage(content=(), stop_reason="error", error_message="overloaded")
    blank = AssistantMessage(content=(Text(text=" "),), stop_reason="aborted")
    partial = AssistantMessage(content=(Text(text="I was"),), stop_reason="aborted")
    empty = AssistantMessage(content=(), stop_reason="stop")

    assert close_tool_calls([failed, blank, partial, empty]) == [partial, empty]


def test_an_id_used_again_is_renamed_with_its_result():
    """Some providers count their calls from zero in every answer; others refuse an id that comes twice."""
    closed = close_tool_calls(
        [asks("call_0"), gives("call_0", "one"), asks("call_0"), gives("call_0", "two")]
    )

    again = closed[2].content[0].id
    assert again != "call_0"
    assert closed[3] == ToolResult(
        tool_call_id=again, tool_name="read", content=(Text(text="two"),), is_error=False
    )


def test_messages_are_never_changed_only_replaced():
    asking = asks("a", "a")
    before = asking.content

    close_tool_calls([asking])

    assert asking.content is before


# -- laws -------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["", " ", "hello", "\ud800 half", "ünï 😀"])
IDS = st.sampled_from(["a", "b", "c", "a|fc_1", "", "x" * 80, "sonderzeichen é"])
CALLS = st.builds(
    ToolCall,
    id=IDS,
    name=st.sampled_from(["read", "my.tool", ""]),
    arguments=st.dictionaries(WORDS, st.one_of(WORDS, st.floats(allow_nan=False), st.none()), max_size=2),
)
TEXTS = st.builds(Text, text=WORDS)
IMAGES = st.builds(Image, data=st.sampled_from(["", "aGk="]), mime_type=st.sampled_from(["", "image/png"]))
THOUGHTS = st.builds(
    Thinking,
    thinking=WORDS,
    thinking_signature=st.sampled_from([None, "sig"]),
    redacted=st.sampled_from([None, True]),
)
STRANGE = st.just(UnknownBlock(type="video", fields={"type": "video"}))
SAID = st.one_of(WORDS, st.lists(st.one_of(TEXTS, IMAGES, STRANGE), max_size=3).map(tuple))
MESSAGES = st.one_of(
    st.builds(UserMessage, content=SAID),
    st.builds(
        AssistantMessage,
        content=st.lists(st.one_of(TEXTS, THOUGHTS, CALLS, STRANGE), max_size=4).map(tuple),
        api=st.sampled_from([None, "anthropic-messages", "openai-responses"]),
        stop_reason=st.sampled_from(["stop", "toolUse", "error", "aborted"]),
    ),
    st.builds(ToolResult, tool_call_id=IDS, tool_name=st.just("read"), content=SAID, is_error=st.booleans()),
    st.builds(BashExecution, command=WORDS, output=WORDS),
    st.builds(CustomContent, custom_type=st.just("x"), content=SAID),
    st.builds(BranchSummaryMessage, summary=WORDS),
    st.builds(SystemMessage, content=WORDS, sections=st.dictionaries(WORDS, WORDS, max_size=1)),
)
CONTEXTS = st.lists(MESSAGES, max_size=14).map(
    lambda messages: Context(messages=[ContextMessage("e", message) for message in messages])
)


@given(messages=st.lists(MESSAGES, max_size=14))
@settings(max_examples=150, deadline=None)
def test_after_closing_every_call_is_followed_by_exactly_one_result(messages):
    """Law: calls and results pair up before the next message, ids are unique, closing again changes nothing."""
    closed = close_tool_calls(messages)

    waiting: list[str] = []
    seen: set[str] = set()
    for message in closed:
        if isinstance(message, ToolResult):
            waiting.remove(message.tool_call_id)
            continue
        assert not waiting
        if isinstance(message, AssistantMessage):
            waiting = [block.id for block in message.content if isinstance(block, ToolCall)]
            assert len(set(waiting)) == len(waiting)
            assert seen.isdisjoint(waiting)
            seen.update(waiting)
    assert not waiting
    assert close_tool_calls(closed) == closed


@given(context=CONTEXTS)
@settings(max_examples=150, deadline=None)
def test_anthropic_accepts_every_context(context):
    check_anthropic(anthropic(context).messages)


@given(context=CONTEXTS)
@settings(max_examples=150, deadline=None)
def test_openai_chat_accepts_every_context(context):
    check_openai_chat(openai_chat(context).messages)


@given(context=CONTEXTS)
@settings(max_examples=150, deadline=None)
def test_openai_responses_accepts_every_context(context):
    check_openai_responses(openai_responses(context).messages)
