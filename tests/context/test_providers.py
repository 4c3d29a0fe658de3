"""Provider requests keep everything that the provider can hold."""

from __future__ import annotations

import json

import pytest

from branchline import Session, from_openai
from branchline.compaction.conversation_text import conversation_text
from branchline.compaction.file_operations import FileTally
from branchline.context import (
    Context,
    ContextMessage,
    anthropic,
    build_context,
    openai_chat,
    openai_responses,
)
from branchline.context.tokens import estimate_messages
from branchline.entries import AssistantMessage, Text, ToolCall, ToolResult, UserMessage
from context.story import answer, at, call, compaction, message, result, story, user
from context.validators import check_anthropic, check_openai_chat, check_openai_responses
from support import CORPUS, transcript

PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
ALL = [*sorted((CORPUS / "pi" / "golden").glob("*.jsonl")), *sorted((CORPUS / "pi" / "edge").glob("*.jsonl"))]
TOOL = {"name": "read", "description": "Read a file", "parameters": {"type": "object"}}


def context_of(*entries):
    session = story(*entries)
    return build_context(session, at(session))


@pytest.mark.parametrize("path", ALL, ids=[path.stem for path in ALL])
def test_every_sample_session_can_be_sent_to_every_provider(path):
    session = transcript(path)
    context = build_context(session, session.reading.leaf)

    check_anthropic(anthropic(context).messages)
    check_openai_chat(openai_chat(context).messages)
    check_openai_responses(openai_responses(context).messages)


TURN = (
    message(
        "system",
        content="Be brief.",
        sections={"preamble": "You help."},
        toolsAdded=[TOOL],
    ),
    user([{"type": "text", "text": "look"}, PICTURE]),
    answer(
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        {"type": "thinking", "thinking": "", "thinkingSignature": "ENC", "redacted": True},
        "reading",
        call("read", "c1", path="a.py", lines=1.0),
        call("read", "c2", path="b.py"),
        stopReason="toolUse",
    ),
    message(
        "toolResult",
        toolCallId="c1",
        toolName="read",
        content=[{"type": "text", "text": "see"}, PICTURE],
        isError=False,
    ),
    result("not found", "c2", isError=True),
    user("thanks"),
)


def test_anthropic_gets_every_kind_of_block():
    request = anthropic(context_of(*TURN))

    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    assert request.body() == {
        "system": "You help.\n\nBe brief.",
        "tools": [{"name": "read", "description": "Read a file", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "ENC"},
                    {"type": "text", "text": "reading"},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.py", "lines": 1.0}},
                    {"type": "tool_use", "id": "c2", "name": "read", "input": {"path": "b.py"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "see"}, picture],
                    },
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": [{"type": "text", "text": "not found"}],
                        "is_error": True,
                    },
                    {"type": "text", "text": "thanks"},
                ],
            },
        ],
    }


def test_openai_chat_gets_pictures_of_results_in_a_message_of_their_own():
    request = openai_chat(context_of(*TURN))

    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    system, asked, answered, first, second, pictures, thanks = request.messages
    assert request.system is None
    assert system == {"role": "system", "content": "You help.\n\nBe brief."}
    assert asked == {"role": "user", "content": [{"type": "text", "text": "look"}, picture]}
    assert answered["content"] == "reading"
    assert answered["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path":"a.py","lines":1.0}'},
    }
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "see"}
    assert second == {"role": "tool", "tool_call_id": "c2", "content": "[tool error] not found"}
    assert pictures["role"] == "user"
    assert pictures["content"][1:] == [picture]
    assert thanks == {"role": "user", "content": "thanks"}
    assert request.body()["tools"] == [{"type": "function", "function": TOOL}]


def test_openai_responses_gets_calls_and_results_as_items():
    request = openai_responses(context_of(*TURN))

    picture = {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}
    assert request.body()["instructions"] == "You help.\n\nBe brief."
    assert request.tools == [{"type": "function", **TOOL}]
    assert [item["type"] for item in request.body()["input"]] == [
        "message",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "message",
    ]
    assert request.messages[4]["output"] == [{"type": "input_text", "text": "see"}, picture]
    assert request.messages[5]["output"] == "[tool error] not found"


def test_thoughts_are_given_back_only_to_the_api_that_signed_them():
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    unsigned = {"type": "thinking", "thinking": "hm"}
    context = context_of(
        user("q"), answer(thought, "a", api="openai-responses"), user("q"), answer(unsigned, "b")
    )

    contents = [
        message["content"] for message in anthropic(context).messages if message["role"] == "assistant"
    ]

    assert contents == [[{"type": "text", "text": "a"}], [{"type": "text", "text": "b"}]]


def test_an_answer_of_nothing_but_thoughts_is_not_sent():
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    context = context_of(user("one"), answer(thought, stopReason="aborted"), user("two"))

    (only,) = anthropic(context).messages

    assert [block["text"] for block in only["content"]] == ["one", "two"]
    assert [message["content"] for message in openai_chat(context).messages] == ["one", "two"]


def test_a_conversation_that_begins_with_an_answer_gets_an_opening_for_anthropic():
    messages = anthropic(context_of(answer("hello"))).messages

    check_anthropic(messages)
    assert [message["role"] for message in messages] == ["user", "assistant"]


def test_a_result_without_words_says_so():
    context = context_of(user("q"), answer(call("read")), result(""))

    assert anthropic(context).messages[-1]["content"][0]["content"] == [
        {"type": "text", "text": "(no output)"}
    ]
    assert openai_chat(context).messages[-1]["content"] == "(no output)"


def test_the_two_halves_of_a_responses_id_are_taken_apart():
    context = context_of(user("q"), answer(call("read", "call_1|fc_2")), result("x", "call_1|fc_2"))

    items = openai_responses(context).messages

    assert items[1]["call_id"] == items[2]["call_id"] == "call_1"
    assert "id" not in items[1]


