"""What contexts are built from: a tree, its entries, and what the program says about both."""

from __future__ import annotations

from typing import Protocol

from branchline.context.context import ModelRef
from branchline.context.rules import ContextRules
from branchline.tree import EntrySource

__all__ = ["ContextSource"]


class ContextSource(EntrySource, Protocol):
    """A tree whose paths become contexts."""

    @property
    def context_rules(self) -> ContextRules:
        """The rules of the program that wrote the session."""
        ...

    @property
    def session_model(self) -> str | None:
        """The model that the file names for the whole session, if it does."""
        ...

    def answer_model(self, position: int) -> ModelRef | None:
        """The model of an answer, which the file may name without the answer being decoded."""
        ...
