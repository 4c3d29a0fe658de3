"""Simpler forms of entries, for formats that reject the original.

A format decides what it can store by encoding an entry or rejecting it, so nothing here depends on a format:
forms are offered in order, and the first accepted one is written.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from branchline.context import milliseconds, model_messages
from branchline.context.builder import custom_content
from branchline.context.tool_pairs import told_result
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    Block,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    Content,
    Custom,
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
    Unknown,
    UnknownBlock,
    UnknownMessage,
    UserMessage,
    blocks_text,
    json_codec,
    message_fields,
)
from branchline.formats.api_limits import IMAGE_TYPES, well_formed

__all__ = [
    "Fallback",
    "as_user_message",
    "fallbacks_for",
    "known_block",
    "replace_lone_surrogates",
    "to_native",
    "without_lone_surrogates",
]

_LONGEST = 2000  # characters of an unknown block that are included as text
_COMMON = ("id", "parent", "timestamp")
_LINKS = frozenset({"type", "id", "parentId", "parent_id", "timestamp"})
_SENT_TYPES = frozenset({"message", "custom_message"})


class Fallback(NamedTuple):
    """Replacements for one entry, and a note for the fidelity report."""

    how: str
    entries: tuple[Entry, ...]


def to_native(entry: Entry, program: str, *, silent: Container[str] = (), for_pi: bool = True) -> Entry:
    """Return the entry with an unambiguous type and the same effect on a model.

    Entries that only one agent supports become custom data with its name; otherwise the new file would look
    like one of that agent. ``silent`` are types that the agent hides from its model. With ``for_pi``, a
    summary message that does not cut off earlier messages must not become a compaction.
    """
    common = _common(entry)
    match entry:
        case BranchSummary() if entry.summary and entry.type in silent:
            values = {"summary": entry.summary, "details": entry.details}
            return msgspec.structs.replace(entry, summary="", details=values)
        case CustomMessage() if entry.type in silent:
            values = {"content": message_fields(UserMessage(content=entry.content))["content"]}
            return Custom(**common, custom_type=entry.custom_type, data=values)
        case Unknown() if program != "pi" and entry.type not in _SENT_TYPES:
            data = {name: value for name, value in entry.fields.items() if name not in _LINKS}
            return Custom(**common, custom_type=f"{program}:{entry.type}", data=data)
        case MessageEntry(message=BranchSummaryMessage() as message):
            return BranchSummary(**common, summary=message.summary, from_id=message.from_id)
        case MessageEntry(message=CompactionSummaryMessage() as message) if for_pi:
            (converted,) = model_messages([message])
            assert isinstance(converted, UserMessage)
            return CustomMessage(
                **common, custom_type="compaction-summary", content=converted.content, display=True
            )
        case MessageEntry(message=CustomContent() as message):
            return CustomMessage(
                **common,
                custom_type=message.custom_type,
                content=message.content,
                display=message.display,
                details=message.details,
            )
        case _:
            return entry


def fallbacks_for(entry: Entry, kept: Callable[[], tuple[Message, ...]]) -> Iterator[Fallback]:
    """Yield the simpler forms of an entry; ``kept`` returns the messages that a compaction keeps."""
    match entry:
        case MessageEntry():
            yield from _message_forms(entry)
        case CustomMessage():
            who = "an answer" if entry.role == "assistant" else "a user message"
            yield from _as_user_messages(entry, custom_content(entry), f"as {who}")
        case BranchSummary():
            message = BranchSummaryMessage(
                summary=entry.summary, from_id=entry.from_id, timestamp=milliseconds(entry.timestamp)
            )
            if entry.summary:
                yield from _as_user_messages(entry, message, "as a user message")
        case Compaction():
            yield from _compaction_forms(entry, kept)
        case Custom():
            renamed = msgspec.structs.replace(entry, custom_type=f"ext:{entry.custom_type or 'data'}")
            yield Fallback("under another name", (renamed,))
        case Unknown():
            data = Custom(**_common(entry), custom_type=entry.type, data=entry.fields)
            yield Fallback("kept as data that the agent does not read", (data,))
        case _:
            return


# -- messages ---------------------------------------------------------------------------------------------


def _message_forms(entry: MessageEntry) -> Iterator[Fallback]:
    message = entry.message
    match message:
        case UserMessage() | AssistantMessage() | ToolResult():
            for how, simpler in _simpler_messages(message):
                yield Fallback(how, (msgspec.structs.replace(entry, message=simpler),))
        case SystemMessage():
            text = _system_text(message)
            plain = SystemMessage(content=text, timestamp=message.timestamp)
            yield Fallback("as plain text", (msgspec.structs.replace(entry, message=plain),))
            yield _as_data(entry)
        case BashExecution() if message.exclude_from_context:
            yield _as_data(entry)
        case UnknownMessage():
            yield from _as_user_messages(entry, message, "as a user message")
            yield _as_data(entry)
        case _:
            yield from _as_user_messages(entry, message, "as a user message")


def as_user_message(entry: MessageEntry) -> MessageEntry:
    """Return a tool result without a call as a user message."""
    result = entry.message
    assert isinstance(result, ToolResult)
    return msgspec.structs.replace(entry, message=told_result(result))


def _as_user_messages(entry: Entry, message: Message, how: str) -> Iterator[Fallback]:
    """Yield the text of a message for the model, as user messages."""
    for converted in model_messages([message]):
        plain = MessageEntry(**_common(entry), message=converted)
        yield Fallback(how, (plain,))
        for simpler, made in _simpler_messages(converted):
            yield Fallback(f"{how}, {simpler}", (msgspec.structs.replace(plain, message=made),))


def _as_data(entry: MessageEntry) -> Fallback:
    message = entry.message
    role = message.role
    data = Custom(**_common(entry), custom_type=f"branchline/{role}", data=message_fields(message))
    return Fallback("kept as data that the model does not see", (data,))


def _simpler_messages(message: Message) -> Iterator[tuple[str, Message]]:
    """Yield a message with fewer and fewer agent-specific fields."""
    if not isinstance(message, UserMessage | AssistantMessage | ToolResult):
        return
    known = msgspec.structs.replace(message, content=_with(message.content, known_block))
    if known != message:
        yield "unknown parts as text", known
    if isinstance(message, AssistantMessage):
        reason = "error" if message.error_message else "stop"
        yield "with another stop reason", msgspec.structs.replace(message, stop_reason=reason)
        known = msgspec.structs.replace(known, stop_reason=reason)
    common = msgspec.structs.replace(known, content=_with(known.content, _common_images_only))
    if common != known:
        yield "a note instead of images of unusual types", common
    worded = msgspec.structs.replace(known, content=_with(known.content, _without_images))
    yield "a note instead of images", worded
    yield "as text", msgspec.structs.replace(worded, content=_with(worded.content, _text_only))


def _with(content: Content, change: Callable[[Block], Block]) -> Content:
    return content if isinstance(content, str) else tuple(map(change, content))


def known_block(block: Block) -> Block:
    """Return a block of an unknown type as text; any other block itself."""
    if not isinstance(block, UnknownBlock):
        return block
    fields = block.fields
    for name in ("text", "content"):
        if isinstance(fields.get(name), str):
            return Text(text=fields[name])
    text = json_codec.dumps(fields).decode("utf-8", "replace")
    if len(text) > _LONGEST:
        text = f"{len(text)} characters omitted"
    return Text(text=f"[{block.type or 'unknown'}: {text}]")


def _common_images_only(block: Block) -> Block:
    is_common = isinstance(block, Image) and block.mime_type in IMAGE_TYPES and block.data
    return block if is_common else _without_images(block)


def _without_images(block: Block) -> Block:
    if isinstance(block, Image):
        return Text(text=f"[image, {block.mime_type or 'of unknown type'}, {len(block.data)} characters]")
    return block


def _text_only(block: Block) -> Block:
    match block:
        case Thinking():
            return Text(text=block.thinking)
        case ToolCall():
            arguments = json_codec.dumps(block.arguments).decode("utf-8", "replace")
            return Text(text=f"[called {block.name} with {arguments}]")
        case _:
            return block


def _system_text(message: SystemMessage) -> str:
    sections = (message.sections or {}).values()
    return "\n\n".join(filter(None, (blocks_text(message.content, "\n"), *sections)))


# -- compactions ------------------------------------------------------------------------------------------


def _compaction_forms(entry: Compaction, kept: Callable[[], tuple[Message, ...]]) -> Iterator[Fallback]:
    tail = kept() if entry.retained_tail is None else entry.retained_tail
    if entry.retained_tail is not None:
        yield from _followed_forms(entry, tail)
    held = msgspec.structs.replace(entry, first_kept=None, retained_tail=tail)
    yield Fallback("it holds the kept messages itself", (held,))
    kept_messages: list[Message] = [
        message for message in model_messages(tail) if not isinstance(message, SystemMessage)
    ]
    for simplify in (known_block, _common_images_only, _without_images, _text_only):
        kept_messages = [_simplified(message, simplify) for message in kept_messages]
        held = msgspec.structs.replace(entry, first_kept=None, retained_tail=tuple(kept_messages))
        yield Fallback("it holds the kept messages itself, simplified", (held,))
    if entry.retained_tail is None:
        yield from _followed_forms(entry, tail)
    summary = CompactionSummaryMessage(
        summary=entry.summary,
        tokens_before=entry.tokens_before,
        timestamp=milliseconds(entry.timestamp),
    )
    start: list[Message] = [summary] if entry.summary or not tail else []
    followed = _chain(entry, [*start, *kept_messages] if entry.retained_tail is not None else [summary])
    yield Fallback("as a message with the summary", followed)
    if entry.retained_tail:
        how = "the summary and the kept messages as user and assistant messages"
        yield Fallback(how, _chain(entry, model_messages([*start, *tail])))
        # The calls among the simplified messages are text, so their results must be text too.
        simplified = [
            told_result(message) if isinstance(message, ToolResult) else message for message in kept_messages
        ]
        yield Fallback(f"{how}, simplified", _chain(entry, model_messages([*start, *simplified])))
    yield from _as_user_messages(entry, summary, "as a user message")


def _followed_forms(entry: Compaction, tail: Sequence[Message]) -> Iterator[Fallback]:
    yield Fallback("the kept messages follow it as entries", _followed(entry, tail))
    how = "the kept messages follow it as user and assistant messages"
    yield Fallback(how, _followed(entry, model_messages(tail)))


def _followed(entry: Compaction, tail: Sequence[Message]) -> tuple[Entry, ...]:
    """Return a compaction that keeps nothing, followed by the messages it kept."""
    nothing = msgspec.structs.replace(entry, first_kept=entry.id, retained_tail=None)
    followers = _chain(entry, tail, start=1)
    return (nothing, *(to_native(one, "") for one in followers))


def _chain(entry: Entry, messages: Sequence[Message], start: int = 0) -> tuple[Entry, ...]:
    """Return messages as a chain of entries; the first replaces an entry."""
    return tuple(
        MessageEntry(
            id=f"{entry.id}.{number}" if number else entry.id,
            parent=entry.parent,
            timestamp=entry.timestamp,
            message=message,
        )
        for number, message in enumerate(messages, start)
    )


def _simplified(message: Message, change: Callable[[Block], Block]) -> Message:
    if isinstance(message, UserMessage | AssistantMessage | ToolResult):
        return msgspec.structs.replace(message, content=_with(message.content, change))
    return message


# -- shared -----------------------------------------------------------------------------------------------


def without_lone_surrogates(form: Fallback) -> Fallback | None:
    """Return the form with U+FFFD for every lone surrogate; None if it has none."""
    whole = [replace_lone_surrogates(entry) for entry in form.entries]
    if all(entry is None for entry in whole):
        return None
    entries = tuple(new or old for new, old in zip(whole, form.entries, strict=True))
    how = ", ".join(filter(None, (form.how, "with replacement characters for lone surrogates")))
    return Fallback(how, entries)


def replace_lone_surrogates(entry: Entry) -> Entry | None:
    """Return the entry with U+FFFD for every lone surrogate; None if it has none."""
    from branchline.entries import entry_fields, entry_from_fields  # noqa: PLC0415

    try:
        plain = json_codec.loads(json_codec.dumps(entry_fields(entry)))
        cleaned, changed = _cleaned(plain)
    except (ValueError, RecursionError):
        return None
    return entry_from_fields(cleaned) if changed else None


def _cleaned(value: Any) -> tuple[Any, bool]:
    if isinstance(value, str):
        clean = well_formed(value)
        return clean, clean != value
    if isinstance(value, list):
        items = [_cleaned(item) for item in value]
        return [item for item, _ in items], any(changed for _, changed in items)
    if isinstance(value, dict):
        pairs = [(_cleaned(name), _cleaned(item)) for name, item in value.items()]
        return (
            {name: item for (name, _), (item, _) in pairs},
            any(one or other for (_, one), (_, other) in pairs),
        )
    return value, False


def _common(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in _COMMON}
