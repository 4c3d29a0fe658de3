"""The plan of a conversion: which entries are written, and in which order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from branchline.context import ContextMessage, milliseconds
from branchline.context.builder import apply_edit, entry_messages, opening_messages
from branchline.entries import (
    SIDE_TYPES,
    AssistantMessage,
    Compaction,
    ContextEdit,
    Cost,
    Message,
    MessageEntry,
    SystemMessage,
    UnknownMessage,
    Usage,
    UsageEntry,
    UserMessage,
    amount,
)
from branchline.formats.entry_log import EntryLog
from branchline.formats.protocol import Format, FormatReader
from branchline.tree import ROOT, Tree

__all__ = [
    "NOT_ACTIVE",
    "UNREADABLE",
    "WITHHELD",
    "ConversionPlan",
    "Skip",
    "kept_messages",
    "make_plan",
    "parents_first",
    "summary_follows",
]


class Skip(NamedTuple):
    """An entry that is not written. Without a reason, something else in the new file says the same."""

    position: int
    changed: str = ""
    """How the new file has it instead."""
    lost: str = ""


class ConversionPlan(NamedTuple):
    """The entries to write, parents before children.

    ``linear`` means that each is a child of the previous one, whatever its parent in the source. ``edits``
    and ``spent`` are set if the target has no entries for them.
    """

    order: Sequence[int]
    leaf: int
    linear: bool
    edits: dict[int, ContextEdit]
    spent: dict[int, Usage]
    """Usage by the position of the answer, recorded elsewhere in the source."""
    folded: frozenset[int]
    """The usage entries in ``spent``."""
    pieces: dict[int, int]
    """Answers in several parts: for each part but the first, the one it continues."""
    fresh: frozenset[int]
    """Entries after which the context starts empty."""
    sent: dict[int, Message | None]
    """What the source's agent sends to a model in place of a message on the path; None if nothing."""
    omitted: Sequence[Skip]
    """The entries that are not in ``order``."""


def make_plan(
    source: EntryLog,
    target: Format,
    leaf: int | None,
    *,
    as_in_file: bool,
    adds_title: bool,
) -> ConversionPlan:
    """Plan a path, or (``leaf`` None) the whole tree.

    ``as_in_file`` keeps the order of the file even if an entry precedes its parent. ``adds_title`` if the
    title is added at the end where no entry on the path gives it.
    """
    tree, unsupported = source.tree, target.traits.unsupported
    leaf_position = tree.nearest_conversation_entry(source.reading.leaf) if leaf is None else leaf
    whole = leaf is None and "branch" not in unsupported
    omitted: list[Skip] = []
    order: Sequence[int] = _with_side_records(tree, leaf_position)
    if whole and target.traits.active_branch_last:
        order, left = branch_by_branch(tree, leaf_position, rolled_back=target.traits.rolls_back_turns)
        omitted += _left_out(tree, left, NOT_ACTIVE)
    elif whole:
        order = range(len(tree)) if as_in_file else parents_first(tree)
    elif leaf is None:
        title = _place_of_title(source) if adds_title and "session_info" not in unsupported else -1
        omitted += _off_the_path(source, order, title, unsupported["branch"])
    if withheld := source.reading.withheld:
        omitted += (Skip(position, lost=WITHHELD) for position in sorted(withheld.intersection(order)))
        order = [position for position in order if position not in withheld]
    fresh = _fresh_starts(source, order)
    if not whole:
        if "branch" in unsupported or target.traits.rolls_back_turns:  # the file has one root
            order = _from_the_last_start(order, fresh, omitted)
        if "compaction" in unsupported or "summary" in unsupported:
            order = _from_the_summary(source, target, list(order), omitted)
        if not target.traits.native_entries:
            order = _results_together(tree, order)
    edits = _edits(source, order, leaf_position) if "context_edit" in unsupported else {}
    spent: dict[int, Usage] = {}
    folded: set[int] = set()
    if "usage" in unsupported:
        _fold_usage(source, order, spent, folded)
    pieces = _pieces(source, order)
    sent = {} if target.traits.appendable else _sent(source, leaf_position, edits)
    return ConversionPlan(
        order, leaf_position, not whole, edits, spent, frozenset(folded), pieces, fresh, sent, omitted
    )


UNREADABLE = "its line cannot be read"
WITHHELD = "a copy of a request, which never leaves its file"
NOT_ACTIVE = "not on the active path, and the format keeps only branches that begin with a prompt"
_BEHIND = SIDE_TYPES - {"leaf"}
_BARRIERS = frozenset({"compaction", "branch_summary", "context_cleared"})
_SETTINGS = SIDE_TYPES | {"model_change", "thinking_level_change"}


