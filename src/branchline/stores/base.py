"""What a store is: logs by key, with drafts that no listing shows and a trash that gives back.

A key is a bare name, never a path. Anything that keeps these promises can hold sessions; the suite in
:mod:`branchline.stores.conformance` checks them.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Protocol

from branchline.errors import InvalidId
from branchline.log import Durability, Log

__all__ = ["Hidden", "Scan", "Store", "Stored", "Trashed", "check_key", "newest_first"]


class Stored(NamedTuple):
    """One log as the store sees it, without opening it."""

    key: str
    size: int
    modified: float
    """Unix seconds."""
    path: str | None = None
    """Where the file lies; None where there are no files."""


class Hidden(NamedTuple):
    """Something that looks like a session and is not listed, and why."""

    name: str
    reason: str


class Scan(NamedTuple):
    """What lies in a store: the logs newest first, and what was seen but is not a log."""

    found: list[Stored]
    hidden: list[Hidden]


class Trashed(NamedTuple):
    """A log in the trash; ``token`` brings it back."""

    token: str
    key: str
    size: int
    removed: float


class Store(Protocol):
    """Keyed logs."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    def scan(self) -> Scan:
        """Everything there is, without opening any log. Nothing there is an empty scan, not an error."""
        ...

    def stat(self, key: str) -> Stored | None: ...

    def open(self, key: str, *, durability: Durability = "fsync") -> Log:
        """The log of this key. SessionNotFound when there is none."""
        ...

    def create(self, key: str, data: bytes, *, draft: bool = False, durability: Durability = "fsync") -> Log:
        """A new log that holds these lines. FileExistsError when the key is taken."""
        ...

    def publish(self, key: str, *, durability: Durability = "fsync") -> Log:
        """Turn a draft into a log that is listed. FileExistsError when the key is taken."""
        ...

    def drafts(self) -> list[Stored]:
        """Drafts, newest first: sessions whose first reply never came."""
        ...

    def drop_draft(self, key: str) -> bool:
        """Forget a draft; False when there is none."""
        ...

    def rename(self, key: str, new_key: str) -> Stored:
        """Give a log another key. SessionNotFound without a source, FileExistsError for a taken target."""
        ...

    def remove(self, key: str) -> Trashed | None:
        """Move a log to the trash; None when there is none."""
        ...

    def trashed(self) -> list[Trashed]:
        """What lies in the trash, newest first."""
        ...

    def restore(self, token: str) -> Stored:
        """Bring a log back. SessionNotFound for an unknown token, FileExistsError when its key is taken."""
        ...


_KEY = re.compile(r"[^/\\\x00-\x1f\x7f]{1,200}")


def check_key(key: str) -> str:
    """The key itself, if it may be a file name: bare, visible, no path."""
    if not _KEY.fullmatch(key) or key.startswith(".") or key != key.strip():
        raise InvalidId(f"{key!r} cannot name a session: an id is a bare name, never a path")
    return key


def newest_first(item: Any) -> tuple[float, str]:
    """Sort key: latest change first, ties by key."""
    return (-item.modified, item.key)
