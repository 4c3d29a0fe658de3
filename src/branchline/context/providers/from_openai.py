"""Convert messages of OpenAI's two APIs, Chat Completions and Responses, to session messages.

The ids and signatures that the Responses API expects back are stored in the same fields as in pi: a thinking
block as its reasoning item, a call under ``call|item``, a text with the id of its item.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from branchline.context.providers.received import (
    KnownCalls,
    call_arguments,
    data_image,
    given,
    kept_whole,
    number,
    object_of,
    refuse,
    words,
)
from branchline.entries import (
    AssistantMessage,
    Block,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    Usage,
    UserMessage,
)
from branchline.errors import InvalidMessage

__all__ = ["from_openai"]

_NAME = "from_openai"
_CHAT, _RESPONSES = "openai-completions", "openai-responses"
_STOP = {
    "length": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
    "content_filter": "error",
    "max_output_tokens": "length",
}
_ROLES = "system, developer, user, assistant and tool"
_TEXTS = frozenset({"text", "input_text", "output_text"})

Fields = dict[str, Any]


def from_openai(value: Any, *, provider: str = "openai") -> list[Message]:
    """Convert an OpenAI response, a message, an item or a list of them.

    Accepts requests and responses of Chat Completions and of the Responses API, as objects of the client
    library or as plain dicts. An answer keeps its calls, reasoning, model and usage; the items of one
    response become one message. An answer is never refused: items and parts that a session has no form for,
    such as those of tools hosted by OpenAI and all that are newer than branchline, are kept with all their
    fields. They are not sent again.

    Raises InvalidMessage, a ValueError, for anything else: other roles, stream chunks, several choices, and
    prompts and results with images given by URL or other parts.
    """
    taken = given(value, _NAME)
    reader = _Reader(provider)
    for one in taken if isinstance(taken, list) else [taken]:
        reader.take(object_of(one, "a message", _NAME))
    return reader.end()


class _Reader:
    """Reads messages and items in order; items of one answer are combined."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._calls = KnownCalls()
        self._messages: list[Message] = []
        self._answer: list[Block] = []  # from items outside of a message

    def take(self, fields: Fields) -> None:
        if str(fields.get("object", "")).endswith(".chunk"):
            raise refuse(_NAME, "it is one chunk of a stream; give it the whole response")
        if "choices" in fields:
            self._completion(fields)
        elif fields.get("object") == "response" or (
            "type" not in fields and isinstance(fields.get("output"), list)
        ):
            self._response(fields)
        elif "role" in fields and not (fields.get("type") == "message" and fields["role"] == "assistant"):
            self._flush()
            self._message(fields)
        elif "type" in fields:
            self._item(fields)
        else:
            raise refuse(_NAME, "it is neither a response nor a message with a role nor an item with a type")

    def end(self) -> list[Message]:
        self._flush()
        return self._messages

    # -- chat completions -----------------------------------------------------------------------------

    def _completion(self, fields: Fields) -> None:
        choices = fields.get("choices")
        if not isinstance(choices, list) or len(choices) != 1:
            raise refuse(_NAME, "the response has not exactly one choice; give it the message of one of them")
        choice = object_of(choices[0], "a choice", _NAME)
        self._flush()
        said = self._chat_answer(object_of(choice.get("message"), "the message of a choice", _NAME))
        raw, created = words(choice.get("finish_reason")), fields.get("created")
        self._messages.append(
            msgspec.structs.replace(
                said,
                model=words(fields.get("model")) or None,
                response_id=words(fields.get("id")) or None,
                usage=_usage(fields.get("usage"), "prompt_tokens", "completion_tokens"),
                stop_reason=_STOP.get(raw, "stop") if raw else None,
                raw_stop_reason=raw or None,
                timestamp=number(created) * 1000 or None,
            )
        )

    def _message(self, fields: Fields) -> None:
        match fields.get("role"):
            case "assistant":
                self._messages.append(self._chat_answer(fields))
            case "user":
                self._messages.append(UserMessage(content=_parts(fields.get("content"))))
            case "system" | "developer":
                self._messages.append(SystemMessage(content=_text_only(fields.get("content"))))
            case "tool":
                call = words(fields.get("tool_call_id"))
                self._messages.append(self._calls.result(call, _parts(fields.get("content"))))
            case "function":
                call = f"call_{words(fields.get('name'))}"
                self._messages.append(self._calls.result(call, _parts(fields.get("content"))))
            case role:
                raise refuse(_NAME, f"the role {role!r} is not one of OpenAI's; there are {_ROLES}")

    def _chat_answer(self, fields: Fields) -> AssistantMessage:
        blocks: list[Block] = []
        for field in ("reasoning_content", "reasoning"):
            if thought := words(fields.get(field)):
                blocks.append(Thinking(thinking=thought, thinking_signature=field))
                break
        blocks += _received(fields.get("content"))
        if isinstance(audio := fields.get("audio"), dict):
            blocks.append(kept_whole({"type": "audio", "audio": audio}))
        if refusal := words(fields.get("refusal")):
            blocks.append(Text(text=refusal))
        blocks += map(self._chat_call, _listed(fields.get("tool_calls")))
        if isinstance(single := fields.get("function_call"), dict):
            name = words(single.get("name"))
            blocks.append(self._call(f"call_{name}", f"call_{name}", name, single.get("arguments")))
        return AssistantMessage(content=tuple(blocks), api=_CHAT, provider=self._provider)

    def _chat_call(self, call: Any) -> Block:
        match call:
            case {"function": {"name": str(name)} as function}:
                key = words(call.get("id"))
                return self._call(key, key, name, function.get("arguments"))
            case {"custom": {"name": str(name)} as custom}:
                key = words(call.get("id"))
                return self._call(key, key, name, {"input": custom.get("input")})
            case _:
                return kept_whole(call)

    # -- responses ------------------------------------------------------------------------------------

    def _response(self, fields: Fields) -> None:
        self._flush()
        for item in _listed(fields.get("output")):
            if isinstance(item, dict) and isinstance(item.get("type"), str):
                self._item(item, answered=True)
            else:
                self._answer.append(kept_whole(item))
        details = fields.get("incomplete_details")
        raw = words(details.get("reason")) if isinstance(details, dict) else ""
        reason = _STOP.get(raw, "stop")
        if reason == "stop" and any(isinstance(block, ToolCall) for block in self._answer):
            reason = "toolUse"
        error = fields.get("error")
        self._flush(
            model=words(fields.get("model")) or None,
            response_id=words(fields.get("id")) or None,
            usage=_usage(fields.get("usage"), "input_tokens", "output_tokens"),
            stop_reason="error" if isinstance(error, dict) else reason,
            error_message=words(error.get("message")) or None if isinstance(error, dict) else None,
            raw_stop_reason=raw or None,
            timestamp=number(fields.get("created_at")) * 1000 or None,
            always=True,
        )

    def _item(self, item: Fields, *, answered: bool = False) -> None:
        """Take one item, which may be a result of the caller's unless it is ``answered``."""
        key, own, name = words(item.get("call_id")), words(item.get("id")), item.get("name")
        match item.get("type"):
            case "message":
                self._answer += _signed(_received(item.get("content")), own)
            case "reasoning":
                self._answer.append(_thought(item))
            case "function_call" | "custom_tool_call" as kind if isinstance(name, str):
                arguments = item.get("arguments") if kind == "function_call" else {"input": item.get("input")}
                self._answer.append(self._call(key, f"{key}|{own}" if own else key, name, arguments))
            case "function_call_output" | "custom_tool_call_output":
                self._flush()
                output = item.get("output")
                parts = tuple(_received(output)) if answered else _parts(output)
                self._messages.append(self._calls.result(key, parts))
            case str():
                self._answer.append(kept_whole(item))
            case kind:
                raise refuse(_NAME, f"an item of type {kind!r}")

    def _call(self, key: str, stored: str, name: str, arguments: Any) -> ToolCall:
        self._calls.add(key, stored, name)
        return ToolCall(id=stored, name=name, arguments=call_arguments(arguments))

    def _flush(self, *, always: bool = False, **about: Any) -> None:
        """Combine the pending items of an answer into a message, if there are any."""
        if self._answer or always:
            self._messages.append(
                AssistantMessage(
                    content=tuple(self._answer), api=_RESPONSES, provider=self._provider, **about
                )
            )
            self._answer = []


