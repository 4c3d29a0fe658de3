"""The entries of a path as cards: speaker, text, and short facts.

Cards are data for any screen. Their texts are unfiltered: a terminal passes them through
:func:`branchline.views.text.safe`, a page escapes them. A tool result is part of the card of its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from branchline.context.javascript import number_text, utf16_cut
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    Block,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    Content,
    ContextEdit,
    Custom,
    CustomContent,
    CustomMessage,
    Damaged,
    Entry,
    Image,
    Label,
    Leaf,
    Message,
    MessageEntry,
    ModelChange,
    SessionInfo,
    SystemMessage,
    Text,
    Thinking,
    ThinkingLevelChange,
    ToolResult,
    Unknown,
    UnknownBlock,
    UnknownMessage,
    Usage,
    UsageEntry,
    UserMessage,
    amount,
    blocks_text,
)
from branchline.formats import LabelState
from branchline.views.call_results import PathCalls, is_result, pair_path
from branchline.views.figures import money, tokens
from branchline.views.humanize import decoded_size
from branchline.views.tool_calls import Call, call_of, has_failed, single_line, waits_for_result
from branchline.views.tool_results import ResultView, result_view
from branchline.views.tool_views import ToolSection, call_line, call_sections, json_text

__all__ = ["CLEARED_TYPES", "Card", "CardKind", "Picture", "bash_facts", "cards", "system_text"]

CardKind = Literal[
    "user",
    "assistant",
    "thinking",
    "tool",
    "bash",
    "custom",
    "system",
    "compaction",
    "branch",
    "setting",
    "note",
    "damage",
    "unknown",
]

CLEARED_TYPES = frozenset({"context_cleared", "reset_boundary"})
"""Entries of other agents after which the context starts empty."""


_REASON = 200
"""Characters of the reason of a failure on its line."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """The type and the size in bytes of an image; its data is not part of the card."""

    mime_type: str
    size: int


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One item to show. ``meta`` has short facts; ``call`` is the tool call, if it is one.

    ``open`` marks a call without a result. An entry may have several cards: thinking, text and calls.
    """

    kind: CardKind
    id: str
    title: str
    body: str = ""
    meta: tuple[str, ...] = ()
    timestamp: str = ""
    label: str | None = None
    call: Call | None = None
    pictures: tuple[Picture, ...] = ()
    error: bool = False
    open: bool = False

    def sections(self) -> list[ToolSection]:
        """Return the sections that an opened tool call shows before its result."""
        return [] if self.call is None else call_sections(self.call)

    @property
    def status(self) -> tuple[str, ...]:
        """The outcome of a tool call: failure, exit code, duration."""
        state = "no result" if self.open else "failed" if self.error else ""
        return tuple(filter(None, (state, *self.meta)))


def cards(
    entries: Iterable[Entry],
    *,
    labels: Mapping[str, LabelState] | None = None,
    home: str = "",
    side_records: bool = False,
    calls: PathCalls | None = None,
) -> list[Card]:
    """Return the cards of a path in order, and with ``side_records`` those of labels, titles and moves.

    ``calls`` are those of the whole path, if ``entries`` are a part of it. A result is shown with its call
    only: it is no card of its own if the call is above these entries.
    """
    entries = list(entries)
    if calls is None:
        every = range(len(entries))
        calls = PathCalls(pair_path(entries), every, every, entries.__getitem__)
    deck = _CardBuilder({} if labels is None else labels, home, calls)
    for deck.position, entry in zip(calls.positions, entries, strict=True):
        if isinstance(entry, Label | SessionInfo | UsageEntry | Leaf | Custom):
            if side_records:
                deck.note(entry)
        else:
            deck.add(entry)
    return deck.cards


