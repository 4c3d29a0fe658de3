"""Provider messages convert to session messages and back without loss."""

from __future__ import annotations

import base64
from types import SimpleNamespace

import pytest

import branchline
from branchline import Session, from_anthropic, from_openai
from branchline.context import anthropic, openai_chat, openai_responses
from branchline.entries import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownBlock,
    UserMessage,
)
from branchline.errors import InvalidMessage

PICTURE = base64.b64encode(b"picture").decode()

COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_767_225_600,
    "model": "gpt-5",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "Let me look.",
                "refusal": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path": "a"}'},
                    }
                ],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 3},
    },
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1_767_225_600,
    "model": "gpt-5",
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "x",
        },
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "q"},
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "read",
            "arguments": '{"path": "a"}',
            "status": "completed",
        },
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 107,
    },
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "signed"},
        {"type": "redacted_thinking", "data": "sealed"},
        {"type": "text", "text": "Let me look.", "citations": None},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 7,
    },
}


def sdk(kind: str, value):
    """The same as an object of the client library."""
    if kind == "dict":
        return value
    if kind == "namespace":
        return namespace(value)
    if value is COMPLETION:
        return pytest.importorskip("openai.types.chat").ChatCompletion.model_validate(value)
    if value is RESPONSE:
        return pytest.importorskip("openai.types.responses").Response.model_validate(value)
    return pytest.importorskip("anthropic.types").Message.model_validate(value)


def namespace(value):
    if isinstance(value, dict):
        return SimpleNamespace(
            **{key: namespace(item) for key, item in value.items() if key != "input"}
            | ({"input": value["input"]} if "input" in value else {})
        )
    return [namespace(item) for item in value] if isinstance(value, list) else value


KINDS = pytest.mark.parametrize("kind", ["dict", "sdk", "namespace"])


@KINDS
def test_a_chat_completion_is_an_answer_with_its_calls_its_model_and_its_usage(kind):
    (answer,) = from_openai(sdk(kind, COMPLETION))

    assert isinstance(answer, AssistantMessage)
    assert answer.content == (
        Text(text="Let me look."),
        ToolCall(id="call_1", name="read", arguments={"path": "a"}),
    )
    assert (answer.provider, answer.model, answer.api) == ("openai", "gpt-5", "openai-completions")
    assert (answer.stop_reason, answer.raw_stop_reason, answer.response_id) == (
        "toolUse",
        "tool_calls",
        "chatcmpl-1",
    )
    usage = answer.usage
    assert (usage.input, usage.cache_read, usage.output, usage.reasoning) == (60, 40, 7, 3)
    assert usage.total_tokens == 107
    assert answer.timestamp == 1_767_225_600_000


@KINDS
def test_a_response_is_one_answer_with_what_the_api_wants_back(kind):
    (answer,) = from_openai(sdk(kind, RESPONSE), provider="gateway")

    thought, search, text, call = answer.content
    assert isinstance(thought, Thinking)
    assert thought.thinking == "hm"
    assert '"encrypted_content": "x"' in thought.thinking_signature
    assert isinstance(search, UnknownBlock)
    assert search.type == "web_search_call"
    assert (text.text, text.text_signature) == ("Let me look.", '{"v": 1, "id": "msg_1"}')
    assert call == ToolCall(id="call_1|fc_1", name="read", arguments={"path": "a"})
    assert (answer.provider, answer.api, answer.stop_reason) == ("gateway", "openai-responses", "toolUse")
    assert (answer.usage.input, answer.usage.cache_read, answer.usage.output) == (60, 40, 7)


