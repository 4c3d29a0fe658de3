"""Copies lines of a rollout into another one with a new first line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from branchline.entries import json_codec
from branchline.formats.codex.log_index import CodexLogIndex
from branchline.formats.codex.reader import REVERT
from branchline.formats.codex.rows import ITEMS, PROVENANCE
from branchline.formats.entry_log import EntryLog

__all__ = ["copied_lines"]

_LEFT_OUT = frozenset({"session_meta", PROVENANCE, REVERT})


def copied_lines(transcript: EntryLog[CodexLogIndex], positions: Sequence[int]) -> Iterator[bytes]:
    """Yield the lines at these positions, each once, without page numbers.

    Rollouts with page numbers record prompts in another event, which session lists do not read, so each
    prompt gets the usual event.
    """
    reading = transcript.reading
    paginated = reading.meta.get("history_mode") == "paginated"
    before = None
    for position in sorted(positions):
        if (span := reading.span(position)) == before:
            continue
        before = span
        line = transcript.raw(position)
        fields = json_codec.loads_object(line)
        kind = None if fields is None else fields.get("type")
        if fields is None or (isinstance(kind, str) and kind in _LEFT_OUT):
            continue
        # Items without an envelope, as in the oldest files.
        if "payload" not in fields and isinstance(kind, str) and kind in ITEMS:
            time = reading.tree.times[position]
            fields = {"timestamp": time, "type": "response_item", "payload": fields}
            line = json_codec.dumps(fields)
        if "ordinal" in fields:
            line = json_codec.dumps({name: value for name, value in fields.items() if name != "ordinal"})
        if paginated and reading.tree.roles[position] == "user":
            yield json_codec.dumps(_typed(fields)) + b"\n"
        yield line + b"\n"


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the event for a prompt."""
    payload = fields.get("payload")
    content = payload.get("content") if isinstance(payload, dict) else None
    texts = (
        [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    event = {
        "type": "user_message",
        "message": "\n".join(text for text in texts if isinstance(text, str)),
        "images": [],
        "local_images": [],
        "text_elements": [],
    }
    return {"timestamp": fields.get("timestamp"), "type": "event_msg", "payload": event}
