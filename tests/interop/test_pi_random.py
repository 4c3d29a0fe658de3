"""Trees that nobody thought of: pi and we read the same out of files put together at random."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.context.tokens import estimate_message
from branchline.entries import SIDE_TYPES, message_fields
from interop.peers import Peer
from interop.scenarios import assistant

DRIVER = Path(__file__).with_name("pi_views.mjs")
HEADER = {"type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/tmp"}
TOLD = (
    "role", "content", "summary", "toolCallId", "toolName", "customType", "display", "command", "output", "isError",
    "timestamp", "fromId", "tokensBefore",
)  # fmt: skip
USAGE = assistant("")["usage"]


def payloads(chance: random.Random, ids: list[str]) -> dict[str, Any]:
    """What one entry says; where it names another one, that may be itself, missing, or on another branch."""
    words = chance.choice(["look", "ünï \u2028 ✓", "w " * chance.randint(0, 400), ""])
    other = chance.choice([*ids, "nowhere"])
    call = {
        "type": "toolCall",
        "id": f"call_{chance.randint(0, 3)}",
        "name": "read",
        "arguments": {"path": words[:9]},
    }
    result = {
        "role": "toolResult",
        "toolCallId": call["id"],
        "toolName": "read",
        "isError": chance.random() < 0.2,
    }
    text = [{"type": "text", "text": words}]
    image = [*text, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]
    talk = [
        {"role": "user", "content": chance.choice([words, text, image]), "timestamp": 1767225600000},
        assistant(words, timestamp=1767225600001, stopReason=chance.choice(["stop", "error", "aborted", "length"])),
        assistant("", content=[call], stopReason="toolUse", timestamp=1767225600002),
        {**result, "content": text, "timestamp": 1767225600003},
        {"role": "bashExecution", "command": "ls", "output": words, "exitCode": chance.choice([0, 1]), "cancelled": False,
         "truncated": False, "timestamp": 1767225600004, "excludeFromContext": chance.random() < 0.3},
    ]  # fmt: skip
    others = [
        {"type": "compaction", "summary": words, "firstKeptEntryId": other, "tokensBefore": 5},
        {"type": "branch_summary", "fromId": other, "summary": words},
        {"type": "label", "targetId": other, "label": chance.choice(["here", "there", None, ""])},
        {"type": "session_info", "name": chance.choice(["A name", "", "  spaced  "])},
        {"type": "model_change", "provider": "p", "modelId": chance.choice(["m", "n"])},
        {"type": "thinking_level_change", "thinkingLevel": chance.choice(["off", "high"])},
        {"type": "context_edit", "targetId": other, "replacement": chance.choice([{"content": text}, None])},
        {"type": "usage", "kind": "compaction", "usage": USAGE},
        {"type": "custom", "customType": "x", "data": {"a": 1}},
        {"type": "custom_message", "customType": "x", "content": words, "display": chance.random() < 0.5},
    ]
    if chance.random() < 0.6:
        return {"type": "message", "message": chance.choice(talk)}
    return chance.choice(others)


def session_file(chance: random.Random) -> str:
    lines, ids = [HEADER], list[str]()
    for number in range(chance.randint(1, 40)):
        key, where = f"e{number:03}", chance.random()
        parent = ids[-1] if ids and where < 0.75 else chance.choice(ids) if ids and where < 0.95 else None
        parent = "nowhere" if where > 0.98 else parent
        second = (
            f"{number + chance.choice([0, 0, 5]):02}"  # neighbours may have the same time, or go backwards
        )
        time = f"2026-01-01T00:00:{second}.000Z"
        lines.append({**payloads(chance, [*ids, key]), "id": key, "parentId": parent, "timestamp": time})
        ids.append(key)
    return "".join(json.dumps(line, ensure_ascii=chance.random() < 0.5) + "\n" for line in lines)


def as_pi_sees_it(seen: dict[str, Any]) -> dict[str, Any]:
    return {
        "entries": seen["ids"],
        "path": [key for key, kind in seen["branch"] if kind not in SIDE_TYPES],
        "roots": sorted(seen["roots"]),
        "context": [[message.get(name) for name in TOLD] for message in seen["messages"]],
        "tokens": seen["tokens"],
        "model": seen["model"] and [seen["model"]["provider"], seen["model"]["modelId"]],
        "thinking": seen["thinkingLevel"],
        "labels": seen["labels"],
        "title": seen["name"],
    }


def as_we_see_it(path: Path) -> dict[str, Any]:
    with Session.open(path) as session:
        context, tree = session.context(), session.index
        messages = [message_fields(item.message) for item in context.messages]
        return {
            "entries": list(tree),
            "path": session.path(),
            "roots": sorted(key for key, parent in zip(tree.keys, tree.parents, strict=True) if parent < 0),
            "context": json.loads(json.dumps([[message.get(name) for name in TOLD] for message in messages])),
            "tokens": [estimate_message(item.message) for item in context.messages],
            "model": context.model and [context.model.provider, context.model.id],
            "thinking": context.thinking_level,
            "labels": session.labels,
            "title": session.title,
        }


def agree(peer: Peer, directory: Path, seeds: range) -> None:
    paths = [directory / f"{seed}.jsonl" for seed in seeds]
    for seed, path in zip(seeds, paths, strict=True):
        path.write_text(session_file(random.Random(seed)), encoding="utf-8")

    seen = peer.run(DRIVER, text=json.dumps([str(path) for path in paths]))

    for path, one in zip(paths, seen, strict=True):
        assert as_pi_sees_it(one) == as_we_see_it(path), path.name


def test_pi_and_we_see_the_same_in_random_trees(newest_pi: Peer, tmp_path: Path):
    agree(newest_pi, tmp_path, range(150))


@pytest.mark.slow
def test_pi_and_we_see_the_same_in_thousands_of_random_trees(newest_pi: Peer, tmp_path: Path):
    first = int.from_bytes(os.urandom(4))

    for start in range(first, first + 3000, 150):
        agree(newest_pi, tmp_path, range(start, start + 150))
