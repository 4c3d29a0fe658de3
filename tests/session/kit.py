"""Helpers for the session tests: short messages, views of a session, and reopened files."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import msgspec

from branchline import Session
from branchline.clock import FixedClock
from branchline.entries import message_fields

CWD = "/home/u/proj"
START = 1_800_000_000_000  # later than every time in the samples
USAGE: dict[str, Any] = {
    "input": 100,
    "output": 20,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 120,
    "cost": {"input": 0.01, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.01},
}


def clock(seed: int = 0, start: int = START) -> FixedClock:
    return FixedClock(start, seed=seed)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant(text: str, cost: float = 0.01) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": {**USAGE, "cost": {**USAGE["cost"], "total": cost}},
        "stopReason": "stop",
    }


def new(directory: Path, **options: Any) -> Session:
    """A new session in a directory of its own or of others."""
    return Session.create(CWD, directory=directory, clock=options.pop("clock", None) or clock(), **options)


def talked(directory: Path, turns: int = 2, **options: Any) -> Session:
    """A session of some questions and answers."""
    session = new(directory, **options)
    for turn in range(1, turns + 1):
        session.append_message(user(f"question {turn}"))
        session.append_message(assistant(f"answer {turn}"))
    return session


def path_of(session: Session) -> Path:
    assert session.file is not None
    return Path(session.file)


def bytes_of(session: Session) -> bytes:
    """The bytes of a session where they lie now, drafts included."""
    log = session._writer.log
    return b"" if log is None else log.read(0, log.size())


def lines_of(data: bytes | Path) -> list[bytes]:
    """The lines of a file without their newlines."""
    content = data.read_bytes() if isinstance(data, Path) else data
    return [line for line in content.split(b"\n") if line]


def records_of(data: bytes | Path) -> list[Any]:
    return [json.loads(line) for line in lines_of(data)]


def reopened(session: Session) -> Session:
    """The same session, read again from where it lies by somebody who knows nothing of it."""
    log = session._writer.log
    assert log is not None
    return Session.in_memory(data=log.read(0, log.size()))


def said(session: Session, leaf: str | None = None) -> list[Any]:
    """What a model would see, as plain data."""
    return [message_fields(item.message) for item in session.context(leaf).messages]


def words(session: Session) -> list[str]:
    """The texts of the messages that a model would see."""
    found = []
    for message in said(session):
        content = message.get("content", message.get("summary", ""))
        found.append(content if isinstance(content, str) else "".join(b.get("text", "") for b in content))
    return found


def facts(session: Session) -> dict[str, Any]:
    """Everything that a session says about its tree, as plain data that can be compared."""
    context = session.context()
    tree = session.index
    return {
        "header": msgspec.to_builtins(session.header),
        "leaf": session.leaf,
        "path": session.path(),
        "labels": session.labels,
        "title": session.title,
        "keys": list(tree.keys),
        "parents": list(tree.parents),
        "types": list(tree.types),
        "roles": list(tree.roles),
        "times": list(tree.times),
        "children": {key: (tree.children(key), session.children(key)) for key in tree.keys},
        "roots": [node.id for node in session.tree()],
        "context": [(item.entry, message_fields(item.message)) for item in context.messages],
        "model": context.model,
        "thinking": context.thinking_level,
        "entries": session.entries(),
        "raw": [session.raw(key) for key in tree.keys],
        "findings": [
            (finding.kind, finding.line, finding.offset, finding.size) for finding in session.findings
        ],
        "read_only": session.read_only,
        "inherited": session.inherited_entries,
    }


def require_same_after_reopening(session: Session) -> None:
    """Memory says what the file says."""
    assert facts(session) == facts(reopened(session))


def snapshot(directory: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Every file and directory below: mode, inode, time of change, bytes."""
    found = {}
    for path in sorted([directory, *directory.rglob("*")]):
        status = os.lstat(path)
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path.relative_to(directory))] = (status.st_mode, status.st_ino, status.st_mtime_ns, content)
    return found