def _left_out(tree: Tree, positions: Iterable[int], why: str) -> Iterator[Skip]:
    """Yield entries that are lost for this reason, or because nobody can read them."""
    for position in positions:
        yield Skip(position, lost=UNREADABLE if position in tree.placeholders else why)


def _off_the_path(source: EntryLog, path: Sequence[int], title: int, why: str) -> Iterator[Skip]:
    """Yield everything that is not on the path. The title is written again after it."""
    on_path = set(path)
    for position in range(len(source.tree)):
        if position == title and position not in on_path:
            yield Skip(position, "at the end of the path, without its time")
        elif position not in on_path:
            yield from _left_out(source.tree, (position,), f"not on the active path, and {why}")


def _from_the_last_start(order: Sequence[int], fresh: Container[int], omitted: list[Skip]) -> Sequence[int]:
    """Return a path from the last entry on that empties the context, for a file with one root."""
    starts = [number for number, position in enumerate(order) if position in fresh]
    if not starts:
        return order
    why = "the conversation was restarted after it, which the format cannot express"
    omitted += (Skip(position, lost=why) for position in order[: starts[-1]])
    return order[starts[-1] :]


def _place_of_title(source: EntryLog) -> int:
    """Return the record that gives the session its title; -1 if there is none."""
    if not source.title:
        return -1
    types = source.tree.types
    return max((place for place, kind in enumerate(types) if kind == "session_info"), default=-1)


def _with_side_records(tree: Tree, leaf: int) -> list[int]:
    """Return a path with the side records directly after its end: a title, or usage."""
    chain = tree.path_positions(leaf)
    below = tree.root_positions() if leaf == ROOT else tree.child_positions(leaf)
    while len(below) == 1 and tree.types[below[0]] in _BEHIND:
        chain += below
        below = tree.child_positions(below[0])
    return chain


def parents_first(tree: Tree) -> Sequence[int]:
    """Return all positions in file order, except that an entry that precedes its parent comes after it."""
    if all(parent < position for position, parent in enumerate(tree.parents)):
        return range(len(tree))
    order: list[int] = []
    done: set[int] = {ROOT}
    waiting: dict[int, list[int]] = {}
    for position, parent in enumerate(tree.parents):
        if parent not in done:
            waiting.setdefault(parent, []).append(position)
            continue
        ready = [position]
        while ready:
            here = ready.pop()
            order.append(here)
            done.add(here)
            ready += reversed(waiting.pop(here, []))
    return order


def branch_by_branch(tree: Tree, leaf: int, *, rolled_back: bool) -> tuple[list[int], list[int]]:
    """Return all positions with each branch contiguous and the active one last; and the omitted ones.

    With ``rolled_back``, a branch is kept only if it begins with a prompt and contains no compaction, because
    only such branches can be rolled back: Codex 0.166.0 has one live path in a file, and its row
    ``thread_rolled_back {num_turns}`` takes back whole turns, each from its prompt on.

        q1 ─ a1 ─┬─ q2 ─ a2           q1 a1 q2 a2 (1 turn rolled back) q3 a3
                 └─ q3 ─ a3 (leaf)
    """
    active = set(tree.path_positions(leaf))
    children: dict[int, list[int]] = {}
    for position, parent in enumerate(tree.parents):
        children.setdefault(parent, []).append(position)
    left = set(_not_rolled_back(tree, children, leaf)) if rolled_back else set()
    order: list[int] = []
    waiting = [ROOT]
    while waiting:
        here = waiting.pop()
        if here != ROOT:
            order.append(here)
        below = [child for child in children.get(here, ()) if child not in left]
        waiting += sorted(below, key=lambda child: (_rank(tree, child, active), child), reverse=True)
    return order, sorted(left)


def _rank(tree: Tree, position: int, active: Container[int]) -> int:
    """Return the sort key of a branch among its siblings: textless ones first, the active one last."""
    if position in active:
        return 2
    return 0 if tree.types[position] in SIDE_TYPES else 1


def _not_rolled_back(tree: Tree, children: dict[int, list[int]], leaf: int) -> list[int]:
    """Return everything on branches that cannot be written as rolled-back turns."""
    active = set(tree.path_positions(leaf))
    left: list[int] = []
    waiting: list[tuple[int, bool]] = [(ROOT, True)]
    compacted = _compacted_below(tree, children)
    while waiting:
        here, kept = waiting.pop()
        if here != ROOT and not kept:
            left.append(here)
        below = children.get(here, ())
        for child in below:
            stays = kept and (
                child in active
                or (tree.types[child] in SIDE_TYPES and child not in children)
                or (
                    not compacted[child]
                    and (_begins_turn(tree, child, children) or (len(below) == 1 and here != leaf))
                )
            )
            waiting.append((child, stays))
    return left


