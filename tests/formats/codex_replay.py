"""Codex's replay, written a second time: what the model saw, from the rows of all rollouts of a thread.

The manifests tell it, and the contexts that branchline builds must agree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from branchline.entries import json_codec
from branchline.formats import EntryLog
from branchline.formats.codex.log_index import CodexLogIndex
from branchline.formats.codex.replay import NO_SUMMARY, keep_prompts, rollback_position
from branchline.formats.codex.rows import TURN, item_class, item_text, row_from


class Rollout(NamedTuple):
    """A file and its relevant part: everything, or the bytes before ``end``."""

    transcript: EntryLog[CodexLogIndex]
    end: int | None = None


def rollouts_of(
    transcript: EntryLog[CodexLogIndex], find: Callable[[str], EntryLog[CodexLogIndex] | None]
) -> list[Rollout]:
    """The files that make up a thread, oldest first; ``find`` returns the file whose name ends with an id."""
    rollouts = [Rollout(transcript)]
    reading = transcript.reading
    seen = {reading.rollout}
    while (base := reading.base) is not None:
        assert base.rollout not in seen, f"the rollout {base.rollout} refers to itself"
        seen.add(base.rollout)
        found = find(base.rollout)
        assert found is not None, f"the rollout {base.rollout} is missing"
        reading = found.reading
        assert reading.meta.get("history_mode") == "paginated"
        rollouts.append(Rollout(found, base.end_offset))
    return rollouts[::-1]


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
