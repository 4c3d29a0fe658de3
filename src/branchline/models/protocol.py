"""The protocol between a conversation and a model: one request, then events until the answer is complete.

A :class:`Model` streams. The last event of a stream is :class:`Done` with the complete answer; otherwise the
stream raises a :class:`~branchline.errors.ModelError`. To abort a request, close the iterator or cancel the
task that awaits it; there is no other signal.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol

import msgspec

from branchline.entries import AssistantMessage, Message

__all__ = [
    "THINKING_LEVELS",
    "Done",
    "Model",
    "ModelEvent",
    "ModelRequest",
    "TextDelta",
    "ThinkingDelta",
    "Tool",
    "ToolCallDelta",
    "model_name",
]

THINKING_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
"""Thinking levels, lowest first. Providers with fewer levels take the nearest."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a model may call: its name, description, parameters (a JSON schema) and function.

    The function receives the arguments by keyword and may be a coroutine function. It returns a string,
    content blocks or any JSON value. If it raises, the model receives the exception as an error. ``server``
    is the MCP server that runs the tool, and ``name_there`` is the tool's name on that server.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    function: Callable[..., Any]
    server: str = ""
    name_there: str = ""

    @property
    def full_name(self) -> str:
        """The name used in permissions: ``server.tool`` for MCP tools."""
        return f"{self.server}.{self.name_there or self.name}" if self.server else self.name


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model.

    ``messages`` are user, assistant and tool-result messages in which every tool call has exactly one result;
    :func:`~branchline.models.request_for` makes such a request from a context. ``cacheable`` means that the
    next request probably starts with the same messages, so caching them at the provider pays off.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[Tool, ...] = ()
    thinking_level: str = "off"
    max_tokens: int | None = None
    cacheable: bool = True


class TextDelta(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """More text of one block of the answer."""

    block: int
    text: str


class ThinkingDelta(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """More text of a thinking block."""

    block: int
    text: str


class ToolCallDelta(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """More of a tool call: ``arguments`` is a fragment of JSON; id and name may arrive late or in parts."""

    block: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The complete answer, with stop reason and usage."""

    message: AssistantMessage


ModelEvent = TextDelta | ThinkingDelta | ToolCallDelta | Done


class Model(Protocol):
    """A model that answers requests."""

    @property
    def provider(self) -> str:
        """The provider: the part of the model name before the colon."""
        ...

    @property
    def id(self) -> str:
        """The provider's name for the model."""
        ...

    @property
    def context_window(self) -> int | None:
        """The context window in tokens, for a request and its answer together; None if unknown."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer as it arrives."""
        ...

    async def aclose(self) -> None:
        """Close connections. The model may be used again afterwards."""
        ...


def model_name(model: Model) -> str:
    """Return the name that :func:`~branchline.models.model_by_name` accepts."""
    return f"{model.provider}:{model.id}"