class _CardBuilder:
    """The cards so far. ``position`` is that of the entry that is added."""

    def __init__(self, labels: Mapping[str, LabelState], home: str, calls: PathCalls) -> None:
        self.cards: list[Card] = []
        self.position = 0
        self._labels = labels
        self._home = home
        self._calls = calls

    def _lay(self, entry: Entry, kind: CardKind, title: str, body: str = "", **more: Any) -> None:
        label = self._labels.get(entry.id)
        first = not self.cards or self.cards[-1].id != entry.id
        self.cards.append(
            Card(
                kind=kind,
                id=entry.id,
                title=title,
                body=body,
                timestamp=entry.timestamp,
                label=label.text if label is not None and first else None,
                **more,
            )
        )

    def add(self, entry: Entry) -> None:
        match entry:
            case MessageEntry():
                self._message(entry, entry.message)
            case CustomMessage():
                meta = ("hidden",) if entry.display is False else ()
                self._lay(entry, "custom", entry.custom_type, blocks_text(entry.content), meta=meta)
            case Compaction():
                before = entry.tokens_before
                meta = () if before is None else (f"{tokens(before)} tokens before",)
                self._lay(entry, "compaction", "Compaction", entry.summary, meta=meta)
            case BranchSummary():
                self._lay(entry, "branch", "Branch summary", entry.summary)
            case ModelChange():
                self._lay(
                    entry, "setting", f"Model: {'/'.join(filter(None, (entry.provider, entry.model_id)))}"
                )
            case ThinkingLevelChange():
                self._lay(entry, "setting", f"Thinking level: {entry.thinking_level}")
            case ContextEdit():
                body = "" if entry.replacement is None else blocks_text(entry.replacement.content)
                what = "excluded from the context" if entry.replacement is None else "replaced in the context"
                self._lay(entry, "setting", f"{entry.target} {what}", body)
            case Damaged():
                self._lay(entry, "damage", "Unreadable line", entry.text, error=True)
            case Unknown() if entry.type in CLEARED_TYPES:
                self._lay(entry, "setting", "Context cleared: the model sees only what follows")
            case Unknown():
                self._lay(entry, "unknown", entry.type, json_text(entry.fields))
            case _:
                self.note(entry)

    def note(self, entry: Entry) -> None:
        """One line for a side record."""
        match entry:
            case Label():
                title = (
                    f"Label of {entry.target}: {entry.label}" if entry.label else f"No label: {entry.target}"
                )
            case SessionInfo():
                title = f"Title: {entry.name}" if entry.name else "No title"
            case UsageEntry():
                title = f"Usage: {entry.kind}"
            case Leaf():
                title = "Moved to the start" if entry.target is None else f"Moved to {entry.target}"
            case Custom():
                title = f"Data of {entry.custom_type}"
            case _:
                title = entry.type
        self._lay(entry, "note", title)

    def _message(self, entry: Entry, message: Message) -> None:
        match message:
            case UserMessage():
                pictures = _pictures(message.content)
                self._lay(entry, "user", "User", blocks_text(message.content, "\n\n"), pictures=pictures)
            case AssistantMessage():
                self._answer(entry, message)
            case ToolResult():
                self._result(entry, message, 0)
            case BashExecution():
                self._lay(
                    entry,
                    "bash",
                    message.command,
                    message.output,
                    meta=bash_facts(message),
                    error=bool(message.exit_code),
                )
            case SystemMessage():
                self._lay(entry, "system", "System", system_text(message))
            case CustomContent():
                self._lay(entry, "custom", message.custom_type, blocks_text(message.content))
            case BranchSummaryMessage():
                self._lay(entry, "branch", "Branch summary", message.summary)
            case CompactionSummaryMessage():
                self._lay(entry, "compaction", "Compaction", message.summary)
            case UnknownMessage():
                self._lay(entry, "unknown", message.role, json_text(message.fields))

    def _answer(self, entry: Entry, message: AssistantMessage) -> None:
        facts = _answer_facts(message)
        failed = message.stop_reason in ("error", "aborted")
        blocks = (Text(text=message.content),) if isinstance(message.content, str) else message.content
        spoken = False
        results = iter(self._calls.results(self.position))
        found = 0
        for block in blocks:
            if (call := call_of(block)) is not None:
                self._call(entry, call, block, next(results))
                continue
            match block:
                case Text():
                    if block.text.strip():
                        meta = () if spoken else facts
                        self._lay(entry, "assistant", "Assistant", block.text, meta=meta, error=failed)
                        spoken = True
                case Thinking():
                    self._lay(entry, "thinking", "Thinking", block.thinking or "(redacted)")
                case Image():
                    self._lay(entry, "assistant", "Assistant", pictures=_pictures((block,)))
                case UnknownBlock() if is_result(block):
                    self._result(entry, block, found)
                    found += 1
                case UnknownBlock():
                    self._lay(entry, "unknown", block.type or "block", json_text(block.fields))
        if failed or message.error_message:
            self._failure(entry, message, () if spoken else facts)
        elif not blocks:
            self._lay(entry, "assistant", "Assistant", "(no content)", meta=facts)

    def _failure(self, entry: Entry, message: AssistantMessage, facts: tuple[str, ...]) -> None:
        """Add a note with the reason why an answer ended early. A long reason is folded."""
        what = "Stopped" if message.stop_reason == "aborted" else "Error"
        reason = single_line(message.error_message or "").strip()
        short = utf16_cut(reason, _REASON)
        body = message.error_message or "" if len(short) < len(reason) else ""
        self._lay(entry, "note", f"{what}: {short}" if short else what, body, meta=facts, error=True)

    def _call(self, entry: Entry, call: Call, block: Block, result: ToolResult | UnknownBlock | None) -> None:
        if result is None:
            self._lay(
                entry,
                "tool",
                call_line(call, self._home),
                call=call,
                open=waits_for_result(block),
                error=has_failed(block),
            )
            return
        self._outcome(entry, call_line(call, self._home), result_view(result), result, call)

    def _result(self, entry: Entry, result: ToolResult | UnknownBlock, number: int) -> None:
        """Add a result that is not shown with its call."""
        if self._calls.is_shown(self.position, number):
            return
        if isinstance(result, UnknownBlock):
            self._lay(entry, "unknown", result.type, json_text(result.fields))
            return
        view = result_view(result)
        self._outcome(entry, result.tool_name, view._replace(facts=("without its call", *view.facts)), result)

    def _outcome(
        self,
        entry: Entry,
        title: str,
        view: ResultView,
        result: ToolResult | UnknownBlock,
        call: Call | None = None,
    ) -> None:
        pictures = _pictures(result.content) if isinstance(result, ToolResult) else ()
        self._lay(
            entry,
            "tool",
            title,
            view.text,
            meta=view.facts,
            pictures=pictures,
            error=view.failed,
            call=call,
        )


