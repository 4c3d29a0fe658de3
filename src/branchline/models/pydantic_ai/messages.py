"""From our messages to pydantic-ai's.

Ids and names are made plain, half characters replaced, blank texts and empty pictures left out, as in the
provider shapes of :mod:`branchline.context`. A thought goes back only to the model that had it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from branchline.context.providers.common import (
    IMAGES_SENTENCE,
    NO_OUTPUT,
    ProviderIds,
    clean_arguments,
    parts,
    plain_name,
    replace_surrogates,
)
from branchline.entries import (
    AssistantMessage,
    Content,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    blocks_text,
)
from branchline.models.protocol import Tool
from branchline.models.pydantic_ai.signatures import call_part, text_part, thinking_part

__all__ = ["MessageEncoder", "tool_definitions"]

_ID_LIMIT = 40


class MessageEncoder:
    """Writes messages for one model: ``provider`` and ``model`` are our names, ``system`` is theirs."""

    def __init__(self, *, provider: str, model: str, api: str, system: str) -> None:
        self._provider = provider
        self._model = model
        self._api = api
        self._system = system

    def messages(self, messages: Iterable[Message], instructions: str) -> list[ModelMessage]:
        """The conversation in turns: what comes from our side between two answers is one request."""
        ids = ProviderIds(_ID_LIMIT)
        written: list[ModelMessage] = []
        ours: list[ModelRequestPart] = []
        pictures: list[UserContent] = []
        for message in messages:
            if pictures and not isinstance(message, ToolResult):
                ours.append(UserPromptPart(content=[IMAGES_SENTENCE, *pictures]))
                pictures = []
            match message:
                case UserMessage():
                    if content := _user_content(message.content):
                        ours.append(UserPromptPart(content=content))
                case ToolResult():
                    ours.append(_return_part(message, ids))
                    pictures += _pictures(message.content)
                case AssistantMessage():
                    if theirs := self._answer(message, ids):
                        if ours:
                            written.append(ModelRequest(parts=ours))
                            ours = []
                        written.append(theirs)
                case _:
                    pass  # the system prompt goes beside the messages
        if pictures:
            ours.append(UserPromptPart(content=[IMAGES_SENTENCE, *pictures]))
        written.append(ModelRequest(parts=ours, instructions=replace_surrogates(instructions) or None))
        return written

    def _answer(self, message: AssistantMessage, ids: ProviderIds) -> ModelResponse | None:
        own = message.provider == self._provider and message.model == self._model
        system = self._system if own else None
        found: list[ModelResponsePart] = []
        content = (Text(text=message.content),) if isinstance(message.content, str) else message.content
        for block in content:
            match block:
                case Text() if block.text.strip():
                    found.append(text_part(replace_surrogates(block.text), block, self._api, system))
                case Thinking() if own and (thought := thinking_part(block, self._api, self._system)):
                    found.append(thought)
                case ToolCall():
                    part = ToolCallPart(
                        tool_name=plain_name(block.name),
                        args=clean_arguments(block.arguments),
                        tool_call_id=ids[block.id],
                    )
                    found.append(call_part(part, block, self._api, system))
                case _:
                    pass
        if not found:
            return None
        return ModelResponse(parts=found, model_name=message.model, provider_name=system)


def tool_definitions(tools: Iterable[Tool]) -> list[ToolDefinition]:
    """Tools as a request declares them."""
    return [
        ToolDefinition(
            name=plain_name(tool.name), description=tool.description, parameters_json_schema=tool.parameters
        )
        for tool in tools
    ]


def _user_content(content: Content) -> str | list[UserContent]:
    found = parts(content)
    if len(found) == 1 and isinstance(found[0], Text):
        return replace_surrogates(found[0].text)
    said: list[UserContent] = []
    for part in found:
        if isinstance(part, Text):
            said.append(replace_surrogates(part.text))
        elif (picture := _picture(part)) is not None:
            said.append(picture)
    return said


def _return_part(result: ToolResult, ids: ProviderIds) -> ToolReturnPart:
    text = replace_surrogates(blocks_text(result.content, "\n"))
    return ToolReturnPart(
        tool_name=plain_name(result.tool_name),
        content=text if text.strip() else NO_OUTPUT,
        tool_call_id=ids[result.tool_call_id],
        outcome="failed" if result.is_error is True else "success",
    )


def _pictures(content: Content) -> list[UserContent]:
    found = [_picture(part) for part in parts(content) if isinstance(part, Image)]
    return [picture for picture in found if picture is not None]


def _picture(image: Image) -> BinaryContent | None:
    try:
        data = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return None  # not a picture; the history still has what was stored
    return BinaryContent(data=data, media_type=image.mime_type or "image/png")