def _begins_turn(tree: Tree, position: int, children: dict[int, list[int]]) -> bool:
    """Return whether the first message of a branch is a prompt."""
    while tree.types[position] in _SETTINGS and len(below := children.get(position, [])) == 1:
        position = below[0]
    return tree.types[position] == "message" and tree.roles[position] == "user"


def _compacted_below(tree: Tree, children: dict[int, list[int]]) -> list[bool]:
    """Return for each entry whether it or a descendant is a compaction."""
    found = [kind == "compaction" for kind in tree.types]
    order = list(children.get(ROOT, ()))
    for here in order:  # the list grows while it is walked
        order += children.get(here, ())
    for here in reversed(order):
        parent = tree.parents[here]
        if parent != ROOT and found[here]:
            found[parent] = True
    return found


def _fresh_starts(source: EntryLog, order: Sequence[int]) -> frozenset[int]:
    """Return the entries that hide everything before them from the model, without a compaction."""
    tree, boundaries = source.tree, source.context_rules.boundaries
    if not boundaries:
        return frozenset()
    marks = {position for position in order if tree.types[position] in boundaries}
    for position in order:
        if tree.types[position] == "compaction":
            marks.discard(tree.nearest_conversation_entry(tree.parents[position]))
    return frozenset(marks)


def _from_the_summary(source: EntryLog, target: Format, order: list[int], omitted: list[Skip]) -> list[int]:
    """Return a path from its last compaction on: the summary first, then what it keeps, then the rest.

    The path itself, if the target has a compaction for it.
    """
    tree = source.tree
    places = [number for number, position in enumerate(order) if tree.types[position] == "compaction"]
    if not places:
        return order
    last = places[-1]
    entry = source.entry(order[last])
    if not isinstance(entry, Compaction):
        return order
    has_summary = bool(entry.summary) and not summary_follows(source, entry)
    if has_summary and "compaction" not in target.traits.unsupported:
        return order
    first = tree.positions.get(entry.first_kept or "", ROOT)
    start = order.index(first) if entry.retained_tail is None and first in order[:last] else last
    why = "replaced by a summary; the format has no other compaction"
    omitted += (Skip(position, lost=why) for position in order[:start])
    omitted += (Skip(order[place], lost="replaced by a newer summary") for place in places[:-1])
    kept = [position for position in order[start:last] if tree.types[position] != "compaction"]
    return [order[last], *kept, *order[last + 1 :]]


def summary_follows(source: EntryLog, entry: Compaction) -> bool:
    """Return whether the source's agent sends a summary after the messages that the compaction keeps."""
    if not entry.summary or not entry.retained_tail:
        return False
    last = opening_messages(source, entry)[-1]
    return isinstance(last, UserMessage) and last not in entry.retained_tail


def _results_together(tree: Tree, order: Sequence[int]) -> list[int]:
    """Return a path in which the results of an answer follow each other; records between them come last.

    Agents record hooks and progress between the results of parallel calls: Claude Code 2.1 writes
    ``attachment`` rows there, and ``progress`` rows until 2.1.85. A model accepts nothing there.

        answer(a, b) ─ result a ─ hook ─ result b ─ prompt
        answer(a, b) ─ result a ─ result b ─ hook ─ prompt
    """
    found: list[int] = []
    waiting: list[int] = []
    for position in order:
        role = tree.roles[position]
        if role == "toolResult":
            found.append(position)
        elif role is None and tree.types[position] not in _BARRIERS and (waiting or _is_result(tree, found)):
            waiting.append(position)
        else:
            found += waiting
            found.append(position)
            waiting = []
    return found + waiting


def _is_result(tree: Tree, order: Sequence[int]) -> bool:
    return bool(order) and tree.roles[order[-1]] == "toolResult"


def _edits(source: EntryLog, order: Sequence[int], leaf: int) -> dict[int, ContextEdit]:
    """Return the effective edit of each edited entry; the active branch takes precedence."""
    tree = source.tree
    places = [position for position in order if tree.types[position] == "context_edit"]
    if not places:
        return {}
    active = set(tree.path_positions(leaf))
    places.sort(key=lambda position: (position in active, position))
    found: dict[int, ContextEdit] = {}
    for edit in map(source.entry, places):
        target = tree.positions.get(edit.target, ROOT) if isinstance(edit, ContextEdit) else ROOT
        if target == ROOT or tree.types[target] == "compaction":
            continue  # without a compaction, everything before it would reappear
        assert isinstance(edit, ContextEdit)
        if target not in active or tree.positions[edit.id] in active:
            found[target] = edit
    return found


