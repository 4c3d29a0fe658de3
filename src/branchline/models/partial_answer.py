"""Accumulates the events of a stream into an answer.

If a stream is interrupted, the part that arrived becomes a message of its own.
"""

from __future__ import annotations

from typing import assert_never

from branchline.context.providers.received import INCOMPLETE, parse_arguments
from branchline.entries import AssistantMessage, Block, Text, Thinking, ToolCall, Usage
from branchline.models.protocol import Done, Model, ModelEvent, TextDelta, ThinkingDelta, ToolCallDelta

__all__ = ["INCOMPLETE", "PartialAnswer"]


class PartialAnswer:
    """The accumulated events of one stream."""

    def __init__(self) -> None:
        self._blocks: dict[int, _PartialBlock] = {}
        self._complete: AssistantMessage | None = None

    def take(self, event: ModelEvent) -> None:
        match event:
            case TextDelta() | ThinkingDelta():
                kind: type[Text | Thinking] = Text if isinstance(event, TextDelta) else Thinking
                self._partial(event.block, kind).parts.append(event.text)
            case ToolCallDelta():
                piece = self._partial(event.block, ToolCall)
                piece.id += event.id
                piece.name += event.name
                piece.parts.append(event.arguments)
            case Done():
                self._complete = event.message
            case _:
                assert_never(event)

    @property
    def message(self) -> AssistantMessage | None:
        """The complete answer; None until it has arrived."""
        return self._complete

    @property
    def is_empty(self) -> bool:
        """Whether no visible output has arrived."""
        return self._complete is None and not self.blocks()

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks received so far."""
        found = (piece.block() for _number, piece in sorted(self._blocks.items()))
        return tuple(block for block in found if block is not None)

    def interrupted(self, model: Model, *, stop_reason: str, error_message: str | None) -> AssistantMessage:
        """Return the blocks received so far as a message with the reason for the interruption."""
        return AssistantMessage(
            content=self.blocks(),
            api=getattr(model, "api", None),
            provider=model.provider,
            model=model.id,
            usage=Usage(),
            stop_reason=stop_reason,
            error_message=error_message,
        )

    def _partial(self, number: int, kind: type[Text | Thinking | ToolCall]) -> _PartialBlock:
        piece = self._blocks.get(number)
        if piece is None:
            piece = self._blocks[number] = _PartialBlock(kind)
        return piece


class _PartialBlock:
    def __init__(self, kind: type[Text | Thinking | ToolCall]) -> None:
        self.kind = kind
        self.parts: list[str] = []
        self.id = ""
        self.name = ""

    def block(self) -> Block | None:
        text = "".join(self.parts)
        if self.kind is Text:
            return Text(text=text) if text else None
        if self.kind is Thinking:
            return Thinking(thinking=text) if text else None
        return ToolCall(id=self.id, name=self.name, arguments=parse_arguments(text)) if self.name else None
