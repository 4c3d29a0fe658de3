"""The context of a growing conversation: the previous one is kept, only new entries are decoded.

A turn appends a few entries; rebuilding the context for each request would cost time proportional to the
session. :class:`IncrementalContext` returns exactly what :func:`build_context` returns.
"""

from __future__ import annotations

import msgspec

from branchline.context.builder import build_context, entry_messages
from branchline.context.context import Context, ContextMessage, ModelRef
from branchline.context.rules import ContextRules
from branchline.context.source import ContextSource
from branchline.entries import (
    SIDE_TYPES,
    AssistantMessage,
    Entry,
    MessageEntry,
    ModelChange,
    ThinkingLevelChange,
)
from branchline.tree import ROOT, Tree

__all__ = ["IncrementalContext"]

_SIMPLE = frozenset({"message", "custom_message", "branch_summary", "model_change", "thinking_level_change"})
"""Types that only extend the context. A compaction or an edit rebuilds it."""


class IncrementalContext:
    """Caches the last context."""

    def __init__(self) -> None:
        self._tree: Tree | None = None
        self._leaf = ROOT
        self._context: Context | None = None

    def at(self, source: ContextSource, leaf: int, *, settled: bool = True) -> Context:
        """Return the context at this position.

        ``settled`` means that no parent in the tree can have changed since the last call. Parents change if
        lines are damaged or out of order; the context is then rebuilt.
        """
        context = self._grown(source, leaf) if settled else None
        if context is None:
            context = build_context(source, leaf)
        self._tree, self._leaf, self._context = source.tree, leaf, context
        return context

    def _grown(self, source: ContextSource, leaf: int) -> Context | None:
        """Return the last context extended by new entries; None if the path changed in another way."""
        before, tree = self._context, source.tree
        if before is None or tree is not self._tree or source.context_rules != ContextRules():
            return None
        new: list[int] = []
        position = leaf
        while position > self._leaf:  # in a settled tree parents precede their children
            kind = tree.types[position]
            if kind in _SIMPLE and position not in tree.placeholders:
                new.append(position)
            elif kind not in SIDE_TYPES:
                return None
            position = tree.parents[position]
        if position != self._leaf:
            return None
        new.reverse()
        return _with(before, source.entries(new)) if new else before


def _with(before: Context, entries: list[Entry]) -> Context | None:
    model, level = before.model, before.thinking_level
    messages = list(before.messages)
    for entry in entries:
        match entry:
            case ModelChange():
                model = ModelRef(provider=entry.provider, id=entry.model_id)
            case ThinkingLevelChange():
                level = entry.thinking_level
            case MessageEntry(message=AssistantMessage() as answer):
                if not answer.model:
                    return None  # determining the model then needs the whole path
                model = ModelRef(provider=answer.provider or "", id=answer.model)
            case _:
                pass
        messages += [ContextMessage(entry.id, message) for message in entry_messages(entry)]
    return msgspec.structs.replace(
        before,
        messages=messages,
        model=model,
        thinking_level=level,
    )
