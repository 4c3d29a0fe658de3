"""Pairs every tool call with exactly one result, as providers require.

Sessions often violate that rule: a run was aborted between call and result, an edit removed one of them, or
two branches of a damaged file were joined. The list is completed without inventing results:

- a call without a result gets an error result that says so;
- a result belongs to the nearest call with its id above it, and is moved to that call's message;
- of several results for one call, the last one counts;
- a result without a call is left out: it means nothing to a model, and the history still has it;
- an answer that failed without output is left out;
- an id that was used before is renamed together with its result.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from branchline.entries import (
    AssistantMessage,
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    as_blocks,
    tool_calls,
)

__all__ = ["NO_RESULT", "close_tool_calls", "no_result", "told_result"]

NO_RESULT = "No result was recorded for this tool call."


def close_tool_calls(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with each tool call followed by exactly one result."""
    kept = [message for message in messages if not _failed_silently(message)]
    results = _results_by_call(kept)
    unused = _Names(
        call.id
        for message in kept
        if isinstance(message, AssistantMessage)
        for call in tool_calls(message.content)
    )
    closed: list[Message] = []
    for number, message in enumerate(kept):
        if isinstance(message, AssistantMessage) and tool_calls(message.content):
            closed += _answered(message, results.get(number, {}), unused)
        elif not isinstance(message, ToolResult):
            closed.append(message)
    return closed


def told_result(result: ToolResult) -> UserMessage:
    """Convert a result without a call to a user message."""
    state = "failed and said" if result.is_error is True else "said"
    heading = Text(text=f"The tool {result.tool_name or 'that was called'} {state}:")
    return UserMessage(content=(heading, *as_blocks(result.content)), timestamp=result.timestamp)


def _results_by_call(messages: list[Message]) -> dict[int, dict[str, ToolResult]]:
    """Return, by index of the calling message, the last result of each of its calls, in order of arrival."""
    asked_by: dict[str, int] = {}
    results: dict[int, dict[str, ToolResult]] = {}
    for number, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            asked_by.update((call.id, number) for call in tool_calls(message.content))
        elif isinstance(message, ToolResult) and (asking := asked_by.get(message.tool_call_id)) is not None:
            results.setdefault(asking, {})[message.tool_call_id] = message
    return results


def _answered(message: AssistantMessage, results: dict[str, ToolResult], names: _Names) -> list[Message]:
    """Return a calling message, its recorded results in order, then error results for the other calls."""
    blocks: list[Block] = []
    recorded: dict[str, ToolResult] = {}
    missing: list[ToolResult] = []
    content = as_blocks(message.content)
    for block in content:
        if not isinstance(block, ToolCall):
            blocks.append(block)
            continue
        name = names.take(block.id)
        call = block if name == block.id else msgspec.structs.replace(block, id=name)
        blocks.append(call)
        if block.id in results and block.id not in recorded:
            result = results[block.id]
            recorded[block.id] = (
                result if name == block.id else msgspec.structs.replace(result, tool_call_id=name)
            )
        else:
            missing.append(no_result(call.id, call.name, message.timestamp))
    if any(one is not other for one, other in zip(blocks, content, strict=True)):
        message = msgspec.structs.replace(message, content=tuple(blocks))
    return [message, *(recorded[call] for call in results), *missing]


class _Names:
    """Gives every call a unique id; ``taken`` are all existing ids, which new ones avoid."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._given: set[str] = set()

    def take(self, name: str) -> str:
        if name not in self._given:
            self._given.add(name)
            return name
        count = 2
        while (fresh := f"{name}-{count}") in self._taken:
            count += 1
        self._taken.add(fresh)
        self._given.add(fresh)
        return fresh


def _failed_silently(message: Message) -> bool:
    if not isinstance(message, AssistantMessage) or message.stop_reason not in ("error", "aborted"):
        return False
    return all(isinstance(block, Text) and not block.text.strip() for block in as_blocks(message.content))


def no_result(call: str, tool: str, time: float | None = None) -> ToolResult:
    """Return the result of a call that has none."""
    return ToolResult(
        tool_call_id=call, tool_name=tool, content=(Text(text=NO_RESULT),), is_error=True, timestamp=time
    )