def _fold_usage(source: EntryLog, order: Sequence[int], spent: dict[int, Usage], folded: set[int]) -> None:
    """Assign usage to the answer directly before it, or else to the one after it."""
    tree = source.tree
    waiting: dict[int, list[int]] = {}  # by the conversation entry that they follow
    for position in order:
        if tree.types[position] == "usage":
            above = tree.nearest_conversation_entry(tree.parents[position])
            if above != ROOT and tree.roles[above] == "assistant":
                _spend(source, position, above, spent, folded)
            else:
                waiting.setdefault(above, []).append(position)
        elif waiting and tree.roles[position] == "assistant":
            for usage in waiting.pop(tree.nearest_conversation_entry(tree.parents[position]), ()):
                _spend(source, usage, position, spent, folded)


def _spend(source: EntryLog, position: int, answer: int, spent: dict[int, Usage], folded: set[int]) -> None:
    entry = source.entry(position)
    if isinstance(entry, UsageEntry):
        folded.add(position)
        if entry.usage is not None:
            spent[answer] = added(spent[answer], entry.usage) if answer in spent else entry.usage


def _sent(source: EntryLog, leaf: int, edits: Mapping[int, ContextEdit]) -> dict[int, Message | None]:
    """Return the messages on the path that the source's agent changes or leaves out when it sends them."""
    finish = source.context_rules.finish
    if finish is None or _splits_answers(source):
        return {}
    tree = source.tree
    path = [position for position in tree.path_positions(leaf) if tree.roles[position] is not None]
    spoken = {
        position: message
        for position, entry in zip(path, source.entries(path), strict=True)
        for message in apply_edit(entry_messages(entry), edits.get(position))
        if not isinstance(message, SystemMessage)
    }
    messages = [ContextMessage(tree.keys[position], message) for position, message in spoken.items()]
    finished = {item.entry: item.message for item in finish(messages)}
    found: dict[int, Message | None] = {}
    for position, message in spoken.items():
        sent = finished.get(tree.keys[position])
        if sent is None or (isinstance(message, AssistantMessage) and sent != message):
            found[position] = sent
    return found


def _splits_answers(source: EntryLog) -> bool:
    """Return whether the source's agent writes one answer as several entries, which its context joins."""
    return type(source.format.reader).merge_answers is not FormatReader.merge_answers


def _pieces(source: EntryLog, order: Sequence[int]) -> dict[int, int]:
    """Return which answers continue which, in a format that writes one answer as several entries."""
    if not _splits_answers(source):
        return {}
    tree = source.tree
    children: dict[int, list[int]] = {}
    for position in order:
        if tree.types[position] not in SIDE_TYPES and position not in tree.placeholders:
            children.setdefault(tree.nearest_conversation_entry(tree.parents[position]), []).append(position)
    found: dict[int, int] = {}
    for above, below in children.items():
        if above == ROOT or tree.roles[above] != "assistant" or len(below) > 1:
            continue
        if tree.roles[below[0]] == "assistant" and _belong_together(source, above, below[0]):
            found[below[0]] = above
    return found


def _belong_together(source: EntryLog, one: int, other: int) -> bool:
    first, second = source.entry(one), source.entry(other)
    if not isinstance(first, MessageEntry) or not isinstance(second, MessageEntry):
        return False
    before, after = first.message, second.message
    if not isinstance(before, AssistantMessage) or not isinstance(after, AssistantMessage):
        return False
    return source.format.reader.merge_answers(before, after) is not None


def added(one: Usage, other: Usage) -> Usage:
    """Add two usages."""
    names = ("input", "output", "cache_read", "cache_write")

    def sums(first: Usage | Cost, second: Usage | Cost, *names: str) -> dict[str, Any]:
        return {name: amount(getattr(first, name)) + amount(getattr(second, name)) for name in names}

    return Usage(
        **sums(one, other, *names),
        total_tokens=one.context_tokens + other.context_tokens,
        cost=Cost(**sums(one.cost, other.cost, *names, "total")),
    )


def kept_messages(
    source: EntryLog, position: int, entry: Compaction, edits: Mapping[int, ContextEdit]
) -> tuple[Message, ...]:
    """Return the messages that a compaction keeps, with these edits."""
    tree = source.tree
    if entry.first_kept is None or entry.first_kept == entry.id:
        return ()
    first = tree.positions.get(entry.first_kept, ROOT)
    chain: list[int] = []
    above = tree.parents[position]
    while above not in (ROOT, first):
        chain.append(above)
        above = tree.parents[above]
    if above == ROOT:
        return ()
    chain.append(above)
    found: list[Message] = []
    chain.reverse()
    for place, kept in zip(chain, source.entries(chain), strict=True):
        edited = apply_edit(entry_messages(kept), edits.get(place))
        found += [_timed(message, kept.timestamp) for message in edited]
    return tuple(message for message in found if not isinstance(message, SystemMessage))


def _timed(message: Message, written: str) -> Message:
    """Return the message with its own time, or that of its entry."""
    if isinstance(message, UnknownMessage) or message.timestamp is not None:
        return message
    return msgspec.structs.replace(message, timestamp=milliseconds(written))
