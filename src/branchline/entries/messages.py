"""The messages of a conversation, one frozen record per role.

Nearly every field is optional, as files in the wild leave out nearly anything.
Unknown roles become :class:`UnknownMessage` with every field kept.
"""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

from typing import TYPE_CHECKING, Any

import msgspec

from branchline.entries.blocks import KnownBlock, blocks_text

if TYPE_CHECKING:
    from branchline.entries.blocks import Block

    Content = str | tuple[Block, ...]
else:
    # What msgspec decodes in bulk; `lenient.py` decodes unknown blocks.
    Content = str | tuple[KnownBlock, ...]

__all__ = [
    "AssistantMessage",
    "BashExecution",
    "BranchSummaryMessage",
    "CompactionSummaryMessage",
    "Content",
    "Cost",
    "CustomContent",
    "Message",
    "SystemMessage",
    "ToolResult",
    "UnknownMessage",
    "Usage",
    "UserMessage",
    "amount",
    "message_text",
]

Number = int | float
_LARGEST = 1 << 53


def amount(number: Number) -> Number:
    """Return a number of tokens or of money for a sum; 0 for one that nobody can have counted.

    It may be infinite, no number, or beyond what floats and databases hold: it would spoil every total.
    """
    if -_LARGEST <= number <= _LARGEST:
        return number
    return 0


class Cost(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Money, in the currency of the provider (US dollars for all known ones).

    ``known`` is false where the cost of a call was not recorded; pi requires the numbers anyway.
    """

    input: Number = 0
    output: Number = 0
    cache_read: Number = 0
    cache_write: Number = 0
    total: Number = 0
    known: bool | msgspec.UnsetType = msgspec.UNSET


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False, rename="camel", gc=False):
    """Tokens of one call; ``reasoning`` is part of ``output``, ``cache_write_1h`` of ``cache_write``."""

    input: Number = 0
    output: Number = 0
    cache_read: Number = 0
    cache_write: Number = 0
    cache_write_1h: Number | msgspec.UnsetType = msgspec.field(name="cacheWrite1h", default=msgspec.UNSET)
    reasoning: Number | msgspec.UnsetType = msgspec.UNSET
    total_tokens: Number = 0
    cost: Cost = Cost()

    @property
    def is_recorded(self) -> bool:
        """Whether this was counted; otherwise it is only there because pi requires the numbers."""
        return self.cost.known is not False or bool(self.context_tokens or self.cost.total)

    @property
    def context_tokens(self) -> Number:
        """Everything that this call read and wrote; files of version 1 carry no total."""
        parts = (self.input, self.output, self.cache_read, self.cache_write)
        return amount(self.total_tokens) or sum(map(amount, parts))


class _Message(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", tag_field="role", gc=False
):
    """What all messages share: the role is the tag, the timestamp is in Unix milliseconds."""

    @property
    def role(self) -> str:
        """The role, as files name it."""
        return str(self.__struct_config__.tag)


class UserMessage(_Message, frozen=True, kw_only=True, tag="user"):
    content: Content
    timestamp: Number | None = None


class AssistantMessage(_Message, frozen=True, kw_only=True, tag="assistant"):
    content: Content
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    provider_thinking_level: str | None = None
    thinking_level: str | None = None
    diagnostics: Any = None
    usage: Usage | None = None
    stop_reason: str | None = None
    deferred: dict[str, Any] | None = None
    error_message: str | None = None
    raw_stop_reason: str | None = None
    end_turn: bool | None = None
    timestamp: Number | None = None


class ToolResult(_Message, frozen=True, kw_only=True, tag="toolResult"):
    tool_call_id: str
    tool_name: str
    content: Content
    details: Any = None
    usage: Usage | None = None
    nested_calls: dict[str, Any] | None = None
    is_error: bool | msgspec.UnsetType = msgspec.UNSET
    timestamp: Number | None = None


class SystemMessage(_Message, frozen=True, kw_only=True, tag="system"):
    """A patch of the system prompt and of the tools; the state is the sum of all patches in order."""

    content: Content
    sections: dict[str, str | None] | None = None
    tools_added: tuple[dict[str, Any], ...] | None = None
    tools_removed: tuple[dict[str, Any], ...] | None = None
    timestamp: Number | None = None


class BashExecution(_Message, frozen=True, kw_only=True, tag="bashExecution"):
    """A shell command that the user ran; ``exit_code`` is None when it was cancelled."""

    command: str
    output: str
    exit_code: Number | None = None
    cancelled: bool | msgspec.UnsetType = msgspec.UNSET
    truncated: bool | msgspec.UnsetType = msgspec.UNSET
    full_output_path: str | None = None
    exclude_from_context: bool | None = None
    timestamp: Number | None = None


class CustomContent(_Message, frozen=True, kw_only=True, tag="custom"):
    """A message of an extension; the model sees it as a user message."""

    custom_type: str
    content: Content
    display: bool | msgspec.UnsetType = msgspec.UNSET
    details: Any = None
    timestamp: Number | None = None


class BranchSummaryMessage(_Message, frozen=True, kw_only=True, tag="branchSummary"):
    """Built with a context, never stored: the summary of an abandoned branch."""

    summary: str
    from_id: str | None = None
    timestamp: Number | None = None


class CompactionSummaryMessage(_Message, frozen=True, kw_only=True, tag="compactionSummary"):
    """Built with a context, never stored: the summary of everything before it."""

    summary: str
    tokens_before: Number | None = None
    timestamp: Number | None = None


class UnknownMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a role that we do not know, with all its fields."""

    role: str
    fields: dict[str, Any]


ROLE_OF: dict[type, str] = {
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResult: "toolResult",
    SystemMessage: "system",
    BashExecution: "bashExecution",
    CustomContent: "custom",
}
"""The role of each kind of stored message, as files name it."""

StoredMessage = UserMessage | AssistantMessage | ToolResult | SystemMessage | BashExecution | CustomContent
Message = StoredMessage | BranchSummaryMessage | CompactionSummaryMessage | UnknownMessage


def message_text(message: Message, separator: str = "") -> str:
    """The readable text of a message: text blocks, a command, a summary."""
    match message:
        case BashExecution():
            return message.command
        case BranchSummaryMessage() | CompactionSummaryMessage():
            return message.summary
        case UnknownMessage():
            content = message.fields.get("content")
            return content if isinstance(content, str) else ""
        case _:
            return blocks_text(message.content, separator)
