"""Rollouts of Codex for tests: the samples, and lines made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline.formats import EntryLog
from branchline.formats.codex import CODEX
from branchline.formats.codex.packed import unpack
from branchline.formats.codex.rollouts import rollout_name
from support import CORPUS, SHARED, load

SAMPLES = CORPUS / "codex"
OTHERS = SHARED / "codex"
EXPECTED: dict[str, Any] = load(SAMPLES / "expected.json")
ALL: dict[str, Any] = load(OTHERS / "expected.json") if OTHERS.exists() else {}
THIRD_PARTY = sorted(set(ALL) - set(EXPECTED))
THREAD = "019f1000-0000-7000-8000-000000000001"
NAME = f"rollout-2026-09-02T01-00-00-{THREAD}.jsonl"


def unpacked(data: bytes) -> bytes:
    return b"".join(unpack(lambda offset, size: data[offset : offset + size]))


def read(data: bytes | Path, name: str = NAME) -> EntryLog:
    content = data.read_bytes() if isinstance(data, Path) else data
    path = str(data) if isinstance(data, Path) else name
    if path.endswith(".zst"):
        pytest.importorskip("zstandard", reason="the package zstandard is not installed")
        content = unpacked(content)
    return EntryLog(CODEX, lambda offset, size: content[offset : offset + size], path)


def finder(root: Path) -> Callable[[str], EntryLog | None]:
    """A function that finds the rollout with an id below a directory."""

    def find(rollout: str) -> EntryLog | None:
        for path in sorted(root.rglob("rollout-*.jsonl")):
            name = rollout_name(str(path))
            if name is not None and name.rollout == rollout:
                return read(path)
        return None

    return find


def line(kind: str, payload: Any, second: int = 1) -> bytes:
    fields = {"timestamp": f"2026-09-02T01:00:{second:02}.000Z", "type": kind, "payload": payload}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def meta(**more: Any) -> bytes:
    about = {"id": THREAD, "timestamp": "2026-09-02T01:00:00.000Z", "cwd": "/p", "originator": "t"}
    return line(
        "session_meta",
        {**about, "cli_version": "0.147.0", "source": "cli", "model_provider": "openai", **more},
        0,
    )


def item(role: str, text: str, second: int = 1) -> bytes:
    kind = "output_text" if role == "assistant" else "input_text"
    return line(
        "response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}, second
    )


def event(kind: str, second: int = 1, **more: Any) -> bytes:
    return line("event_msg", {"type": kind, **more}, second)


def turn(text: str, answer: str | None = None, second: int = 1) -> bytes:
    """A prompt and its answer, as legacy files have them."""
    made = event("task_started", second, turn_id=text) + item("user", text, second)
    made += event("user_message", second, message=text)
    return made + (b"" if answer is None else item("assistant", answer, second))
