"""What a model sees of an oh-my-pi session, as oh-my-pi sends it.

Both steps follow oh-my-pi's rules: reading the path (state, boundaries, kept ranges) and repairing the list
before it is sent. Failed turns are omitted, and a tool call without a result on the path is removed from its
message.
"""

from __future__ import annotations

from typing import Any

import msgspec

from branchline.context import ContextMessage, ContextRules, milliseconds
from branchline.context.rules import ModeAndRules
from branchline.entries import (
    AssistantMessage,
    Block,
    Compaction,
    CompactionSummaryMessage,
    CustomContent,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownBlock,
    as_blocks,
    json_codec,
)
from branchline.formats.json_values import dict_of, list_of, text_of
from branchline.formats.oh_my_pi.records import RECOVERED
from branchline.tree import EntrySource

__all__ = ["RULES", "as_sent", "mode_and_rules"]

_INTERNAL = frozenset({"prewalk-plan", "vibe-mode-context"})  # meant for oh-my-pi itself, not for the model
_INTERRUPTED = "interrupted-thinking"  # follows an interrupted answer that is still sent
_FAILED = ("aborted", "error")
_ARCHIVE_MARKS = str.maketrans({"█": "\n", "\x0e": None, "\x0f": None})  # a line end; around tool output


def as_sent(messages: list[ContextMessage]) -> list[ContextMessage]:
    """Return the messages of a path without those that oh-my-pi omits."""
    emitted = [item for item in messages if not _is_left_out(item)]
    return _without_failures(_without_open_calls(emitted))


def mode_and_rules(source: EntrySource, path: list[int]) -> ModeAndRules:
    """Return the mode of the path, and the rules that were shown to the model on it."""
    types = source.tree.types
    mode, data = "none", None
    rules: dict[str, None] = {}
    for position in path:
        if types[position] not in ("mode_change", "ttsr_injection"):
            continue
        fields = getattr(source.entry(position), "fields", {})
        if types[position] == "mode_change":
            mode, data = str(fields.get("mode")), fields.get("data")
        elif isinstance(injected := fields.get("injectedRules"), list):
            rules.update((str(name), None) for name in injected)
    return ModeAndRules(mode, data, tuple(rules))


def summary_and_archive(source: EntrySource, compaction: Compaction) -> tuple[Message, ...]:
    """Return the summary, followed by the archived conversation if the compaction holds one."""
    position = source.tree.positions.get(compaction.id)
    fields = None if position is None else json_codec.loads_object(source.raw(position))
    preserved = dict_of(dict_of(fields).get("preserveData"))
    return (
        CompactionSummaryMessage(
            summary="\n".join((compaction.summary, *_archived(dict_of(preserved.get("snapcompact"))))),
            tokens_before=compaction.tokens_before,
            timestamp=milliseconds(compaction.timestamp),
        ),
    )


def _archived(archive: dict[str, Any]) -> list[str]:
    """Return an archived conversation as text; pictures of it are not supported."""
    whole = text_of(archive.get("text"))
    count = len(list_of(archive.get("frames")))
    pictures = f"{count} pictures of earlier history are" if count > 1 else "1 picture of earlier history is"
    parts = [
        whole or text_of(archive.get("textHead")),
        f"[{pictures} not included]" if count else "",
        "" if whole else text_of(archive.get("textTail")),
    ]
    return [part.translate(_ARCHIVE_MARKS) for part in parts if part]


RULES = ContextRules(
    boundaries=frozenset({"reset_boundary"}),
    explicit_model_wins=True,
    keeps_system_messages=True,
    finish=as_sent,
    opening=summary_and_archive,
    mode_and_rules=mode_and_rules,
)


def _is_left_out(item: ContextMessage) -> bool:
    match item.message:
        case AssistantMessage() as answer:
            recovered = isinstance(answer.diagnostics, dict) and bool(answer.diagnostics.get(RECOVERED))
            return recovered or _is_empty_failure(answer)
        case CustomContent(custom_type=kind):
            return kind in _INTERNAL
        case _:
            return False


def _is_empty_failure(answer: AssistantMessage) -> bool:
    if answer.stop_reason != "error":
        return False
    if isinstance(answer.content, str):
        return not answer.content
    return not any(map(_has_content, answer.content))


def _has_content(block: Block) -> bool:
    match block:
        case Text():
            return bool(block.text.strip())
        case Thinking():
            return bool(block.thinking.strip() or (block.thinking_signature or "").strip())
        case UnknownBlock(type="redactedThinking"):
            return bool(str(block.fields.get("data") or "").strip())
        case UnknownBlock(type="fallback"):
            return False
        case ToolCall() | Image() | UnknownBlock():
            return True


def _without_open_calls(messages: list[ContextMessage]) -> list[ContextMessage]:
    answered = {item.message.tool_call_id for item in messages if isinstance(item.message, ToolResult)}
    found = []
    for item in messages:
        message = item.message
        if not isinstance(message, AssistantMessage) or _calls(message) <= answered:
            found.append(item)
        elif kept := tuple(_unsigned(block) for block in message.content if _stays(block, answered)):
            rewritten = msgspec.structs.replace(message, content=kept)
            found.append(ContextMessage(item.entry, rewritten))
    return found


def _stays(block: Any, answered: set[str]) -> bool:
    """Return whether a block stays in a message with open calls; these and encrypted thinking go."""
    if isinstance(block, UnknownBlock) and block.type == "redactedThinking":
        return False
    call = _call(block)
    return call is None or call in answered


def _unsigned(block: Any) -> Any:
    """Return thinking without its signature, which is valid only for the unchanged message."""
    if isinstance(block, Thinking) and block.thinking_signature:
        return msgspec.structs.replace(block, thinking_signature=None)
    return block


def _without_failures(messages: list[ContextMessage]) -> list[ContextMessage]:
    """Remove failed answers and the results of their calls. Runs backwards, as each step looks ahead."""
    alive = [True] * len(messages)
    following: list[int] = []  # the messages that follow, nearest last
    results: dict[str, list[int]] = {}
    for number in range(len(messages) - 1, -1, -1):
        message = messages[number].message
        while following and not alive[following[-1]]:
            following.pop()
        if isinstance(message, AssistantMessage) and message.stop_reason in _FAILED:
            after = messages[following[-1]].message if following else None
            if not (isinstance(after, CustomContent) and after.custom_type == _INTERRUPTED):
                alive[number] = False
                for call in _calls(message):
                    for result in results.pop(call, ()):
                        alive[result] = False
                continue
        elif isinstance(message, ToolResult):
            results.setdefault(message.tool_call_id, []).append(number)
        following.append(number)
    return [item for item, stays in zip(messages, alive, strict=True) if stays]


def _calls(message: AssistantMessage) -> set[str]:
    return {call for block in as_blocks(message.content) if (call := _call(block)) is not None}


def _call(block: Any) -> str | None:
    if isinstance(block, ToolCall):
        return block.id
    if isinstance(block, UnknownBlock) and block.type == "toolCall":
        return str(block.fields.get("id"))
    return None
