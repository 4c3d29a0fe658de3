"""The protocol between a conversation and a model: one request, then events until the answer is complete.

A :class:`Model` streams. The last event of a stream is :class:`Done` with the whole answer; a stream that
does not get there raises one of the errors under :class:`~branchline.errors.ModelError`. Whoever no longer
wants the answer closes the iterator or cancels the task that waits for it: there is no other signal.
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
    ``permission`` names what the user must allow before a function of this program runs; tools with the same
    permission are allowed together.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    function: Callable[..., Any]
    server: str = ""
    name_there: str = ""
    permission: str = ""

    @property
    def full_name(self) -> str:
        """The name that permissions use: ``server.tool`` for the tool of an MCP server."""
        return f"{self.server}.{self.name_there or self.name}" if self.server else self.name


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model.

    ``messages`` are user, assistant and tool-result messages, every call answered exactly once; what
    :func:`~branchline.models.request_for` makes of a context is of this kind. ``goes_on`` says that the next
    request is likely to begin with the same messages, so that keeping them in a provider's cache pays.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[Tool, ...] = ()
    thinking_level: str = "off"
    max_tokens: int | None = None
    cacheable: bool = True


class TextDelta(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """More of the text of one block of the answer."""

    block: int
    text: str


class ThinkingDelta(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """More of a thought."""

    block: int
    text: str


class ToolCallDelta(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """More of a tool call: ``arguments`` are a piece of JSON text; id and name may come late or piecewise."""

    block: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer, with stop reason and usage."""

    message: AssistantMessage


ModelEvent = TextDelta | ThinkingDelta | ToolCallDelta | Done


class Model(Protocol):
    """Answers requests."""

    @property
    def provider(self) -> str:
        """Who serves it: the part of its name before the colon."""
        ...

    @property
    def id(self) -> str:
        """The name that the provider gives it."""
        ...

    @property
    def context_window(self) -> int | None:
        """The context window: tokens of a request and its answer together; None if unknown."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The answer, piece by piece."""
        ...

    async def aclose(self) -> None:
        """Let go of connections. A model may be used again afterwards."""
        ...


def model_name(model: Model) -> str:
    """The name that :func:`~branchline.models.model_by_name` understands."""
    return f"{model.provider}:{model.id}"
