"""Build the context of a path: the messages of the selected entries, with edits applied.

History is never changed: an edit creates a new message, and unedited messages are the decoded records
themselves.
"""

from __future__ import annotations

from itertools import compress

import msgspec

from branchline.context.context import Context, ContextMessage
from branchline.context.rules import ModeAndRules
from branchline.context.selection import Selection, ancestor_with_id, model_of, select, thinking_level_of
from branchline.context.source import ContextSource
from branchline.context.timestamps import milliseconds
from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    Content,
    ContextEdit,
    CustomContent,
    CustomMessage,
    Entry,
    Message,
    MessageEntry,
    ToolResult,
    UserMessage,
    as_blocks,
)

__all__ = [
    "SPEAKING",
    "Edits",
    "apply_edit",
    "build_context",
    "custom_content",
    "edits_in",
    "entry_messages",
    "opening_messages",
    "with_sent_summary",
]

Edits = dict[str, ContextEdit]
"""The last edit of each entry, by the key of the entry."""

SPEAKING = frozenset({"message", "custom_message", "branch_summary", "context_edit"})


def build_context(source: ContextSource, leaf: int) -> Context:
    """Return the model context at this position of the tree.

    -1 (before the first entry) gives an empty one.
    """
    tree = source.tree
    rules = source.context_rules
    selection = select(source, leaf)
    types = tree.types
    spoken = SPEAKING - rules.excluded_types if rules.excluded_types else SPEAKING
    speaking = selection.positions
    if not selection.types <= spoken:
        kinds = map(types.__getitem__, speaking)
        speaking = list(compress(speaking, map(spoken.__contains__, kinds)))
    compaction = selection.compaction
    older = sum(types[position] in spoken for position in selection.positions[: selection.measured])
    edits = edits_in(source, speaking, selection)
    messages = []
    if compaction is not None:
        opening = apply_edit(opening_messages(source, compaction), edits.get(compaction.id))
        messages += [ContextMessage(compaction.id, message) for message in opening]
    messages += _messages(source, speaking[:older], edits)
    measured_from = len(messages)
    messages += _messages(source, speaking[older:], edits)
    if (finish := rules.finish) is not None:
        past = {item.entry for item in messages[:measured_from]}
        messages = finish(messages)
        measured_from = sum(item.entry in past for item in messages)
    told = ModeAndRules() if rules.mode_and_rules is None else rules.mode_and_rules(source, selection.path)
    return Context(
        messages=messages,
        model=model_of(source, selection.path),
        thinking_level=thinking_level_of(source, selection),
        mode=told.mode,
        mode_data=told.mode_data,
        injected_rules=told.injected_rules,
        measured_from=measured_from,
    )


def entry_messages(entry: Entry) -> tuple[Message, ...]:
    """Return the messages of one entry before edits; for a compaction see :func:`opening_messages`."""
    match entry:
        case MessageEntry():
            return (entry.message,)
        case CustomMessage():
            return (custom_content(entry),)
        case BranchSummary() if entry.summary:
            return (branch_summary_message(entry),)
        case _:
            return ()


def custom_content(entry: CustomMessage) -> AssistantMessage | CustomContent:
    """Return the message of an extension: an answer if it has that role, else a custom message."""
    time = milliseconds(entry.timestamp)
    if entry.role == "assistant":
        content = entry.content
        return AssistantMessage(content=as_blocks(content), timestamp=time)
    return CustomContent(
        custom_type=entry.custom_type,
        content=entry.content,
        display=entry.display,
        details=entry.details,
        timestamp=time,
    )


def opening_messages(source: ContextSource, compaction: Compaction) -> tuple[Message, ...]:
    """Return the messages that replace a compaction: system state, summary, and its retained tail.

    A compaction with a retained tail need not have a summary.
    """
    opening = source.context_rules.opening
    if opening is not None:
        return opening(source, compaction)
    system = () if compaction.system_message is None else (compaction.system_message,)
    if compaction.retained_tail is not None and not compaction.summary:
        return (*system, *compaction.retained_tail)
    return (*system, compaction_summary_message(compaction), *(compaction.retained_tail or ()))


def with_sent_summary(source: ContextSource, compaction: Compaction) -> Compaction:
    """Return the compaction with the summary that its agent sends, which may hold more than the stored one.

    For everything that continues the conversation elsewhere: other agents know only the summary.
    """
    for message in opening_messages(source, compaction):
        if isinstance(message, CompactionSummaryMessage) and message.summary != compaction.summary:
            return msgspec.structs.replace(compaction, summary=message.summary)
    return compaction


def compaction_summary_message(compaction: Compaction) -> CompactionSummaryMessage:
    return CompactionSummaryMessage(
        summary=compaction.summary,
        tokens_before=compaction.tokens_before,
        timestamp=milliseconds(compaction.timestamp),
    )


def branch_summary_message(entry: BranchSummary) -> BranchSummaryMessage:
    return BranchSummaryMessage(
        summary=entry.summary, from_id=entry.from_id, timestamp=milliseconds(entry.timestamp)
    )


def edits_in(source: ContextSource, positions: list[int], selection: Selection) -> Edits:
    """Return the last edit of each entry at these positions of the selection."""
    edits: Edits = {}
    if "context_edit" not in selection.types:
        return edits
    tree = source.tree
    for entry in source.entries([at for at in positions if tree.types[at] == "context_edit"]):
        if not isinstance(entry, ContextEdit):
            continue
        target = entry.target
        if f"{target}#2" in tree.positions:
            index = selection.path.index(tree.positions[entry.id])
            holder = ancestor_with_id(tree, target, selection.path, index)
            target = tree.keys[selection.path[holder]] if holder >= 0 else target
        edits[target] = entry
    return edits


def apply_edit(messages: tuple[Message, ...], edit: ContextEdit | None) -> tuple[Message, ...]:
    """Return the messages of an entry after its edit: none, with other content, or unchanged."""
    if edit is None:
        return messages
    if edit.replacement is None:
        return ()
    content = edit.replacement.content
    return tuple(_with_content(message, content) for message in messages)


def _with_content(message: Message, content: Content) -> Message:
    match message:
        case AssistantMessage() | ToolResult():
            blocks = as_blocks(content)
            return msgspec.structs.replace(message, content=blocks)
        case UserMessage() | CustomContent():
            return msgspec.structs.replace(message, content=content)
        case _:
            return message


def _messages(source: ContextSource, positions: list[int], edits: Edits) -> list[ContextMessage]:
    keys = source.tree.keys
    found: list[ContextMessage] = []
    add = found.append
    # The tree's key objects, not the equal ids of the entries, which would take extra memory.
    for position, entry in zip(positions, source.iter_entries(positions), strict=True):
        key = keys[position]
        if type(entry) is MessageEntry and not edits:  # nearly always
            add(ContextMessage(key, entry.message))
        else:
            for message in apply_edit(entry_messages(entry), edits.get(key)):
                add(ContextMessage(key, message))
    return found
