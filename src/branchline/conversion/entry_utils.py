"""Helper functions for entries in conversions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from branchline.context import milliseconds
from branchline.context.builder import apply_edit, entry_messages
from branchline.context.tool_pairs import no_result
from branchline.conversion.fallbacks import as_user_message, fallbacks_for
from branchline.conversion.plan import added
from branchline.entries import (
    AssistantMessage,
    Compaction,
    ContextEdit,
    CustomContent,
    CustomMessage,
    Entry,
    Image,
    Message,
    MessageEntry,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownMessage,
    Usage,
    UserMessage,
    json_codec,
    message_text,
    tool_calls,
)
from branchline.formats.entry_log import EntryLog
from branchline.tree import Tree

__all__ = [
    "ToolResultForms",
    "calls_with_long_numbers",
    "chained",
    "has_native_form",
    "message_of",
    "missing_parts",
    "missing_results",
    "one_by_one",
    "places_of",
    "result_forms",
    "says_something",
    "spoken_messages",
    "with_edit",
    "with_model",
    "with_possible_time",
    "with_unknown_cost",
    "with_usage",
    "without_thinking",
]

_EXACT = 2**53
_LATEST = 8_640_000_000_000_000
"""The last moment that JavaScript knows, in milliseconds."""


def message_of(entry: Entry) -> Message | None:
    return entry.message if isinstance(entry, MessageEntry) else None


def says_something(entry: Entry) -> bool:
    """Return whether an entry adds to the conversation: more than thinking, blanks or a system prompt."""
    for message in entry_messages(entry):
        if isinstance(message, SystemMessage):
            continue
        content = getattr(message, "content", ())
        if message_text(message).strip() or isinstance(message, UnknownMessage):
            return True
        if not isinstance(content, str) and any(not isinstance(block, Text | Thinking) for block in content):
            return True
    return False


def has_native_form(line: bytes) -> bool:
    """Return whether a line holds an agent framework's own form of a message besides the canonical one."""
    if b'"native"' not in line:
        return False
    message = (json_codec.loads_object(line) or {}).get("message")
    native = message.get("native") if isinstance(message, dict) else None
    return isinstance(native, dict) and isinstance(native.get("format"), str)


def missing_parts(source: EntryLog, positions: Sequence[int], lines: Sequence[bytes]) -> dict[int, str]:
    """Return by position what entries lack because other files are missing."""
    parts = source.format.external_parts
    if parts is None:
        return {}
    found = {
        position: parts.missing_parts(line, source.reading)
        for position, line in zip(positions, lines, strict=True)
        if parts.mark in line
    }
    return {position: gone for position, gone in found.items() if gone is not None}


def calls_with_long_numbers(entry: Entry) -> bool:
    """Return whether a tool call of an entry has an integer that a float cannot represent exactly."""
    message = message_of(entry)
    if not isinstance(message, AssistantMessage):
        return False
    waiting: list[Any] = [call.arguments for call in tool_calls(message.content)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, int) and not -_EXACT <= value <= _EXACT:
            return True
    return False


def chained(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries as a chain, each a child of the previous one."""
    found = list(entries[:1])
    for entry in entries[1:]:
        found.append(msgspec.structs.replace(entry, parent=found[-1].id))
    return found


class ToolResultForms(NamedTuple):
    """Tool results in one form, and entries that must follow them."""

    how: str
    entries: list[Entry]
    images: tuple[Entry, ...] = ()


def result_forms(results: Sequence[Entry]) -> Iterator[ToolResultForms]:
    """Yield tool results unchanged, then with their images after them, then in simpler forms."""
    yield ToolResultForms("", list(results))
    if images := _images_message(results):
        noted = [_with_image_notes(entry) for entry in results]
        yield ToolResultForms("their images follow in a user message", noted, (images,))
    simpler = [list(fallbacks_for(entry, tuple)) for entry in results]
    for forms in zip(*simpler, strict=False):
        yield ToolResultForms(forms[0].how, [form.entries[0] for form in forms])


def _images_message(results: Sequence[Entry]) -> Entry | None:
    """Return a user message with all images of these results."""
    found = [
        block
        for message in map(message_of, results)
        if isinstance(message, ToolResult) and not isinstance(message.content, str)
        for block in message.content
        if isinstance(block, Image)
    ]
    last = results[-1]
    heading = Text(text="Images from the tool results:")
    message = UserMessage(content=(heading, *found), timestamp=milliseconds(last.timestamp))
    return (
        MessageEntry(id=f"{last.id}.pictures", timestamp=last.timestamp, message=message) if found else None
    )


def _with_image_notes(entry: Entry) -> Entry:
    """Return a result with a note in place of each image."""
    message = message_of(entry)
    if not isinstance(message, ToolResult) or isinstance(message.content, str):
        return entry
    note = Text(text="[image, see below]")
    content = tuple(note if isinstance(block, Image) else block for block in message.content)
    return msgspec.structs.replace(entry, message=msgspec.structs.replace(message, content=content))


def missing_results(asking: Message | None, results: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return placeholder results for the calls of an answer without a result."""
    if not isinstance(asking, AssistantMessage) or isinstance(asking.content, str):
        return ()
    messages = map(message_of, results)
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolResult)}
    last = results[-1]
    return tuple(
        MessageEntry(
            id=f"{last.id}.{number}",
            timestamp=last.timestamp,
            message=no_result(block.id, block.name, asking.timestamp),
        )
        for number, block in enumerate(asking.content)
        if isinstance(block, ToolCall) and block.id not in answered
    )


