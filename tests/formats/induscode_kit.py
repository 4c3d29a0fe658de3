"""What the tests of induscode's format share: transcripts of bytes, and induscode's own rules in a few lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from branchline import Session
from branchline.context import build_context, to_model
from branchline.entries import Leaf
from branchline.formats import EntryLog
from branchline.formats.induscode import INDUSCODE
from support import CORPUS

SAMPLES = CORPUS / "induscode"
EXPECTED = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
SCHEMA = "indus/transcript@1"
_LETTERS = {"user": "u", "assistant": "a", "toolResult": "t"}


def sample(name: str) -> Path:
    """A sample by a part of its name."""
    (found,) = [path for path in SAMPLES.rglob("*.ndjson") if name in path.name]
    return found


def read(data: bytes | Path, name: str = "s_mwhiju6j_fy49o976.ndjson") -> EntryLog:
    content = data.read_bytes() if isinstance(data, Path) else data
    return EntryLog(INDUSCODE, lambda offset, size: content[offset : offset + size], name)


def node(key: str, prev: str | None, role: str = "user", text: str = "x", **more: Any) -> bytes:
    """One entry line."""
    message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}]}
    if role == "assistant":
        message |= {"api": "a", "provider": "p", "model": "m", "usage": {"input": 1}, "stopReason": "stop"}
    message["timestamp"] = 1_794_700_000_000
    return line(
        kind="entry", id=key, prev=prev, role=role, message=message, at="2026-11-15T07:28:48.544Z", **more
    )


def head(leaf: Any) -> bytes:
    return line(kind="head", sessionId="s_mwhiju6j_fy49o976", leaf=leaf)


def line(**fields: Any) -> bytes:
    return (
        json.dumps({"schema": SCHEMA, **fields}, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    )


def move(session: Session, target: str | None) -> None:
    """Go somewhere else in the session."""
    session._writer.append(lambda: [Leaf(id="0" * 16, parent=target, timestamp="", target=target)])
    session.refresh()


def context_letters(found: EntryLog) -> str:
    """One letter for each message that goes to a model."""
    messages = to_model(build_context(found, found.reading.leaf))
    return "".join(_LETTERS[str(message.__struct_config__.tag)] for message in messages)


def as_induscode(data: bytes) -> dict[str, Any]:
    """Leaf and path by the rules of induscode itself."""
    nodes: dict[str, Any] = {}
    named: list[Any] = []
    for text in data.decode().split("\n"):
        try:
            found = json.loads(text)
        except ValueError:
            continue
        if found["kind"] == "head":
            named = [found["leaf"]] if "leaf" in found else []
        else:
            nodes[found["id"]] = found["prev"]
    leaf = named[0] if named else max(nodes, key=lambda key: (len(_path(nodes, key)), key), default=None)
    return {"leaf": leaf, "path": _path(nodes, leaf)}


def _path(nodes: dict[str, Any], leaf: Any) -> list[str]:
    path: list[str] = []
    while leaf in nodes and leaf not in path:
        path.append(leaf)
        leaf = nodes[leaf]
    return path[::-1]
