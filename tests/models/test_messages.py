"""Provider data that must be sent back unchanged survives storage in a session."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from branchline.context import close_tool_calls, model_messages
from branchline.entries import AssistantMessage, Text, Thinking, ToolCall, ToolResult, UserMessage
from branchline.models.pydantic_ai.messages import MessageEncoder
from branchline.models.pydantic_ai.responses import answer
from strategies import messages as any_messages

SYSTEMS = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai",
    "openai-completions": "openai",
    "google-generative-ai": "google",
}


def stored(response: ModelResponse, api: str) -> AssistantMessage:
    """The answer after a session has written and read it."""
    message = answer(response, name="p:m", provider="p", model="m", api=api)
    return msgspec.json.decode(msgspec.json.encode(message), type=AssistantMessage)


def given_back(message: AssistantMessage, api: str, *, provider: str = "p") -> list:
    writer = MessageEncoder(provider=provider, model="m", api=api, system=SYSTEMS[api])
    written = writer.messages((UserMessage(content="a"), message, UserMessage(content="b")), "")
    return list(written[1].parts)


def response(*parts, finish_reason="stop") -> ModelResponse:
    return ModelResponse(
        parts=list(parts),
        model_name="m",
        finish_reason=finish_reason,
        provider_details={"finish_reason": finish_reason},
    )


@pytest.mark.parametrize(
    ("api", "parts"),
    [
        (
            "anthropic-messages",
            [
                ThinkingPart(content="hm", signature="sig", provider_name="anthropic"),
                ThinkingPart(content="", id="redacted_thinking", signature="data", provider_name="anthropic"),
                TextPart(content="hello"),
                ToolCallPart(tool_name="read", args={"path": "x"}, tool_call_id="toolu_1"),
            ],
        ),
        (
            "openai-responses",
            [
                ThinkingPart(content="hm", id="rs_1", signature="encrypted", provider_name="openai"),
                TextPart(content="hello", id="msg_1", provider_name="openai"),
                ToolCallPart(
                    tool_name="read", args={}, tool_call_id="call_1", id="fc_1", provider_name="openai"
                ),
            ],
        ),
        (
            "openai-completions",
            [
                ThinkingPart(content="hm", id="reasoning_content", provider_name="openai"),
                TextPart(content="hello"),
            ],
        ),
        (
            "google-generative-ai",
            [
                TextPart(
                    content="hello", provider_name="google", provider_details={"thought_signature": "c2ln"}
                ),
                ToolCallPart(
                    tool_name="read",
                    args={},
                    tool_call_id="call_1",
                    provider_name="google",
                    provider_details={"thought_signature": "c2ln"},
                ),
            ],
        ),
    ],
)
def test_signatures_and_item_ids_come_back_to_the_model_that_made_them(api, parts):
    message = stored(response(*parts), api)

    assert given_back(message, api) == parts


@pytest.mark.parametrize("api", list(SYSTEMS))
def test_another_model_gets_neither_thoughts_nor_signatures(api):
    system = SYSTEMS[api]
    message = stored(
        response(
            ThinkingPart(content="hm", id="rs_1", signature="sig", provider_name=system),
            TextPart(content="hello", id="msg_1", provider_name=system),
        ),
        api,
    )

    assert given_back(message, api, provider="other") == [TextPart(content="hello")]


def test_a_thought_that_pi_stored_is_understood():
    thought = Thinking(
        thinking="hm",
        thinking_signature='{"type":"reasoning","id":"rs_9","summary":[],"encrypted_content":"xyz"}',
    )
    message = AssistantMessage(
        content=(thought, Text(text="a", text_signature="{}")), provider="p", model="m"
    )

    thinking, text = given_back(message, "openai-responses")

    assert (thinking.id, thinking.signature, thinking.content) == ("rs_9", "xyz", "hm")
    assert text == TextPart(content="a")


def test_cached_tokens_are_counted_once_and_the_price_list_gives_the_cost():
    known = ModelResponse(
        parts=[TextPart(content="x")],
        model_name="claude-sonnet-4-5",
        provider_name="anthropic",
        finish_reason="stop",
        provider_details={"finish_reason": "end_turn"},
        usage=RequestUsage(
            input_tokens=1_000_000, cache_read_tokens=200_000, cache_write_tokens=100_000, output_tokens=1000
        ),
    )

    usage = answer(
        known, name="x", provider="anthropic", model="claude-sonnet-4-5", api="anthropic-messages"
    ).usage

    assert (usage.input, usage.cache_read, usage.cache_write, usage.output) == (
        700_000,
        200_000,
        100_000,
        1000,
    )
    assert usage.total_tokens == 1_001_000
    assert usage.cost.input > 0
    assert usage.cost.total == pytest.approx(usage.cost.input + usage.cost.output)


def test_the_cost_of_a_model_that_no_list_knows_is_unknown():
    unknown = stored(response(TextPart(content="x")), "openai-completions").usage.cost
    assert (unknown.total, unknown.known) == (0, False)  # pi wants a number


def test_arguments_that_are_no_json_are_kept_as_text():
    message = stored(
        response(ToolCallPart(tool_name="read", args='{"path', tool_call_id="c")), "openai-completions"
    )

    assert message.content == (ToolCall(id="c", name="read", arguments={"incomplete": '{"path'}),)


@given(st.lists(any_messages, max_size=12))
@settings(max_examples=60, deadline=None)
def test_any_conversation_can_be_written_with_every_call_answered_once(conversation):
    ready = close_tool_calls(model_messages(conversation))
    writer = MessageEncoder(provider="p", model="m", api="anthropic-messages", system="anthropic")

    written = writer.messages(ready, "be brief")

    asked: list[str] = []
    for message in written:
        if isinstance(message, ModelResponse):
            assert message.parts
            assert not asked
            asked = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
        else:
            answered = [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
            assert sorted(answered) == sorted(asked)
            asked = []
            assert all(isinstance(part, ToolReturnPart | UserPromptPart) for part in message.parts)
    assert isinstance(written[-1], ModelRequest)
    assert written[-1].instructions == "be brief"


def test_a_failed_result_is_marked_as_one():
    call = AssistantMessage(content=(ToolCall(id="c", name="read", arguments={}),))
    writer = MessageEncoder(provider="p", model="m", api="anthropic-messages", system="anthropic")

    written = writer.messages(
        (
            UserMessage(content="a"),
            call,
            ToolResult(tool_call_id="c", tool_name="read", content="", is_error=True),
        ),
        "",
    )

    (part,) = written[-1].parts
    assert (part.outcome, part.content) == ("failed", "(no output)")
