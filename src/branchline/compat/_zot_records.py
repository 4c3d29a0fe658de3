"""The records of zot's ``core`` package."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["SessionMeta", "SessionSummary", "TreeNode"]


@dataclass(frozen=True, slots=True)
class SessionMeta:
    """The meta row of a session; only forks have ``parent`` and ``fork_point``."""

    id: str
    cwd: str = ""
    model: str = ""
    provider: str = ""
    started: str = ""
    version: str = ""
    parent: str = ""
    fork_point: int = 0


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in a list."""

    path: str
    started: str
    model: str
    provider: str
    message_count: int
    first_user_text: str
    total_cost: float


@dataclass(slots=True)
class TreeNode:
    """A session and its forks."""

    meta: SessionMeta
    path: str
    children: list[TreeNode] = field(default_factory=list)