@KINDS
def test_a_message_of_anthropic_keeps_its_signed_thoughts_and_its_calls(kind):
    (answer,) = from_anthropic(sdk(kind, MESSAGE))

    assert answer.content == (
        Thinking(thinking="hm", thinking_signature="signed"),
        Thinking(thinking="", thinking_signature="sealed", redacted=True),
        Text(text="Let me look."),
        ToolCall(id="toolu_1", name="read", arguments={"path": "a"}),
    )
    assert (answer.provider, answer.model, answer.api) == (
        "anthropic",
        "claude-sonnet-5",
        "anthropic-messages",
    )
    assert (answer.stop_reason, answer.raw_stop_reason) == ("toolUse", "tool_use")
    usage = answer.usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total_tokens) == (
        10,
        20,
        5,
        7,
        42,
    )


def test_a_chat_goes_in_and_comes_out_as_it_was():
    chat = [
        {"role": "system", "content": "be brief"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
            ],
        },
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path":"a"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "text of a"},
        {"role": "assistant", "content": "Done."},
    ]
    session = Session.in_memory("/work")

    session.append_messages(from_openai(chat))

    assert openai_chat(session.context()).messages == chat
    assert session.context().messages[3].message.tool_name == "read"


def test_items_of_the_responses_api_go_in_and_come_out_again():
    items = [
        {"role": "user", "content": "look"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me look."}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "read",
            "arguments": '{"path":"a"}',
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "text of a"},
    ]
    session = Session.in_memory("/work")

    session.append_messages(from_openai(items))

    messages = [item.message for item in session.context().messages]
    assert [type(message) for message in messages] == [UserMessage, AssistantMessage, ToolResult]
    sent = openai_responses(session.context()).messages
    assert [(item["type"], item.get("call_id")) for item in sent] == [
        ("message", None),
        ("message", None),
        ("function_call", "call_1"),
        ("function_call_output", "call_1"),
    ]


def test_messages_of_anthropic_go_in_and_come_out_as_they_were():
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {"role": "assistant", "content": [block for block in MESSAGE["content"] if block["type"] != "text"]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        {"type": "text", "text": "no"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
                        },
                    ],
                    "is_error": True,
                },
                {"type": "text", "text": "go on"},
            ],
        },
    ]
    session = Session.in_memory("/work")

    session.append_messages(from_anthropic(chat))

    assert anthropic(session.context()).messages == chat
    result = session.context().messages[2].message
    assert (result.tool_name, result.is_error) == ("read", True)
    assert result.content[1] == Image(data=PICTURE, mime_type="image/png")


@pytest.mark.parametrize(
    ("answer", "result", "call"),
    [
        (from_openai(COMPLETION), {"role": "tool", "tool_call_id": "call_1", "content": "x"}, "call_1"),
        (
            from_openai(RESPONSE),
            {"type": "function_call_output", "call_id": "call_1", "output": "x"},
            "call_1|fc_1",
        ),
    ],
)
def test_a_result_that_comes_later_finds_its_call_in_the_session(answer, result, call):
    session = Session.in_memory("/work")
    session.append_message("look")
    session.append_message(answer)  # one message in a list is that message

    session.append_message(from_openai(result))

    stored = session.context().messages[-1].message
    assert (stored.tool_call_id, stored.tool_name) == (call, "read")


def test_results_that_are_appended_together_with_their_calls_are_named_too():
    session = Session.in_memory("/work")
    prompt = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]}

    session.append_messages([*from_anthropic(MESSAGE), *from_anthropic(prompt)])

    assert session.context().messages[-1].message.tool_name == "read"


