"""Messages as callers give them, made ready to be stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from branchline.clock import Clock
from branchline.context import Context, milliseconds, replay_system
from branchline.entries import Message, SystemMessage, Text, UnknownMessage, UserMessage

__all__ = ["role_of", "stored_message", "system_snapshot"]


def stored_message(message: Message | dict[str, Any] | str, clock: Clock) -> Message:
    """A message as it will be stored: with a time, and with every field of a plain object kept."""
    if isinstance(message, str):
        message = UserMessage(content=(Text(text=message),))
    if isinstance(message, dict):
        role = message.get("role")
        if not isinstance(role, str) or not role:
            raise ValueError("a message needs a role, for example {'role': 'user', 'content': 'hello'}")
        fields = message if "timestamp" in message else {**message, "timestamp": clock.now()}
        return UnknownMessage(role=role, fields=fields)
    if isinstance(message, UnknownMessage) or message.timestamp is not None:
        return message
    return msgspec.structs.replace(message, timestamp=clock.now())


def role_of(message: Message) -> str:
    """The role of a message, as files name it."""
    return message.role if isinstance(message, UnknownMessage) else str(message.__struct_config__.tag)


def system_snapshot(context: Context) -> Callable[[str], SystemMessage] | None:
    """The system prompt and tools in force, as one message for a given time; None when there are none."""
    messages = [item.message for item in context.messages if isinstance(item.message, SystemMessage)]
    if not messages:
        return None
    state = replay_system(messages)

    def at(timestamp: str) -> SystemMessage:
        return SystemMessage(
            content=state.prompt,
            sections=dict(state.sections) or None,
            tools_added=state.tools or None,
            timestamp=milliseconds(timestamp),
        )

    return at
