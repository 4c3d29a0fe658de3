"""How agents differ in what they send to a model for the same path; the defaults are pi's rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from branchline.context.context import ContextMessage
from branchline.entries import Compaction, Message
from branchline.tree import EntrySource

__all__ = ["ContextRules", "ModeAndRules"]


class ModeAndRules(msgspec.Struct, frozen=True):
    """The mode of a path, its data, and the rules that the model was shown on this path."""

    mode: str = "none"
    mode_data: Any = None
    injected_rules: tuple[str, ...] = ()


class ContextRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one agent's contexts."""

    boundaries: frozenset[str] = frozenset()
    """Entry types after which the context starts over, unless a compaction follows them."""
    explicit_model_wins: bool = False
    """Whether the last model change counts, even if another model has answered since."""
    session_has_model: bool = False
    """Whether only the file as a whole names a model."""
    keeps_system_messages: bool = False
    """Whether system messages stay in the range that a compaction keeps."""
    excluded_types: frozenset[str] = frozenset()
    """Entry types that are shown to the user but not sent to the model."""
    finish: Callable[[list[ContextMessage]], list[ContextMessage]] | None = None
    """Filters or changes the messages, in their order, after everything else."""
    opening: Callable[[EntrySource, Compaction], tuple[Message, ...]] | None = None
    """The messages that replace a compaction, in the order in which the agent sends them."""
    mode_and_rules: Callable[[EntrySource, list[int]], ModeAndRules] | None = None
    """Reads mode and injected rules from a path, where the agent records them."""