def test_older_and_other_shapes_are_understood():
    thought = {"role": "assistant", "content": "hi", "reasoning_content": "hm"}
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{not json"}}
    custom = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
    }
    refused = {"role": "assistant", "content": None, "refusal": "no"}

    assert from_openai(thought)[0].content[0].thinking == "hm"
    assert from_openai([legacy, {"role": "function", "name": "f", "content": "1"}])[1].tool_name == "f"
    assert from_openai(legacy)[0].content[0].arguments == {"incomplete": "{not json"}
    assert from_openai(custom)[0].content[0].arguments == {"input": "ls"}
    assert from_openai(refused)[0].content == (Text(text="no"),)
    assert from_openai({"role": "developer", "content": "be brief"}) == [SystemMessage(content="be brief")]
    assert from_anthropic({"role": "user", "content": "hi"}) == [UserMessage(content=(Text(text="hi"),))]
    assert (
        from_anthropic(
            {
                "role": "assistant",
                "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}],
            }
        )[0]
        .content[0]
        .type
        == "server_tool_use"
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "an object or a dict"),
        (None, "an object or a dict"),
        ("hello", "an object or a dict"),
        ([[]], "an object or a dict"),
        ({}, "neither a response"),
        ({"object": "chat.completion.chunk", "choices": []}, "chunk of a stream"),
        ({"choices": []}, "exactly one choice"),
        ({"choices": [COMPLETION["choices"][0]] * 2}, "exactly one choice"),
        ({"role": "oracle", "content": "x"}, "the role 'oracle'"),
        ({"role": "user", "content": 5}, "a text or a list"),
        ({"role": "user", "content": [{"type": "input_audio"}]}, "'input_audio'"),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]},
            "data: URL",
        ),
    ],
)
def test_what_is_not_understood_of_openai_is_refused(value, words):
    with pytest.raises(ValueError, match=words) as caught:
        from_openai(value)

    assert str(caught.value).startswith("from_openai() cannot take this: ")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "an object or a dict"),
        ({}, "needs a role"),
        ({"role": "system", "content": "x"}, "the role 'system'"),
        ({"role": "user"}, "a text or a list"),
        ({"role": "user", "content": [{"type": "document"}]}, "'document'"),
        (
            {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]},
            "base64 data",
        ),
    ],
)
def test_what_is_not_understood_of_anthropic_is_refused(value, words):
    with pytest.raises(ValueError, match=words):
        from_anthropic(value)


def test_they_are_names_of_the_package():
    assert {"from_openai", "from_anthropic"} <= set(branchline.__all__)


# -- what an answer may hold -------------------------------------------------------------------------------

NEW_BLOCKS = [
    {"type": "container_upload", "file_id": "file_1"},
    {
        "type": "mcp_tool_use",
        "id": "m",
        "name": "n",
        "server_name": "s",
        "input": {"id": 1894567890123456789},
    },
    {"type": "compaction", "content": "earlier"},
    {"type": "thinking", "thought": "of another shape"},
    {"type": "tool_use", "id": "nameless"},
    {"type": "text", "text": None},
    {"type": "image", "source": {"type": "file", "file_id": "f"}},
    {"type": 7, "x": 1.0},
    {"no": "type"},
    {"type": "of_the_future", "nested": {"list": [1, "two", None, {"three": 3.5}]}},
]
NEW_ITEMS = [
    {"type": "mcp_list_tools", "id": "1", "server_label": "s", "tools": []},
    {"type": "mcp_approval_request", "id": "2", "name": "n", "arguments": "{}", "server_label": "s"},
    {"type": "compaction", "id": "3", "encrypted_content": "ENC"},
    {"type": "shell_call_output", "id": "4", "call_id": "c", "output": [{"stdout": "a"}]},
    {"type": "apply_patch_call_output", "id": "5", "call_id": "c", "status": "completed"},
    {"type": "tool_search_output", "id": "6", "tools": [{"name": "t"}]},
    {"type": "function_call", "id": "nameless"},
    {"type": "of_the_future", "nested": {"list": [1, "two", None, {"three": 3.5}]}},
]


def stored(messages):
    """These messages, read again from a session."""
    session = Session.in_memory("/tmp")
    session.append_message("q")
    session.append_messages(messages)
    session.append_message("and now?")
    return session


def fields_kept(session):
    blocks = [block for item in session.context().messages for block in item.message.content]
    return [block.fields for block in blocks if isinstance(block, UnknownBlock)]


def require_requests_without(session, *words):
    for shape in (anthropic, openai_chat, openai_responses):
        sent = str(shape(session.context()).messages)
        assert "kept" in sent
        assert not any(word in sent for word in words)