def _thought(item: Fields) -> Thinking:
    summary = [words(part.get("text")) for part in item.get("summary") or () if isinstance(part, dict)]
    kept = {name: item.get(name) for name in ("type", "id", "summary", "encrypted_content")}
    return Thinking(thinking="\n\n".join(summary), thinking_signature=json.dumps(kept, ensure_ascii=False))


def _received(content: Any) -> list[Block]:
    """Return the blocks of an answer, whatever its parts are."""
    if isinstance(content, str):
        return [Text(text=content)]
    found: list[Block] = []
    for part in _listed(content):
        try:
            found.append(_part(object_of(part, "a part", _NAME)))
        except InvalidMessage:
            found.append(kept_whole(part))
    return found


def _listed(value: Any) -> list[Any]:
    """Return a list; anything else that was sent in its place is its only item."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _signed(parts: list[Block], item: str) -> list[Block]:
    signature = json.dumps({"v": 1, "id": item}) if item else None
    return [
        Text(text=part.text, text_signature=signature) if isinstance(part, Text) else part for part in parts
    ]


def _parts(content: Any) -> tuple[Text | Image, ...]:
    if isinstance(content, str):
        return (Text(text=content),)
    if not isinstance(content, list):
        raise refuse(_NAME, "the content of a message has to be a text or a list of parts")
    return tuple(_part(object_of(part, "a part", _NAME)) for part in content)


def _part(part: Fields) -> Text | Image:
    kind = part.get("type")
    if kind in _TEXTS and isinstance(text := part.get("text"), str):
        return Text(text=text)
    if kind == "refusal" and isinstance(refusal := part.get("refusal"), str):
        return Text(text=refusal)
    if kind in ("image_url", "input_image"):
        place = part.get("image_url")
        return data_image(words(place.get("url") if isinstance(place, dict) else place), _NAME)
    raise refuse(_NAME, f"a message has no part of type {kind!r} that a session can hold")


def _text_only(content: Any) -> str:
    parts = _parts(content)
    if any(isinstance(part, Image) for part in parts):
        raise refuse(_NAME, "a system message has to be text")
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _usage(fields: Any, given: str, made: str) -> Usage | None:
    """Convert usage: OpenAI counts cached tokens as input, and reasoning tokens as output."""
    if not isinstance(fields, dict):
        return None
    cached = _detail(fields, given, "cached_tokens")
    reasoning = _detail(fields, made, "reasoning_tokens")
    total, output = number(fields.get(given)), number(fields.get(made))
    return Usage(
        input=max(0, total - cached),
        output=output,
        cache_read=cached,
        reasoning=reasoning or msgspec.UNSET,
        total_tokens=total + output,
    )


def _detail(fields: Fields, name: str, detail: str) -> int | float:
    details = fields.get(f"{name}_details")
    return number(details.get(detail)) if isinstance(details, dict) else 0
