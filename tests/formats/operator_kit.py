"""What the tests of Operator's format share: transcripts of bytes, and Operator's own rules in a few lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from branchline.context import build_context
from branchline.formats import EntryLog
from branchline.formats.operator import OPERATOR
from support import CORPUS

SAMPLES = CORPUS / "operator"
EXPECTED = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
HEALTHY = [record for record in EXPECTED if not record["file"].startswith("damaged/")]
HEADER = (
    b'{"type":"session","version":3,"id":"019eb0d0-4e6b-7ad7-ab51-8362b10cdb6d",'
    b'"timestamp":1781082902.433456,"cwd":"/home/dev/acme"}\n'
)
_LETTERS = {
    "user": "u",
    "assistant": "a",
    "toolResult": "t",
    "custom": "c",
    "branchSummary": "b",
    "compactionSummary": "k",
    "system": "s",
}


def sample(name: str) -> Path:
    """A sample by a part of its name."""
    (found,) = [path for path in SAMPLES.rglob("*.jsonl") if name in path.name]
    return found


def read(data: bytes | Path, name: str = "session.jsonl") -> EntryLog:
    content = data.read_bytes() if isinstance(data, Path) else data
    return EntryLog(OPERATOR, lambda offset, size: content[offset : offset + size], name)


def line_ids(found: EntryLog, positions: list[int]) -> list[str]:
    """The ids of lines: entries that share a line count once."""
    inner = found.reading.inner  # type: ignore[attr-defined]
    return [found.tree.keys[position] for position in positions if position not in inner]


def context_letters(found: EntryLog) -> str:
    """One letter for each line that says something to a model."""
    inner = {found.tree.keys[position] for position in found.reading.inner}  # type: ignore[attr-defined]
    messages = build_context(found, found.reading.leaf).messages
    return "".join(
        _LETTERS[str(item.message.__struct_config__.tag)] for item in messages if item.entry not in inner
    )


def as_operator(data: bytes) -> dict[str, Any]:
    """Leaf, path, labels and title by the rules of Operator itself, which cuts lines where Python does."""
    entries: dict[str, dict[str, Any]] = {}
    leaf, labels = None, {}
    lines = data.decode().splitlines()
    assert json.loads(lines[0])["type"] == "session"
    for line in lines[1:]:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry["type"] not in _TYPES:
            continue
        entries[entry["id"]] = entry
        leaf = entry.get("target_id") if entry["type"] == "leaf" else entry["id"]
        if entry["type"] == "label" and entry.get("label"):
            labels[entry["target_id"]] = entry["label"]
        elif entry["type"] == "label":
            labels.pop(entry["target_id"], None)
    path: list[str] = []
    step = leaf
    while step in entries and step not in path:
        path.append(step)
        step = entries[step].get("parent_id")
    path.reverse()
    names = [entries[key].get("name") or "" for key in path if entries[key]["type"] == "session_info"]
    titles = [name.strip() for name in names if name.strip()]
    return {"leaf": leaf, "path": path, "labels": labels, "title": titles[-1] if titles else None}


_TYPES = {
    "message",
    "thinking_level_change",
    "model_change",
    "compaction",
    "branch_summary",
    "label",
    "leaf",
    "session_info",
    "channel",
    "custom",
    "custom_message",
}