def test_every_block_of_an_anthropic_answer_is_kept_whole_and_not_sent_elsewhere():
    text = {"type": "text", "text": "kept"}
    answer = {"role": "assistant", "model": "m", "content": [*NEW_BLOCKS, text, "a bare text"]}

    session = stored(from_anthropic(answer))

    assert fields_kept(session) == [*NEW_BLOCKS, {"value": "a bare text"}]
    require_requests_without(session, "compaction", "future", "mcp", "upload")


@pytest.mark.parametrize("bare", [False, True], ids=["response", "items"])
def test_every_item_of_a_response_is_kept_whole_and_not_sent_elsewhere(bare):
    parts = [{"type": "output_text", "text": "kept"}, {"type": "hologram", "z": 1}, {"type": "refusal"}]
    items = [*NEW_ITEMS, {"type": "message", "role": "assistant", "id": "m", "content": parts}]

    session = stored(from_openai(items if bare else {"object": "response", "output": items}))

    assert fields_kept(session) == [*NEW_ITEMS, *parts[1:]]
    require_requests_without(session, "compaction", "future", "mcp", "hologram")


def test_the_results_inside_a_response_are_never_refused():
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    file = {"type": "input_file", "file_id": "f"}
    output = {"type": "function_call_output", "call_id": "c", "output": [file]}

    messages = from_openai({"object": "response", "output": [call, output, "odd"]})

    assert messages[1].content == (UnknownBlock(type="input_file", fields=file),)
    assert messages[2].content == (UnknownBlock(type="", fields={"value": "odd"}),)
    with pytest.raises(InvalidMessage, match="'input_file'"):
        from_openai([call, output])  # a result of the caller's own


def test_every_part_and_call_of_a_chat_completion_is_kept_whole():
    parts = [{"type": "hologram", "z": 1}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    calls = [{"id": "c", "type": "teleport", "teleport": {"to": "x"}}, "odd"]
    audio = {"id": "a", "data": "QQ==", "transcript": "hello"}
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "kept"}, *parts],
        "audio": audio,
        "tool_calls": calls,
    }

    session = stored(from_openai({"choices": [{"finish_reason": "stop", "message": message}]}))

    audio_block = {"type": "audio", "audio": audio}
    assert fields_kept(session) == [*parts, audio_block, calls[0], {"value": "odd"}]
    require_requests_without(session, "hologram", "teleport", "y.png")


def test_a_call_without_an_id_is_still_a_call():
    (chat,) = from_openai({"role": "assistant", "tool_calls": [{"id": None, "function": {"name": "f"}}]})
    (block,) = from_anthropic({"role": "assistant", "content": [{"type": "tool_use", "name": "f"}]})

    assert [message.content[0].name for message in (chat, block)] == ["f", "f"]


def test_objects_of_the_client_libraries_keep_what_the_libraries_do_not_know(recwarn):
    anthropic_types = pytest.importorskip("anthropic.types")
    response_types = pytest.importorskip("openai.types.responses")
    models = pytest.importorskip("anthropic._models")
    openai_models = pytest.importorskip("openai._models")
    made = models.construct_type(
        type_=anthropic_types.Message,
        value={"id": "m", "type": "message", "role": "assistant", "model": "c", "content": NEW_BLOCKS},
    )
    response = openai_models.construct_type(
        type_=response_types.Response, value={"id": "r", "object": "response", "output": NEW_ITEMS}
    )

    assert fields_kept(stored(from_anthropic(made))) == NEW_BLOCKS
    assert fields_kept(stored(from_openai(response))) == NEW_ITEMS
    assert [str(one.message) for one in recwarn.list] == []


@pytest.mark.parametrize("value", [5, "text", [], {}, {"role": "assistent"}, {"content": []}, None])
def test_what_is_no_message_at_all_is_refused(value):
    for convert in (from_anthropic, from_openai):
        if value == []:
            assert convert(value) == []
            continue
        with pytest.raises(InvalidMessage):
            convert(value)
