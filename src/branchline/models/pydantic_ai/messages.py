"""Convert branchline messages to pydantic-ai messages.

As in the provider requests of :mod:`branchline.context`, ids and names are reduced to the allowed characters,
lone surrogates are replaced, and blank texts and empty images are left out. Thinking blocks are sent only to
the model that produced them.
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
    as_blocks,
    blocks_text,
)
from branchline.models.protocol import Tool
from branchline.models.pydantic_ai.signatures import call_part, text_part, thinking_part

__all__ = ["MessageEncoder", "tool_definitions"]

_ID_LIMIT = 40


class MessageEncoder:
    """Encodes messages for one model.

    ``provider`` and ``model`` are branchline's names; ``system`` is pydantic-ai's name for the provider.
    """

    def __init__(self, *, provider: str, model: str, api: str, system: str) -> None:
        self._provider = provider
        self._model = model
        self._api = api
        self._system = system

    def messages(self, messages: Iterable[Message], instructions: str) -> list[ModelMessage]:
        """Encode the conversation; the prompts and tool results between two answers form one request."""
        ids = ProviderIds(_ID_LIMIT)
        written: list[ModelMessage] = []
        pending: list[ModelRequestPart] = []
        images: list[UserContent] = []
        for message in messages:
            if images and not isinstance(message, ToolResult):
                pending.append(UserPromptPart(content=[IMAGES_SENTENCE, *images]))
                images = []
            match message:
                case UserMessage():
                    if content := _user_content(message.content):
                        pending.append(UserPromptPart(content=content))
                case ToolResult():
                    pending.append(_return_part(message, ids))
                    images += _images(message.content)
                case AssistantMessage():
                    if answer := self._answer(message, ids):
                        if pending:
                            written.append(ModelRequest(parts=pending))
                            pending = []
                        written.append(answer)
                case _:
                    pass  # the system prompt is sent separately
        if images:
            pending.append(UserPromptPart(content=[IMAGES_SENTENCE, *images]))
        written.append(ModelRequest(parts=pending, instructions=replace_surrogates(instructions) or None))
        return written

    def _answer(self, message: AssistantMessage, ids: ProviderIds) -> ModelResponse | None:
        own = message.provider == self._provider and message.model == self._model
        system = self._system if own else None
        found: list[ModelResponsePart] = []
        for block in as_blocks(message.content):
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
    """Encode the tool declarations of a request."""
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
    encoded: list[UserContent] = []
    for part in found:
        if isinstance(part, Text):
            encoded.append(replace_surrogates(part.text))
        elif (image := _image(part)) is not None:
            encoded.append(image)
    return encoded


def _return_part(result: ToolResult, ids: ProviderIds) -> ToolReturnPart:
    text = replace_surrogates(blocks_text(result.content, "\n"))
    return ToolReturnPart(
        tool_name=plain_name(result.tool_name),
        content=text if text.strip() else NO_OUTPUT,
        tool_call_id=ids[result.tool_call_id],
        outcome="failed" if result.is_error is True else "success",
    )


def _images(content: Content) -> list[UserContent]:
    found = [_image(part) for part in parts(content) if isinstance(part, Image)]
    return [encoded for encoded in found if encoded is not None]


def _image(image: Image) -> BinaryContent | None:
    try:
        data = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return None  # invalid base64; the session keeps the stored data
    return BinaryContent(data=data, media_type=image.mime_type or "image/png")
