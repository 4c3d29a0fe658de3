"""The input of a context: a tree, its entries, and the rules of the agent that wrote them."""

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
        """The context rules of the agent that wrote the session."""
        ...

    @property
    def session_model(self) -> str | None:
        """The model that the file records for the whole session, if any."""
        ...

    def answer_model(self, position: int) -> ModelRef | None:
        """Return the model of an answer, if possible without decoding the answer."""
        ...