def _pictures(content: Content) -> tuple[Picture, ...]:
    if isinstance(content, str):
        return ()
    return tuple(
        Picture(mime_type=block.mime_type or "image", size=decoded_size(block.data))
        for block in content
        if isinstance(block, Image)
    )


def _answer_facts(message: AssistantMessage) -> tuple[str, ...]:
    facts = []
    if model := message.response_model or message.model:
        facts.append(f"{message.provider}/{model}" if message.provider else model)
    if message.usage is not None:
        facts += _usage_facts(message.usage)
    if message.stop_reason not in (None, "", "stop", "toolUse"):
        facts.append(str(message.stop_reason))
    return tuple(facts)


def _usage_facts(usage: Usage) -> list[str]:
    facts = [f"{tokens(usage.context_tokens)} tokens"] if usage.context_tokens else []
    if cost := amount(usage.cost.total):
        facts.append(money(cost))
    return facts


def bash_facts(message: BashExecution) -> tuple[str, ...]:
    facts = []
    if message.cancelled is True:
        facts.append("cancelled")
    elif message.exit_code:
        facts.append(f"exit code {number_text(message.exit_code)}")
    if message.truncated is True:
        where = f", full output in {message.full_output_path}" if message.full_output_path else ""
        facts.append(f"output cut{where}")
    if message.exclude_from_context:
        facts.append("not sent to the model")
    return tuple(facts)


def system_text(message: SystemMessage) -> str:
    parts = [blocks_text(message.content, "\n\n")]
    for name, text in (message.sections or {}).items():
        parts.append(f"{name}: removed" if text is None else f"{name}:\n{text}")
    for verb, tools in (("Tools added", message.tools_added), ("Tools removed", message.tools_removed)):
        if tools:
            parts.append(f"{verb}: " + ", ".join(str(tool.get("name", "?")) for tool in tools))
    return "\n\n".join(part for part in parts if part)