def one_by_one(entry: Entry) -> Iterator[Entry]:
    """Yield an entry, then its simpler forms of one entry each."""
    yield entry
    for form in fallbacks_for(entry, tuple):
        if len(form.entries) == 1:
            yield form.entries[0]
    if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResult):
        yield as_user_message(entry)


_INTERCHANGEABLE = (("message", "user"), ("custom_message", None))
"""What a user says may begin like something that an agent injects, which is then read as a custom message."""


def places_of(entries: Sequence[Entry], made: range, tree: Tree) -> list[int | None]:
    """Return the positions of these entries among those just written; None for one that has no entry.

    A format without ids writes them in the same order, possibly with others between them, such as results
    of calls that have none.
    """
    found: list[int | None] = []
    start = made.start
    for entry in entries:
        place = tree.positions.get(entry.id)
        if place is None or place not in made:
            left = range(start, made.stop)
            kind = (entry.type, getattr(message_of(entry), "role", None))
            kinds = _INTERCHANGEABLE if kind in _INTERCHANGEABLE else (kind,)
            place = next((here for here in left if (tree.types[here], tree.roles[here]) in kinds), None)
            if place is None:
                place = next((here for here in left if tree.types[here] == entry.type), None)
        found.append(place)
        start = start if place is None else place + 1
    return found


def with_edit(entry: Entry, edit: ContextEdit) -> Entry:
    """Return the entry with an edit applied."""
    match entry:
        case MessageEntry():
            (message,) = apply_edit((entry.message,), edit)
            return msgspec.structs.replace(entry, message=message)
        case CustomMessage():
            message = CustomContent(custom_type=entry.custom_type, content=entry.content)
            (message,) = apply_edit((message,), edit)
            assert isinstance(message, CustomContent)
            return msgspec.structs.replace(entry, content=message.content)
        case _:
            return entry


def without_thinking(entry: Entry) -> Entry | None:
    """Return an answer without its thinking, None if nothing remains; other entries unchanged.

    A compaction loses the thinking in the messages that it holds.
    """
    if isinstance(entry, Compaction) and entry.retained_tail:
        tail = spoken_messages(entry.retained_tail)
        return entry if tail == entry.retained_tail else msgspec.structs.replace(entry, retained_tail=tail)
    message = message_of(entry)
    if message is None:
        return entry
    kept = spoken_messages([message])
    if not kept:
        return None
    return entry if kept[0] is message else msgspec.structs.replace(entry, message=kept[0])


def spoken_messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the messages without thinking; an answer that has nothing else is left out."""
    found: list[Message] = []
    for message in messages:
        if not isinstance(message, AssistantMessage) or isinstance(message.content, str):
            found.append(message)
            continue
        content = tuple(block for block in message.content if not isinstance(block, Thinking))
        if len(content) == len(message.content):
            found.append(message)
        elif content:
            found.append(msgspec.structs.replace(message, content=content))
    return tuple(found)


def with_model(entry: Entry, provider: str, model: str) -> Entry:
    """Return an answer with the current model, if it names none."""
    message = message_of(entry)
    if not isinstance(message, AssistantMessage) or message.model or message.provider:
        return entry
    named = msgspec.structs.replace(message, provider=provider, model=model)
    return msgspec.structs.replace(entry, message=named)


def with_possible_time(entry: Entry) -> Entry:
    """Return an entry whose message has the time of the entry instead of a number that is no moment."""
    message = message_of(entry)
    if message is None or isinstance(message, UnknownMessage) or message.timestamp is None:
        return entry
    if -_LATEST <= message.timestamp <= _LATEST:
        return entry
    timed = msgspec.structs.replace(message, timestamp=milliseconds(entry.timestamp))
    return msgspec.structs.replace(entry, message=timed)


def with_unknown_cost(entry: Entry) -> Entry:
    """Return an entry whose usage has no known cost."""
    message = message_of(entry)
    spender: Any = entry if message is None else message
    usage = getattr(spender, "usage", None)
    if not isinstance(usage, Usage):
        return entry
    cost = msgspec.structs.replace(usage.cost, known=False)
    spent = msgspec.structs.replace(spender, usage=msgspec.structs.replace(usage, cost=cost))
    return spent if message is None else msgspec.structs.replace(entry, message=spent)


def with_usage(entry: MessageEntry, spent: Usage) -> MessageEntry:
    """Return an answer with the usage that was recorded beside it."""
    message = entry.message
    if not isinstance(message, AssistantMessage):
        return entry
    usage = spent if message.usage is None else added(message.usage, spent)
    return msgspec.structs.replace(entry, message=msgspec.structs.replace(message, usage=usage))
