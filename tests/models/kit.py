"""What the tests of models share."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from branchline.entries import AssistantMessage, UserMessage
from branchline.models import Done, Model, ModelEvent, ModelRequest


def asks(text: str, **more: Any) -> ModelRequest:
    return ModelRequest(messages=(UserMessage(content=text),), **more)


def events_of(model: Model, request: ModelRequest) -> list[ModelEvent]:
    """All events; whatever the stream raises comes out."""

    async def collect() -> list[ModelEvent]:
        found = []
        try:
            async with aclosing(model.stream(request)) as events:
                found = [event async for event in events]
        finally:
            await model.aclose()
        return found

    return asyncio.run(collect())


def answer_of(events: list[ModelEvent]) -> AssistantMessage:
    (done,) = [event for event in events if isinstance(event, Done)]
    assert events[-1] is done
    return done.message


def broken(model: Model, request: ModelRequest) -> tuple[list[ModelEvent], Exception]:
    """The events before a stream broke off, and why it did."""

    async def collect() -> tuple[list[ModelEvent], Exception]:
        found: list[ModelEvent] = []
        try:
            async with aclosing(model.stream(request)) as events:
                async for event in events:
                    found += [event]
        except Exception as problem:
            return found, problem
        finally:
            await model.aclose()
        raise AssertionError(f"the stream ended well: {found}")

    return asyncio.run(collect())
