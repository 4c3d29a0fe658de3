"""Relations between rollouts: prefixes in other files, copies of a parent, names.

Nothing here opens a file; the caller passes a function that finds one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from branchline.entries import json_codec
from branchline.formats.codex.log_index import CodexLogIndex, base_of
from branchline.formats.codex.reader import NAME, REVERT_BEGINS, REVERT_ENDS
from branchline.formats.codex.replay import NO_SUMMARY, keep_prompts, rollback_position
from branchline.formats.codex.rows import TURN, item_class, item_text, row_from
from branchline.formats.entry_log import EntryLog
from branchline.formats.protocol import Content

__all__ = [
    "Name",
    "Rollout",
    "RolloutChain",
    "assemble_rollout",
    "copied_entries",
    "model_history",
    "resolve_chain",
    "rollout_name",
]

_PIECE = 1 << 20
_LONGEST_FIRST = 1 << 26


class Rollout(NamedTuple):
    """A file and its relevant part: everything, or the bytes before ``end``."""

    transcript: EntryLog[CodexLogIndex]
    end: int | None = None


class RolloutChain(NamedTuple):
    """The files that make up a thread, oldest first, and what could not be found."""

    rollouts: list[Rollout]
    problems: list[str]


class Name(NamedTuple):
    """The parts of a rollout's file name."""

    time: str
    thread: str
    rollout: str


def rollout_name(path: str) -> Name | None:
    """Parse local time, thread and rollout from a file name; of one thread the greatest name is current."""
    found = NAME.search(path)
    return None if found is None else Name(found[1], found[2], found[3] or found[2])


def resolve_chain(
    transcript: EntryLog[CodexLogIndex], find: Callable[[str], EntryLog[CodexLogIndex] | None]
) -> RolloutChain:
    """Follow the prefixes of a paginated rollout; ``find`` returns the file whose name ends with an id."""
    rollouts = [Rollout(transcript)]
    problems: list[str] = []
    reading = transcript.reading
    seen = {reading.rollout}
    while (base := reading.base) is not None:
        if base.rollout in seen:
            problems.append(f"the rollout {base.rollout} refers to itself")
            break
        seen.add(base.rollout)
        found = find(base.rollout)
        if found is None:
            problems.append(f"the rollout {base.rollout}, with which this one begins, is missing")
            break
        reading = found.reading
        if reading.meta.get("history_mode") != "paginated":
            problems.append(
                f"the rollout {base.rollout} has the older format and cannot be the beginning of this one"
            )
            break
        rollouts.append(Rollout(found, base.end_offset))
    return RolloutChain(rollouts[::-1], problems)


def assemble_rollout(
    content: Content, rollout: str, find: Callable[[str], Content | None]
) -> Iterator[bytes] | None:
    """Yield the lines of a paginated rollout as a full copy would contain them.

    First come the ``session_meta`` records of this rollout and of all its prefixes, then their other lines,
    oldest first. A prefix that is missing, legacy or refers to itself ends the chain. Turns that a revert
    within the same thread cut off are enclosed in two marker lines. None if the rollout has no usable prefix
    elsewhere.
    """
    heads: list[bytes] = []
    parts: list[_Part] = []
    seen, found, end, thread = {rollout}, content, content.size(), None
    while True:
        head = _first_line(found, end)
        meta = _meta_of(head)
        base = base_of(meta)
        if heads and meta.get("history_mode") != "paginated":
            break
        heads.append(head + b"\n")
        thread = meta.get("id") if thread is None else thread
        reverted = bool(parts) and meta.get("id") == thread
        parts.append(_Part(found, min(len(head) + 1, end), end, found.size() if reverted else end))
        if base is None or base.rollout in seen or (other := find(base.rollout)) is None:
            break
        seen.add(base.rollout)
        found, end = other, min(base.end_offset, other.size())
    return None if len(heads) == 1 else _joined(heads, parts)


