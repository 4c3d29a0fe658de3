"""Copy a part of a conversation onto another branch or session, or replace it by a summary.

Entries are copied, never moved: the originals keep their ids and their order. The copies get new ids, and no
usage, because they cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from branchline.actions.operations import OPERATION_RECORD
from branchline.compaction import (
    BranchCollection,
    SummaryRequest,
    branch_budget,
    branch_request,
    prepare_branch_summary,
)
from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    CustomMessage,
    Entry,
    Message,
    MessageEntry,
    ModelChange,
    ThinkingLevelChange,
    ToolResult,
    UserMessage,
    tool_calls,
)
from branchline.errors import InvalidArgument
from branchline.session import NewEntry, Session
from branchline.tree import ROOT

__all__ = ["GraftResult", "graft", "squash", "squash_request"]

_CARRIED = (MessageEntry, CustomMessage, ModelChange, ThinkingLevelChange)


class GraftResult(msgspec.Struct, frozen=True, kw_only=True):
    """The entries that were written, and those that could not be copied."""

    leaf: str
    entries: tuple[str, ...]
    """The new entries, in order."""
    left_out: tuple[str, ...] = ()
    """For each kind of entry that was not copied, how many and why."""


def graft(
    session: Session,
    first: str,
    last: str | None = None,
    *,
    source: Session | None = None,
    onto: str | None = None,
) -> GraftResult:
    """Copy the entries from ``first`` to ``last`` after ``onto`` (default: the leaf), and move there.

    They are entries of ``source`` (default: this session). Without ``last`` they are one turn: a prompt and
    everything up to the next prompt. Raises ValueError, and writes nothing, for a range that is not part of
    one path, that separates a tool call from its result, or that contains ``onto``.
    """
    other = session if source is None else source
    keys = _range(other, first, last)
    if onto is not None:
        session.index.position(onto)
    target = session.leaf if onto is None else onto
    if other is session and target in keys:
        raise InvalidArgument(f"cannot graft {first} onto {target}, which is a part of it")
    chosen = other.entries(keys)
    _require_whole_exchanges(chosen)
    copies, left_out = _copies(chosen)
    if not copies:
        raise InvalidArgument(f"nothing to graft in {first}: {'; '.join(left_out) or 'no messages'}")
    record = {"verb": "graft", "from": {"session": other.id, "first": keys[0], "last": keys[-1]}}

    def build(current: Session) -> list[NewEntry]:
        target = current.leaf if onto is None else onto
        moved = [] if target == current.leaf else [NewEntry.move(target)]
        written = [*moved, *copies]
        return [*written, NewEntry.custom(OPERATION_RECORD, {**record, "count": len(written)})]

    made = session.write(build)
    return _result(session, made, len(copies), left_out)


def squash(session: Session, first: str, last: str, summary: str) -> GraftResult:
    """Replace the entries from ``first`` to ``last`` by a summary, on a new branch.

    The entries after ``last`` on the active path are copied after the summary. The original path does not
    change. Raises ValueError, and writes nothing, for a range that is not on the active path, that separates
    a tool call from its result, or for an empty summary.
    """
    if not summary.strip():
        raise InvalidArgument("a summary cannot be empty")
    path = session.path()
    start, end = _squashable(session, path, first, last)
    copies, left_out = _copies(session.entries(path[end + 1 :]))
    parent = path[start - 1] if start else None

    def build(current: Session) -> list[NewEntry]:
        if current.path() != path:
            raise InvalidArgument(f"session {current.id} has changed; nothing was squashed")
        written = [
            NewEntry.move(parent),
            NewEntry(kind=BranchSummary, fields={"from_id": last, "summary": summary}),
            *copies,
        ]
        record = {"verb": "squash", "first": first, "last": last, "count": len(written)}
        return [*written, NewEntry.custom(OPERATION_RECORD, record)]

    made = session.write(build)
    return _result(session, made, 1 + len(copies), left_out)


def squash_request(
    session: Session, first: str, last: str, *, focus: str | None = None, window: int | None = None
) -> SummaryRequest:
    """Build the request for a summary of a range; ``window`` is the context window of the model in tokens.

    Raises ValueError for a range that :func:`squash` would refuse, and for one without text.
    """
    path = session.path()
    start, end = _squashable(session, path, first, last)
    part = tuple(path[start : end + 1])
    collection = BranchCollection(
        common_ancestor=None, positions=tuple(map(session.index.position, part)), entries=part
    )
    budget = 0 if window is None else branch_budget(window)
    request = branch_request(prepare_branch_summary(session.transcript, collection, budget), focus)
    if request is None:
        raise InvalidArgument(f"cannot summarize from {first} to {last}: the range has no text")
    return request


def _squashable(session: Session, path: list[str], first: str, last: str) -> tuple[int, int]:
    """Return the start and end of a range on the current path."""
    for entry in (first, last):
        session.index.position(entry)
        if entry not in path:
            raise InvalidArgument(f"cannot squash: {entry} is not on the current path")
    start, end = path.index(first), path.index(last)
    if end < start:
        raise InvalidArgument(f"cannot squash from {first} to {last}: {last} comes before {first}")
    _require_whole_exchanges(session.entries(path[start : end + 1]))
    return start, end


def _result(session: Session, made: list[str], count: int, left_out: Sequence[str]) -> GraftResult:
    assert session.leaf is not None
    return GraftResult(leaf=session.leaf, entries=tuple(made[-1 - count : -1]), left_out=tuple(left_out))


def _range(session: Session, first: str, last: str | None) -> list[str]:
    """The conversation entries between two entries of one path, both included; without ``last``, a turn."""
    session.index.position(first)
    if last is not None:
        path = session.path(last)
        if first not in path:
            raise InvalidArgument(f"{first} is not on the path to {last}; a range is a part of one path")
        return path[path.index(first) :]
    path = session.path()
    if first not in path:
        newest = session.index.newest_below(session.index.position(first))
        path = session.path(first if newest == ROOT else session.index.keys[newest])
    if first not in path:
        raise InvalidArgument(f"nothing to graft in {first}: it is not part of the conversation")
    following = path[path.index(first) :]
    for number, entry in enumerate(session.entries(following)):
        if number and isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            return following[:number]
    return following


def _require_whole_exchanges(entries: Iterable[Entry]) -> None:
    """Raise ValueError for a tool call without its result, or a result without its call."""
    open_calls: dict[str, str] = {}
    for entry in entries:
        if not isinstance(entry, MessageEntry):
            continue
        message = entry.message
        if isinstance(message, AssistantMessage):
            failed = message.stop_reason in ("error", "aborted")
            calls = tool_calls(message.content)
            open_calls.update({call.id: entry.id for call in calls if not failed})
        elif isinstance(message, ToolResult):
            if message.tool_call_id not in open_calls:
                raise InvalidArgument(
                    f"entry {entry.id} is the result of a tool call that is not in the range; "
                    "begin with the answer that made the call"
                )
            del open_calls[message.tool_call_id]
    if open_calls:
        entry_id = next(iter(open_calls.values()))
        raise InvalidArgument(
            f"entry {entry_id} calls a tool whose result is not in the range; end with the last result"
        )


def _copies(entries: Iterable[Entry]) -> tuple[list[NewEntry], list[str]]:
    copies: list[NewEntry] = []
    skipped: dict[str, int] = {}
    for entry in entries:
        if isinstance(entry, _CARRIED):
            fields = {
                name: getattr(entry, name)
                for name in entry.__struct_fields__
                if name not in ("id", "parent", "timestamp")
            }
            if isinstance(entry, MessageEntry):
                fields["message"] = _unpaid(entry.message)
            copies.append(NewEntry(kind=type(entry), fields=fields))
        else:
            skipped[entry.type] = skipped.get(entry.type, 0) + 1
    reasons = [f"{count} × {kind}: it refers to entries of its own path" for kind, count in skipped.items()]
    return copies, reasons


def _unpaid(message: Message) -> Message:
    """Return the message without its usage: a copy costs nothing."""
    if isinstance(message, AssistantMessage | ToolResult) and message.usage is not None:
        return msgspec.structs.replace(message, usage=None)
    return message
