"""Messages as callers give them, made ready to be stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from branchline.clock import Clock
from branchline.context import Context, milliseconds, selected_entries
from branchline.context.builder import entry_messages
from branchline.context.source import ContextSource
from branchline.entries import (
    CompactionSummaryMessage,
    Message,
    SystemMessage,
    Text,
    UnknownMessage,
    UserMessage,
)

__all__ = ["kept_messages", "normalize_message", "role_of", "system_snapshot"]


def normalize_message(message: Message | dict[str, Any] | str, clock: Clock) -> Message:
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
    from branchline.context import replay_system  # noqa: PLC0415  few sessions have any

    state = replay_system(messages)

    def at(timestamp: str) -> SystemMessage:
        return SystemMessage(
            content=state.prompt,
            sections=dict(state.sections) or None,
            tools_added=state.tools or None,
            timestamp=milliseconds(timestamp),
        )

    return at


def kept_messages(
    source: ContextSource, context: Context, path: list[str], first_kept: str
) -> tuple[Message, ...]:
    """The messages that a compaction keeps from an entry on, for a format whose compactions hold them.

    ``context`` is what a model sees at the end of ``path``. Messages that an earlier compaction holds are
    kept with it; the state of the system is not, which a compaction carries apart.
    """
    if first_kept not in path:
        return ()
    kept = path[path.index(first_kept) :]
    selected = selected_entries(source, source.tree.position(path[-1]))
    if first_kept in selected:
        wanted = set(kept)
        messages = [item.message for item in context.messages if item.entry in wanted]
        if selected[0] in wanted and isinstance(messages[0], CompactionSummaryMessage):
            del messages[0]
    else:
        positions = [source.tree.position(key) for key in kept]
        messages = [message for entry in source.entries(positions) for message in entry_messages(entry)]
    return tuple(message for message in messages if not isinstance(message, SystemMessage))
