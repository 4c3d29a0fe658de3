"""Helpers for the conductor tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar

from branchline import Session
from branchline.clock import FixedClock
from branchline.conductor import Conductor, Event, MessageAppended, Policy, TurnEnded
from branchline.entries import AssistantMessage, message_text
from branchline.models import COUNT_WORDS, Model, ModelEvent, ModelRequest, OfflineModel, request_for

T = TypeVar("T")
QUICK = Policy(retry_delay=0)


class Watched:
    """A model that keeps what it was asked, and can look at the session while it is asked."""

    def __init__(
        self, model: Model | None = None, look: Callable[[ModelRequest], None] | None = None
    ) -> None:
        self.model = model or OfflineModel()
        self.look = look
        self.requests: list[ModelRequest] = []
        self.closed = 0

    @property
    def provider(self) -> str:
        return self.model.provider

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def context_window(self) -> int | None:
        return self.model.context_window

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(request)
        if self.look is not None:
            self.look(request)
        async with aclosing(self.model.stream(request)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        self.closed += 1
        await self.model.aclose()


def new_session(directory: Path, **more: Any) -> Session:
    more.setdefault("clock", FixedClock())
    return Session.create("/project", directory=directory, durability="os", **more)


def conductor(where: Path | Session, model: Model | None = None, **more: Any) -> Conductor:
    session = new_session(where) if isinstance(where, Path) else where
    more.setdefault("tools", (COUNT_WORDS,))
    more.setdefault("policy", QUICK)
    return Conductor(session, model or OfflineModel(), **more)


def reopened(session: Session) -> Session:
    """What a fresh look at the file of a session gives, drafts included, without touching it."""
    log = session._writer.log
    assert log is not None
    return Session.in_memory(data=log.read(0, log.size()))


def talk(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return asyncio.run(work())


async def events_of(events: AsyncGenerator[Event, None]) -> list[Event]:
    return [event async for event in events]


async def into(found: list[Event], events: AsyncGenerator[Event, None]) -> None:
    """Collect what comes before something is raised."""
    async for event in events:
        found += [event]


async def until(condition: Callable[[], bool]) -> None:
    """Let others work until something is true."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


def bytes_of(file: str | None) -> bytes:
    assert file is not None
    return Path(file).read_bytes()


def shown(events: list[Event]) -> list[str]:
    """The messages that were shown: role and words."""
    return [
        f"{event.message.__struct_config__.tag}: {message_text(event.message)}"
        for event in events
        if isinstance(event, MessageAppended)
    ]


def ended(events: list[Event]) -> TurnEnded:
    end = events[-1]
    assert isinstance(end, TurnEnded)
    assert not any(isinstance(event, TurnEnded) for event in events[:-1])
    return end


def answers(session: Session) -> list[AssistantMessage]:
    """The answers on the path."""
    messages = [item.message for item in session.context().messages]
    return [message for message in messages if isinstance(message, AssistantMessage)]


def require_kept(conductor: Conductor) -> None:
    """What is in memory is what the file says, and what the model would see is the same from both."""
    session = conductor.session
    with reopened(session) as again:
        assert again.index.keys == session.index.keys
        assert again.index.parents == session.index.parents
        assert again.leaf == session.leaf
        assert again.context() == session.context() == conductor.context()
        assert again.usage() == session.usage() == conductor.usage
        assert again.title == session.title
        assert again.labels == session.labels


def request_from_disk(session: Session, **more: Any) -> ModelRequest:
    with reopened(session) as again:
        return request_for(again.context(), **more)
