"""Where programs of the family differ in what a path says to a model; the defaults are pi's rules."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from branchline.context.context import ContextMessage

__all__ = ["ContextRules"]


class ContextRules(msgspec.Struct, frozen=True, kw_only=True):
    """What to do differently.

    ``boundaries`` are types of entries behind which the context begins anew, unless a compaction follows
    them. ``chosen_model_stays`` keeps the model that was chosen last whatever answered since, and
    ``session_has_model`` takes the one that the file names for the whole session, or none.
    ``keeps_system_messages`` leaves them in the range that a compaction keeps. ``silent`` are types of
    entries that are for people and say nothing to a model. ``finish`` may leave out or change messages, in
    their order, after everything else.
    """

    boundaries: frozenset[str] = frozenset()
    explicit_model_wins: bool = False
    session_has_model: bool = False
    keeps_system_messages: bool = False
    excluded_types: frozenset[str] = frozenset()
    finish: Callable[[list[ContextMessage]], list[ContextMessage]] | None = None
