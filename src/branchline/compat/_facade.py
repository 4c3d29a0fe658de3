"""Base classes of the facades: a wrapped session, and the methods that session managers share."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

from branchline.entries import Message
from branchline.session import Session

__all__ = ["ManagerFacade", "SessionFacade"]

_Path = str | os.PathLike[str]


class SessionFacade:
    """Another system's interface to the live session ``session``."""

    def __init__(self, live: Session) -> None:
        self.session = live

    def close(self) -> None:
        self.session.close()


class ManagerFacade(SessionFacade):
    """The part of ``SessionManager`` that oh-my-pi and Operator have in common."""

    _format: ClassVar[str]

    @classmethod
    def create(cls, cwd: _Path, session_dir: _Path | None = None) -> Self:
        """Create a session. Its file appears with the first assistant message."""
        return cls(Session.create(cwd, directory=session_dir, format=cls._format))

    @classmethod
    def open(cls, path: _Path) -> Self:
        """Open a session file."""
        return cls(Session.open(path))

    @classmethod
    def continue_recent(cls, cwd: _Path, session_dir: _Path | None = None) -> Self:
        """Open the most recently changed session of a project, or create one."""
        return cls(Session.continue_recent(cwd, directory=session_dir, format=cls._format, by="file"))

    @classmethod
    def in_memory(cls, cwd: _Path | None = None) -> Self:
        """Create a session without a file."""
        return cls(Session.in_memory(cwd or None, format=cls._format))

    def append_message(self, message: Message | dict[str, Any] | str) -> str:
        return self.session.append_message(message)