def test_a_summary_stands_for_what_it_replaced():
    context = context_of(user("old"), answer("kept"), compaction("what was said", "e2"), user("new"))

    first = openai_chat(context).messages[0]

    assert first["role"] == "user"
    assert "what was said" in first["content"]


def test_half_a_character_never_reaches_a_provider():
    context = context_of(user("x\ud800"), answer("y\udc00", call("read", path="\ud800")), result("z\ud800"))

    for request in (anthropic(context), openai_chat(context), openai_responses(context)):
        json.dumps(request.body(), ensure_ascii=False).encode()


NUMBERS = '{"id":1894567890123456789,"price":1.0,"large":18945678901234567890123,"tiny":1e-07,"2":0,"1":-0.0}'


def numbers_sent(request):
    if request.api == "anthropic":
        return json.dumps(request.messages[1]["content"][0]["input"], separators=(",", ":"))
    if request.api == "openai-chat":
        return request.messages[1]["tool_calls"][0]["function"]["arguments"]
    return request.messages[1]["arguments"]


@pytest.mark.parametrize("shape", [anthropic, openai_chat, openai_responses])
def test_the_numbers_of_a_call_are_sent_as_the_model_wrote_them(shape):
    session = Session.in_memory("/tmp")
    session.append_message("go")
    function = {"name": "get", "arguments": NUMBERS}
    call = {"id": "c", "type": "function", "function": function}
    session.append_messages(from_openai({"role": "assistant", "content": None, "tool_calls": [call]}))

    assert numbers_sent(shape(session.context())).replace("1e-7", "1e-07") == NUMBERS


@pytest.mark.parametrize("shape", [anthropic, openai_chat, openai_responses])
def test_replacing_half_a_character_does_not_change_the_numbers_beside_it(shape):
    session = Session.in_memory("/tmp")
    session.append_message("go")
    arguments = {"text": "\ud83d", "\udc00": 1.0, "id": 1894567890123456789}
    session.append_message(
        {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "c", "name": "f", "arguments": arguments}],
        }
    )

    expected = {"text": "\ufffd", "\ufffd": 1.0, "id": 1894567890123456789}
    sent = json.loads(numbers_sent(shape(session.context())))
    assert sent == expected
    assert isinstance(sent["\ufffd"], float)


@pytest.mark.parametrize(
    "arguments", ['{"x": 1e400}', '{"x": NaN}', "[1]", '{"x": ', '{"x":' * 200 + "1" + "}" * 200]
)
def test_arguments_that_cannot_be_stored_unchanged_are_kept_as_their_text(arguments):
    call = {"id": "c", "type": "function", "function": {"name": "get", "arguments": arguments}}

    (message,) = from_openai({"role": "assistant", "content": None, "tool_calls": [call]})

    assert message.content[0].arguments == {"incomplete": arguments}


@pytest.mark.parametrize("shape", [openai_chat, openai_responses])
@pytest.mark.parametrize(
    "arguments", ['{"id": 1894567890123456789, "x": 1e400}', '{"x":' * 200 + "1" + "}" * 200]
)
def test_complete_arguments_that_cannot_be_stored_are_sent_as_they_came(shape, arguments):
    session = Session.in_memory("/tmp")
    session.append_message("go")
    call = {"id": "c", "type": "function", "function": {"name": "get", "arguments": arguments}}
    session.append_messages(from_openai({"role": "assistant", "content": None, "tool_calls": [call]}))

    assert numbers_sent(shape(session.context())) == arguments


@pytest.mark.parametrize("text", ['{"a": 1}', '{"x": ', "[1]", '{"x": NaN}', "text"])
def test_a_parameter_with_the_name_of_incomplete_arguments_is_sent_as_one(text):
    session = Session.in_memory("/tmp")
    call = ToolCall(id="c", name="get", arguments={"incomplete": text})
    session.append_messages(["go", AssistantMessage(content=(call,))])

    assert json.loads(numbers_sent(openai_chat(session.context()))) == {"incomplete": text}


class CountedText(str):
    """A text that counts how many of its characters are looked at one by one."""

    __slots__ = ()
    visits = 0

    def __iter__(self):
        for character in super().__iter__():
            CountedText.visits += 1
            yield character


@pytest.mark.parametrize(
    "reader",
    [
        anthropic,
        openai_chat,
        openai_responses,
        lambda context: estimate_messages([item.message for item in context.messages]),
        lambda context: conversation_text([item.message for item in context.messages]),
        lambda context: FileTally().add_messages([item.message for item in context.messages]),
    ],
    ids=["anthropic", "openai_chat", "openai_responses", "tokens", "conversation_text", "file_operations"],
)
def test_content_that_is_a_text_is_never_walked_character_by_character(reader):
    content = CountedText("a long answer " * 100)
    context = Context(
        messages=[
            ContextMessage("1", UserMessage(content=content)),
            ContextMessage("2", AssistantMessage(content=content)),
            ContextMessage("3", ToolResult(tool_call_id="c", tool_name="f", content=content)),
        ]
    )
    CountedText.visits = 0

    reader(context)

    assert CountedText.visits == 0


@pytest.mark.parametrize("shape", [anthropic, openai_chat, openai_responses])
def test_content_that_is_a_text_makes_the_same_request_as_one_text_block(shape):
    def request(content):
        messages = [UserMessage(content="q"), AssistantMessage(content=content), UserMessage(content="r")]
        return shape(Context(messages=[ContextMessage(str(n), one) for n, one in enumerate(messages)]))

    assert request("  an answer") == request((Text(text="  an answer"),))
    assert request(" ") == request(())
