"""Where programs of the family differ in what a path says to a model; the defaults are pi's rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from branchline.context.context import ContextMessage
from branchline.entries import Compaction, Message
from branchline.tree import EntrySource

__all__ = ["ContextRules", "ModeAndRules"]


class ModeAndRules(NamedTuple):
    """The mode that a path is in, what belongs to it, and the rules that were shown to the model on it."""

    mode: str = "none"
    mode_data: Any = None
    injected_rules: tuple[str, ...] = ()


class ContextRules(msgspec.Struct, frozen=True, kw_only=True):
    """What to do differently.

    ``boundaries`` are types of entries behind which the context begins anew, unless a compaction follows
    them. ``chosen_model_stays`` keeps the model that was chosen last whatever answered since, and
    ``session_has_model`` takes the one that the file names for the whole session, or none.
    ``keeps_system_messages`` leaves them in the range that a compaction keeps. ``silent`` are types of
    entries that are shown to the user only. ``finish`` may leave out or change messages, in
    their order, after everything else. ``opening`` gives what a compaction says to a model, with the kept
    messages that it holds itself, in the order in which the program sends it. ``mode_and_rules`` tells what a
    path says about mode and injected rules, where a program records that.
    """

    boundaries: frozenset[str] = frozenset()
    explicit_model_wins: bool = False
    session_has_model: bool = False
    keeps_system_messages: bool = False
    excluded_types: frozenset[str] = frozenset()
    finish: Callable[[list[ContextMessage]], list[ContextMessage]] | None = None
    opening: Callable[[Compaction], tuple[Message, ...]] | None = None
    mode_and_rules: Callable[[EntrySource, list[int]], ModeAndRules] | None = None
