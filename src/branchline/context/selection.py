"""Selection of the entries of a path that a model sees: all, or those kept by the last compaction.

Types and roles are read from the columns of the tree; the only payloads decoded here are the compaction
and the entries that name the model and the thinking level.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import msgspec

from branchline.context.context import ModelRef
from branchline.context.source import ContextSource
from branchline.entries import (
    SIDE_TYPES,
    AssistantMessage,
    Compaction,
    Entry,
    MessageEntry,
    ModelChange,
    ThinkingLevelChange,
)
from branchline.tree import EntrySource, Tree

__all__ = [
    "Selection",
    "ancestor_with_id",
    "model_in",
    "model_of",
    "model_of_answer",
    "select",
    "selected_entries",
    "thinking_level_of",
]

_BARRIERS = frozenset({"compaction", "context_edit"})
"""Types after which the usage of older answers no longer measures the context."""


class Selection(msgspec.Struct, frozen=True):
    """The part of a path that shapes the context.

    ``path`` is the whole chain, side records included, ``kinds`` has the type of each entry on it and
    ``types`` each of these once. ``positions`` are the selected entries without the compaction, which comes
    first; the first ``measured`` of them are older than the last compaction or edit.
    """

    path: list[int]
    kinds: list[str]
    types: set[str]
    compaction: Compaction | None
    positions: list[int]
    measured: int


def select(source: ContextSource, leaf: int, *, hidden: Container[str] = SIDE_TYPES) -> Selection:
    """Select the entries that shape the context at this leaf, without the hidden types."""
    tree = source.tree
    path = tree.path_positions(leaf)
    kinds = list(map(tree.types.__getitem__, path))
    types = set(kinds)
    rules = source.context_rules
    shaped = rules.boundaries | _BARRIERS
    if types.isdisjoint(shaped):  # no compaction or boundary: the whole path counts
        return Selection(path, kinds, types, None, _visible(tree, path, hidden, types), 0)
    found = _last_compaction(source, path, kinds)
    barrier = max(_last(kinds, kind) for kind in _BARRIERS)
    start = max((_last(kinds, kind) for kind in rules.boundaries), default=-1) + 1
    if start > (0 if found is None else found[0]):
        positions = _visible(tree, path[start:], hidden, types)
        return Selection(path, kinds, types, None, positions, _count(kinds[start : barrier + 1], hidden))
    if found is None:
        positions = _visible(tree, path, hidden, types)
        return Selection(path, kinds, types, None, positions, _count(kinds[: barrier + 1], hidden))
    index, compaction = found
    kept = _visible(tree, _kept(source, path, index, compaction), hidden, types)
    since = _visible(tree, path[index + 1 :], hidden, types)
    measured = len(kept) + _count(kinds[index + 1 : barrier + 1], hidden)
    return Selection(path, kinds, types, compaction, kept + since, measured)


def selected_entries(source: ContextSource, leaf: int) -> list[str]:
    """Return the ids of the entries that shape the context at this position, in message order.

    Includes entries without a message; a compaction comes first, side records are left out.
    """
    chosen = select(source, leaf)
    found = [source.tree.keys[position] for position in chosen.positions]
    return found if chosen.compaction is None else [chosen.compaction.id, *found]


def model_of(source: ContextSource, path: list[int]) -> ModelRef | None:
    """Return the current model: the last one chosen or the last one that answered, whichever is later.

    A model named for the whole session takes precedence; its answers name the provider.
    """
    tree, rules = source.tree, source.context_rules
    named: str | None = source.session_model
    if named is None and rules.session_has_model:
        return None
    types, roles = tree.types, tree.roles
    asked_an_answer = False
    if rules.explicit_model_wins:
        changes = [position for position in path if types[position] == "model_change"]
        path = path if not changes else [*path, *changes]
    for position in reversed(path):
        kind = types[position]
        if kind == "model_change":
            entry = source.entry(position)
            if isinstance(entry, ModelChange):
                return ModelRef(provider=entry.provider, id=entry.model_id)
        # Only the latest answer is decoded: in files whose answers name no model, a search would decode
        # the whole path.
        elif kind == "message" and roles[position] == "assistant" and not asked_an_answer:
            asked_an_answer = True
            model = source.answer_model(position)
            if model is not None and named in (None, model.id):
                return model
    return None if named is None else ModelRef(provider="", id=named)


def model_of_answer(source: EntrySource, position: int) -> ModelRef | None:
    """Return the model recorded in an answer."""
    return model_in(source.entry(position))


def model_in(entry: Entry) -> ModelRef | None:
    """Return the model that an entry records as its author."""
    message = entry.message if isinstance(entry, MessageEntry) else None
    if not isinstance(message, AssistantMessage) or not message.model:
        return None
    return ModelRef(provider=message.provider or "", id=message.model)


def thinking_level_of(source: ContextSource, selection: Selection) -> str:
    """Return the current thinking level; ``off`` by default."""
    index = _last(selection.kinds, "thinking_level_change")
    while index >= 0:
        entry = source.entry(selection.path[index])
        if isinstance(entry, ThinkingLevelChange):
            return entry.thinking_level
        index = _last(selection.kinds[:index], "thinking_level_change")
    return "off"


def ancestor_with_id(tree: Tree, entry_id: str, path: list[int], index: int) -> int:
    """Return the index on the path, before this one, of the entry with this id; -1 if there is none.

    If the id is used more than once, the nearest entry counts, as with parents.
    """
    best = -1
    for position in _holders(tree, entry_id):
        try:
            best = max(best, path.index(position, 0, index))
        except ValueError:
            continue
    return best


def _holders(tree: Tree, entry_id: str) -> Iterator[int]:
    key, count = entry_id, 1
    while (position := tree.positions.get(key)) is not None:
        yield position
        count += 1
        key = f"{entry_id}#{count}"


def _last_compaction(source: EntrySource, path: list[int], kinds: list[str]) -> tuple[int, Compaction] | None:
    index = _last(kinds, "compaction")
    while index >= 0:
        entry = source.entry(path[index])
        if isinstance(entry, Compaction):
            return index, entry
        index = _last(kinds[:index], "compaction")
    return None


def _kept(source: ContextSource, path: list[int], index: int, compaction: Compaction) -> list[int]:
    """Return the entries that the compaction at this index kept. Its system message replaces theirs."""
    tree = source.tree
    if compaction.first_kept is None or compaction.retained_tail is not None:
        return []
    start = ancestor_with_id(tree, compaction.first_kept, path, index)
    if start < 0:
        return []
    if source.context_rules.keeps_system_messages:
        return path[start:index]
    types, roles = tree.types, tree.roles
    return [
        position
        for position in path[start:index]
        if not (roles[position] == "system" and types[position] == "message")
    ]


def _visible(tree: Tree, path: list[int], hidden: Container[str], occurring: set[str]) -> list[int]:
    if not any(kind in hidden for kind in occurring):
        return path
    types = tree.types
    return [position for position in path if types[position] not in hidden]


def _count(kinds: list[str], hidden: Container[str]) -> int:
    return sum(kind not in hidden for kind in kinds)


def _last(kinds: list[str], kind: str) -> int:
    try:
        return len(kinds) - 1 - kinds[::-1].index(kind)
    except ValueError:
        return -1
