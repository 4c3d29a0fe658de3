"""Watches an open session for changes made by other writers.

A poll costs one system call if nothing has changed.
"""

from __future__ import annotations

from typing import NamedTuple

from branchline.errors import BranchlineError, LogReplaced, LogShrank
from branchline.session import Session
from branchline.stores import address_in, stored_at

__all__ = ["SessionUpdate", "SessionWatcher"]


class SessionUpdate(NamedTuple):
    """The result of a poll: new entries, a message, or a reloaded session."""

    entries: int = 0
    words: str | None = None
    session: Session | None = None


class SessionWatcher:
    """Polls a session; each message is returned once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._said: str | None = None

    def poll(self) -> SessionUpdate:
        """Return what happened since the last poll. Never raises."""
        path = self.session.file
        try:
            if path is not None and not self.session.is_draft and stored_at(path) is None:
                return self._once(f"{path} was deleted; showing the last known contents")
            entries = self.session.refresh_log()
        except (LogShrank, LogReplaced) as problem:
            return self._reopened(path, str(problem))
        except (BranchlineError, OSError, ValueError) as problem:
            return self._once(f"cannot reload it: {problem}")
        self._said = None
        return SessionUpdate(entries=entries)

    def _reopened(self, path: str | None, reason: str) -> SessionUpdate:
        if path is not None:
            try:
                fresh = Session.open(path)
            except (BranchlineError, OSError, ValueError) as problem:
                return self._once(f"the file was truncated or replaced: {problem}")
            self.session.close()
            self.session = fresh
            # Rows of a database change while an answer is written: that is how it grows.
            words = None if address_in(path) is not None else "the file was truncated or replaced; reloaded"
            return SessionUpdate(words=words, session=fresh)
        return self._once(reason)

    def _once(self, words: str) -> SessionUpdate:
        if words == self._said:
            return SessionUpdate()
        self._said = words
        return SessionUpdate(words=words)
