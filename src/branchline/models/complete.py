"""Convenience wrappers around ``Model.stream``: complete answers, and synchronous streaming."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing

from branchline.entries import AssistantMessage
from branchline.errors import MalformedStream
from branchline.models.protocol import Done, Model, ModelEvent, ModelRequest, model_name

__all__ = ["acomplete", "complete", "stream_sync"]


async def acomplete(model: Model, request: ModelRequest) -> AssistantMessage:
    """Return the complete answer."""
    async with aclosing(model.stream(request)) as events:
        async for event in events:
            if isinstance(event, Done):
                return event.message
    raise MalformedStream(f"{model_name(model)} ended its answer unexpectedly")


def complete(model: Model, request: ModelRequest) -> AssistantMessage:
    """Return the complete answer, for callers without an event loop."""
    with closing(stream_sync(model, request)) as events:
        for event in events:
            if isinstance(event, Done):
                return event.message
    raise MalformedStream(f"{model_name(model)} ended its answer unexpectedly")


def stream_sync(model: Model, request: ModelRequest) -> Generator[ModelEvent, None, None]:
    """Yield the events of a stream, for callers without an event loop; closing the iterator ends the stream.

    This also closes the model's connections, which are bound to the event loop of this call.
    """
    with asyncio.Runner() as runner:
        events = model.stream(request)
        try:
            while (event := runner.run(_next(events))) is not None:
                yield event
        finally:
            runner.run(_close(events, model))


async def _next(events: AsyncGenerator[ModelEvent, None]) -> ModelEvent | None:
    return await anext(events, None)


async def _close(events: AsyncGenerator[ModelEvent, None], model: Model) -> None:
    await events.aclose()
    await model.aclose()
