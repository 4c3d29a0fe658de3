"""A context: the messages that a model would see, the model, and its thinking level."""

from __future__ import annotations

from typing import Any

import msgspec

from branchline.entries import Message

__all__ = ["Context", "ContextMessage", "ModelRef"]


class ModelRef(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A model by provider and the provider's name for it."""

    provider: str
    id: str

    @property
    def name(self) -> str:
        """``provider/model``, or only the model if the provider is unknown."""
        return f"{self.provider}/{self.id}" if self.provider else self.id


class ContextMessage(msgspec.Struct, frozen=True, gc=False):
    """A message and the entry it comes from. Positional, because a long session makes tens of thousands."""

    entry: str
    message: Message

    @property
    def role(self) -> str:
        """The role of the message: ``user``, ``assistant``, ``toolResult`` …"""
        return self.message.role


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The context that a path gives a model.

    ``measured_from`` is the index of the first message that is younger than the last compaction and the last
    edit: token counts of older answers no longer apply. ``mode``, ``mode_data`` and
    ``injected_rules`` are what oh-my-pi records along the path: its mode (``none`` outside any) and the rules
    that it has shown to the model.
    """

    messages: list[ContextMessage]
    model: ModelRef | None = None
    thinking_level: str = "off"
    mode: str = "none"
    mode_data: Any = None
    injected_rules: tuple[str, ...] = ()
    measured_from: int = 0