class _Part(NamedTuple):
    """What follows the first line of a rollout: the relevant part, and what was reverted."""

    content: Content
    start: int
    end: int
    reverted_end: int


def _joined(heads: list[bytes], parts: list[_Part]) -> Iterator[bytes]:
    yield from heads
    for number, part in enumerate(reversed(parts), 1):
        own = number == len(parts)
        yield from _lines_between(part.content, part.start, part.end, terminate=not own)
        if part.end < part.reverted_end:
            yield REVERT_BEGINS
            yield from _lines_between(part.content, part.end, part.reverted_end, terminate=True)
            yield REVERT_ENDS


def _lines_between(content: Content, start: int, end: int, *, terminate: bool) -> Iterator[bytes]:
    piece, offset = b"", start
    while data := content.read(offset, min(_PIECE, end - offset)):
        yield data
        piece = data
        offset += len(data)
    if terminate and not piece.endswith(b"\n"):
        yield b"\n"


def _first_line(content: Content, end: int) -> bytes:
    """Return the first line without its newline; empty if it is longer than any real one."""
    size = _PIECE
    while True:
        data = content.read(0, min(size, end))
        line, newline, _ = data.partition(b"\n")
        if newline or len(data) < size:
            return line
        if size >= _LONGEST_FIRST:
            return b""
        size *= 4


def model_history(rollouts: Sequence[Rollout]) -> list[dict[str, Any]]:
    """Return the model's history: the items of all lines, with compactions and rollbacks applied."""
    history: list[dict[str, Any]] = []
    for fields in _lines(rollouts):
        row = row_from(fields)
        payload = fields.get("payload", fields)
        if row.payload is None:
            continue
        if row.type == "response_item":
            if row.payload.type != "ghost_snapshot":
                history.append(payload)
        elif row.type == "inter_agent_communication":
            history.append({**payload, "type": "agent_message"})
        elif row.type == "compacted":
            replacement = payload.get("replacement_history")
            if isinstance(replacement, list):
                history = [item if isinstance(item, dict) else {} for item in replacement]
            else:
                history = [*map(_user, _kept(history)), _user(row.payload.message or NO_SUMMARY)]
        elif row.type == "event_msg" and row.payload.type == "thread_rolled_back":
            classes = [_class(item) for item in history]
            turns = [place for place, kind in enumerate(classes) if kind == TURN]
            cut = rollback_position(turns, classes, max(row.payload.num_turns or 0, 0))
            if cut is not None:
                del history[cut:]
    return history


def copied_entries(child: CodexLogIndex, parent: CodexLogIndex) -> int:
    """Return how many entries of a fork were copied: up to the first turn that its parent does not have."""
    if child.forked_from is None or child.base is not None:
        return 0
    known = parent.turn_contexts
    own = (position for position, turn in child.turns if turn not in known)
    return next(own, child.copied)


def _meta_of(line: bytes) -> dict[str, Any]:
    payload = (json_codec.loads_object(line) or {}).get("payload")
    return payload if isinstance(payload, dict) else {}


def _lines(rollouts: Sequence[Rollout]) -> Iterator[dict[str, Any]]:
    for transcript, end in rollouts:
        reading = transcript.reading
        last = -1
        for position in range(len(reading.tree)):
            span = reading.span(position)
            if end is not None and span.offset >= end:
                break
            if span.offset != last:  # entries that share a line
                last = span.offset
                yield json_codec.loads(transcript.raw(position))


def _kept(history: list[dict[str, Any]]) -> list[str]:
    items = [row_from({"type": "response_item", "payload": item}).payload for item in history]
    return keep_prompts(
        [
            text
            for item in items
            if item is not None
            and item.type != "agent_message"
            and item_class(item, text := item_text(item)) == TURN
        ]
    )


def _class(item: dict[str, Any]) -> int:
    read = row_from({"type": "response_item", "payload": item}).payload
    return 0 if read is None else item_class(read, item_text(read))


def _user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
