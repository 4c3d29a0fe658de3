"""Stores as Mistral Vibe writes them, with any messages."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

__all__ = ["ID", "MESSAGES", "META", "text", "write_session"]

ID = "7b1de000-5555-4a6b-9c3d-000000000005"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _stored(role: str, *content: dict[str, Any], source: str = "history", turn: int = 0, **more: Any) -> Any:
    return {"message": {"role": role, "content": list(content), **more}, "source": source, "turn_index": turn}


def _call(id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:  # noqa: A002
    given = {"type": "json", "raw": json.dumps(arguments), "value": arguments}
    return {"type": "tool_call", "id": id, "name": name, "arguments": given}


MESSAGES = [
    _stored("user", text("Count the lines of a.txt."), {"type": "image", "data": "aGk=", "mimeType": "image/png"}),
    _stored(
        "assistant",
        {"type": "reasoning", "content": [{"type": "text", "text": "Count"}, {"type": "summary", "text": "them."}]},
        text("I look."),
        _call("call1", "bash", {"command": "wc -l a.txt"}),
        _call("call2", "read", {"path": "b.txt"}),
    ),
    _stored("tool", text("3 a.txt"), tool_call_id="call1", name="bash", outcome="success"),
    _stored("tool", text("no such file"), tool_call_id="call2", name="read", outcome="failure"),
    _stored("assistant", text("It has three lines.")),
    _stored("user", text("The file changed."), source="injection", turn=1),
    _stored("user", text("A limerick, please."), turn=1),
    _stored(
        "assistant",
        {"type": "tool_call", "id": "call3", "name": "bash", "arguments": {"type": "invalid_json", "raw": "{", "error": "end"}},
        turn=1,
    ),
    _stored("tool", tool_call_id="call3", name="bash", outcome="failure", turn=1),
    _stored("assistant", text("A limerick."), {"type": "resource_link", "uri": "file:///a", "name": "a"}, turn=1),
]  # fmt: skip

META: dict[str, Any] = {
    "session_id": ID,
    "parent_session_id": None,
    "start_time": "2026-03-04T05:00:00.125000+00:00",
    "end_time": "2026-03-04T05:09:00.250000+00:00",
    "git_commit": None,
    "git_branch": "main",
    "environment": {"working_directory": "/home/dev/acme"},
    "username": "dev",
    "title": "Counting",
    "title_source": "auto",
    "config": {"active_model": "devstral", "model_name": "devstral-latest"},
}
_USAGE = {"inputTokens": 900, "outputTokens": 60, "totalTokens": 960, "cachedInputTokens": 300}


def write_session(
    folder: Path,
    messages: list[Any] = MESSAGES,
    *,
    meta: dict[str, Any] | None = META,
    minor: int = 10,
    size: int = 4,
    pooled: bool = True,
    generation: int = 7,
    identity: dict[str, Any] | None = None,
) -> Path:
    """Write a generation, with so many messages to a chunk; return the file that names it."""
    name = f"{generation:016}"
    place = folder / "generations" / name
    place.mkdir(parents=True)
    chunks = None
    if pooled:
        chunks = [_chunk(folder, messages[start : start + size]) for start in range(0, len(messages), size)]
    envelope = {
        "checkpoint_version": 1,
        "context": {"messages": [] if pooled else messages},
        "notifications": [],
    }
    session = {"id": folder.name, "title": "From the projection", "titleSource": "auto", "tokenUsage": _USAGE}
    records = {
        "checkpoint": ("checkpoint.json", envelope, chunks),
        "runtime_state": (
            "runtime-state.json",
            {"identity": identity or {"kind": "root", "session_id": folder.name, "parent_session_id": None}},
            None,
        ),
        "projection_state": ("projection-state.json", {"snapshot": {"session": session, "history": {"entries": []}}}, []),
    }  # fmt: skip
    manifest: dict[str, Any] = {"manifest_version": 1, "session_id": folder.name, "generation": name}
    for key, (file, value, named) in records.items():
        manifest[key] = {"path": file, "sha256": _write(place / file, value), "chunks": named}
    digest = _write(place / "manifest.json", manifest)
    if meta is not None:
        (folder / "meta.json").write_text(json.dumps({**meta, "session_id": folder.name}, indent=2))
    current = folder / "CURRENT"
    pointer = {
        "store_format": "mistral.vibe.unified-session-store/v1",
        "store_format_minor": minor,
        "session_id": folder.name,
        "generation": name,
        "snapshot_sequence": generation,
        "manifest_sha256": digest,
    }
    _write(current, pointer)
    return current


def _chunk(folder: Path, messages: list[Any]) -> str:
    (folder / "chunks").mkdir(exist_ok=True)
    digest = hashlib.sha256(_encoded(messages)).hexdigest()
    _write(folder / "chunks" / f"{digest}.json", messages)
    return digest


def _write(path: Path, value: Any) -> str:
    data = _encoded(value)
    path.write_bytes(data + b"\n")
    return hashlib.sha256(data).hexdigest()


def _encoded(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
