"""Validation and normalization of messages before they are stored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import Any, get_args

import msgspec

from branchline._arguments import require_json
from branchline.clock import Clock
from branchline.context import Context, milliseconds, selected_entries
from branchline.context.builder import entry_messages
from branchline.context.source import ContextSource
from branchline.entries import (
    AssistantMessage,
    Block,
    CompactionSummaryMessage,
    Cost,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownBlock,
    UnknownMessage,
    Usage,
    UserMessage,
    json_codec,
    tool_calls,
)
from branchline.entries.lenient import block_from_fields, message_from_fields
from branchline.entries.messages import StoredMessage
from branchline.errors import InvalidArgument, InvalidMessage, InvalidType, NothingToCompact

__all__ = [
    "checked_usage",
    "kept_messages",
    "name_tool",
    "normalize_message",
    "require_messages",
    "system_snapshot",
    "why_not_block",
]


_PROVIDER_FIELDS = {
    "tool_calls": "from_openai",
    "function_call": "from_openai",
    "tool_call_id": "from_openai",
    "choices": "from_openai",
    "tool_use_id": "from_anthropic",
}
_PROVIDER_BLOCKS = {
    "tool_use": "from_anthropic",
    "tool_result": "from_anthropic",
    "redacted_thinking": "from_anthropic",
    "image_url": "from_openai",
    "input_text": "from_openai",
    "output_text": "from_openai",
    "input_image": "from_openai",
}
_NEEDED = {
    "user": ("content",),
    "assistant": ("content",),
    "toolResult": ("toolCallId", "content"),
    "bashExecution": ("command", "output"),
    "custom": ("customType", "content"),
}
_PYTHON_NAMES: dict[str, dict[str, str]] = {
    str(record.__struct_config__.tag): {
        field.name: field.encode_name
        for field in msgspec.structs.fields(record)
        if field.name != field.encode_name
    }
    for record in (*get_args(StoredMessage), Text, Image, Thinking, ToolCall)
}
"""Names of fields in Python that are spelled differently when they are stored, by role or type of block."""
_TYPES: dict[str, dict[str, tuple[Any, Collection[type]]]] = {
    str(record.__struct_config__.tag): {
        "usage": (Usage, (Usage,)),
        **{
            field.encode_name: (field.type, get_args(field.type) or (field.type,))
            for field in msgspec.structs.fields(record)
            if field.name not in ("content", "usage")  # blocks are looked at one by one
        },
    }
    for record in get_args(StoredMessage)
}
"""What the fields of a message hold, by role, and the types of values that need no further look."""
_USAGE_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(Usage))
_PROVIDER_ROLES = {"tool": "from_openai", "function": "from_openai"}
_FOREIGN_ROLES = frozenset({"developer", "pythonExecution", "fileMention"})
_ROLES = "user, assistant, toolResult, system, bashExecution and custom"
_WAYS = "from_openai(…) and from_anthropic(…) make messages of what providers send"


def require_messages(messages: Any) -> Iterable[Message | dict[str, Any] | str]:
    """Return several messages. Raises InvalidType for a single one: its parts would be taken for messages."""
    if isinstance(messages, str | bytes | Mapping | Message):
        kind = "a text" if isinstance(messages, str) else f"one {type(messages).__name__}"
        raise InvalidType(f"these are several messages, not {kind}: append_message() takes a single one")
    if not isinstance(messages, Iterable):
        raise InvalidType(f"messages are a list of messages, not {type(messages).__name__}")
    return messages


def checked_usage(usage: Any) -> Any:
    """Return usage that can be read back. Raises InvalidArgument for unknown fields and other numbers."""
    if usage is None or isinstance(usage, Usage):
        require_json("usage", usage)
        return usage
    if not isinstance(usage, dict):
        raise InvalidType(f"usage is a Usage or a dict, not {type(usage).__name__}")
    require_json("usage", usage)
    for fields, shape in ((usage, Usage), (usage.get("cost"), Cost)):
        known = [field.encode_name for field in msgspec.structs.fields(shape)]
        unknown = [name for name in fields if name not in known] if isinstance(fields, dict) else []
        if unknown:
            raise InvalidArgument(f"usage has no field {unknown[0]!r}; there are {', '.join(known)}")
    try:
        return json_codec.convert(usage, Usage)
    except ValueError as problem:
        raise InvalidArgument(f"this usage cannot be read: {problem}") from None


def normalize_message(
    message: Message | dict[str, Any] | str, clock: Clock, own_blocks: Container[str] = ()
) -> Message:
    """Return the message to store: with a time, and with all fields of a dict.

    Blocks of the types ``own_blocks`` are stored as they are. Raises InvalidMessage for a dict that a context
    would not show correctly, InvalidType for other types.
    """
    if isinstance(message, str):
        return UserMessage(content=(Text(text=message),), timestamp=clock.now())
    if isinstance(message, dict):
        role = message.get("role")
        if not isinstance(role, str) or not role:
            raise InvalidMessage(
                "a message needs a role, for example {'role': 'user', 'content': 'hello'}; " + _WAYS
            )
        if (why := _why_not(role, message, own_blocks)) is not None:
            raise InvalidMessage(f"cannot append this message: {why}")
        require_json("a message", message)
        fields = message if "timestamp" in message else {**message, "timestamp": clock.now()}
        return UnknownMessage(role=role, fields=fields)
    if not isinstance(message, Message):
        kind = type(message).__name__
        raise InvalidType(f"a message is a text, a dict with a role, or a Message, not {kind}; {_WAYS}")
    require_json("a message", message, finite=False)  # it may come from a file of another agent
    if isinstance(message, UnknownMessage) or message.timestamp is not None:
        return message
    return msgspec.structs.replace(message, timestamp=clock.now())


def _why_not(role: str, fields: dict[str, Any], own_blocks: Container[str]) -> str | None:
    """Return why a model would not see a message correctly; None if it would."""
    if not _PROVIDER_FIELDS.keys().isdisjoint(fields):
        for name, maker in _PROVIDER_FIELDS.items():
            if fields.get(name):
                return _provider_words(f"the field {name!r}", maker)
    if role not in ("user", "assistant"):  # prompts and answers need only content
        if role in _PROVIDER_ROLES:
            return _provider_words(f"the role {role!r}", _PROVIDER_ROLES[role])
        if role in _FOREIGN_ROLES:
            return None
        if isinstance(message_from_fields(fields), UnknownMessage):
            known = f"there are {_ROLES}; UnknownMessage(role=…, fields=…) keeps it out of the context"
            return f"the role {role!r} is not known; {known}"
    for name in _NEEDED.get(role, ()):
        if fields.get(name) is None:
            return f"a message with the role {role!r} needs the field {name!r}"
    if (why := _why_not_names(fields, _PYTHON_NAMES.get(role))) is not None:
        return why
    if (why := _why_not_values(role, fields)) is not None:
        return why
    content = fields.get("content", "")
    if isinstance(content, str):
        return None
    if not isinstance(content, (list, tuple)):
        return f"its content is {type(content).__name__}, not a text or a list of blocks"
    for block in content:
        if not _is_plain_text(block) and (why := why_not_block(block, own_blocks)) is not None:
            return why
    return None


def _why_not_values(role: str, fields: dict[str, Any]) -> str | None:
    """Return why a field would be stored but read as nothing, as its value has a wrong type."""
    types = _TYPES.get(role, {})
    for name in types.keys() & fields.keys():
        value, (kind, plain) = fields[name], types[name]
        if value is None or type(value) in plain:
            continue
        if kind is Usage and isinstance(value, dict) and value and _USAGE_FIELDS.isdisjoint(value):
            return f"its usage has none of the fields {', '.join(sorted(_USAGE_FIELDS))}"
        try:
            json_codec.convert(value, kind)
        except ValueError as problem:
            return f"its {name} cannot be read: {problem}"
    return None


def _why_not_names(fields: dict[str, Any], names: dict[str, str] | None) -> str | None:
    """Return why a field would be stored but never read; None if there is none."""
    if names is not None and not names.keys().isdisjoint(fields):
        wrong = next(name for name in names if name in fields)
        return f"the field {wrong!r} is called {names[wrong]!r}"
    return None


def _is_plain_text(block: Any) -> bool:
    """Whether a block is a text and nothing else, as most are."""
    return (
        type(block) is dict
        and len(block) == 2
        and block.get("type") == "text"
        and type(block.get("text")) is str
    )


def why_not_block(fields: Any, own_blocks: Container[str] = ()) -> str | None:
    """Return why a model would not see a block correctly; None if it would."""
    if isinstance(fields, Block):
        return None
    block = block_from_fields(fields)
    if isinstance(block, Thinking) and "signature" in fields:
        return _provider_words("a thinking block with a 'signature'", "from_anthropic")
    if not isinstance(block, UnknownBlock):
        return _why_not_names(fields, _PYTHON_NAMES.get(fields["type"])) if isinstance(fields, dict) else None
    if block.type in own_blocks:
        return None
    maker = _PROVIDER_BLOCKS.get(block.type)
    if block.type == "image" and "source" in block.fields:
        maker = "from_anthropic"
    if maker is not None:
        return _provider_words(f"a block of type {block.type!r}", maker)
    if block.type in ("text", "image", "thinking", "toolCall"):
        return f"a {block.type} block has a field of a wrong type, or lacks one"
    return f"there are no blocks of type {block.type!r}; there are text, image, thinking and toolCall"


def _provider_words(what: str, maker: str) -> str:
    return f"{what} is a provider's; append what {maker}(message) makes of it"


def name_tool(result: ToolResult, before: Iterable[Message]) -> ToolResult:
    """Fill in the tool name and call id of a result from the messages before it."""
    for message in before:
        if not isinstance(message, AssistantMessage):
            continue
        for call in tool_calls(message.content):
            # The Responses API has two ids for a call; its result names the first.
            if result.tool_call_id in (call.id, call.id.partition("|")[0]):
                return msgspec.structs.replace(result, tool_call_id=call.id, tool_name=call.name)
    return result


def system_snapshot(context: Context) -> Callable[[str], SystemMessage] | None:
    """Return a function that makes one message of the current system prompt and tools; None without any."""
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
    """Return the messages that a compaction keeps from an entry on, for formats that store them in it.

    ``context`` is the model context at the end of ``path``. Messages held by an earlier compaction are kept
    with it; system state is not, because a compaction stores it separately. Raises NothingToCompact if the
    context has no messages.
    """
    if not context.messages:
        raise NothingToCompact(f"cannot compact from {first_kept} on: there is no message on the path")
    if first_kept not in path:
        return ()
    kept = path[path.index(first_kept) :]
    selected = selected_entries(source, source.tree.position(path[-1]))
    if first_kept in selected:
        wanted = set(kept)
        messages = [item.message for item in context.messages if item.entry in wanted]
        if selected[0] in wanted and messages and isinstance(messages[0], CompactionSummaryMessage):
            del messages[0]
    else:
        positions = [source.tree.position(key) for key in kept]
        messages = [message for entry in source.entries(positions) for message in entry_messages(entry)]
    return tuple(message for message in messages if not isinstance(message, SystemMessage))
