"""The services that a chat needs: other sessions, entries by name, models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from branchline.library import SessionRow
from branchline.models import Model, ProviderStatus
from branchline.session import Session
from branchline.settings import Settings
from branchline.views.forest import ForestRow
from branchline.views.hits import Hits

__all__ = ["Services"]


class Services(Protocol):
    """Access to sessions, models and settings."""

    @property
    def cwd(self) -> str:
        """The working directory of new sessions."""
        ...

    @property
    def settings(self) -> Settings:
        """The user's settings."""
        ...

    def sessions(self, *, everywhere: bool = False) -> Sequence[SessionRow]:
        """List the sessions of this or every working directory, newest first, drafts included."""
        ...

    def forest(self) -> Sequence[ForestRow]:
        """Return the sessions of this working directory as a forest of forks."""
        ...

    def open(self, name: str, /) -> Session:
        """Open a session by file, id, id prefix, title or ``@last``."""
        ...

    def entry(self, session: Session, name: str, /) -> str:
        """Return the id of an entry by id, id prefix, label, ``@leaf`` or ``~2``."""
        ...

    def directory(self, session: Session, /) -> str:
        """Return the directory of a session, or the one of this chat if that no longer exists."""
        ...

    def model(self, name: str, /) -> Model:
        """Return the model with this name. Raises ModelError if it is unavailable."""
        ...

    def search(self, words: str, /) -> Hits:
        """Search the entries of all sessions, best match first."""
        ...

    def providers(self) -> Sequence[ProviderStatus]:
        """Return the model providers, and what is missing for those that cannot be used yet."""
        ...
