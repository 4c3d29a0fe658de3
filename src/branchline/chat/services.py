"""What a chat asks of the program around it: other sessions, entries by name, models."""

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
    """The world of one chat."""

    @property
    def cwd(self) -> str:
        """The working directory of new sessions."""
        ...

    @property
    def settings(self) -> Settings:
        """What the person has set: what double Escape opens, which entries a tree shows first."""
        ...

    def sessions(self, *, everywhere: bool = False) -> Sequence[SessionRow]:
        """The sessions of this working directory, or of all, newest first; with those without a reply yet."""
        ...

    def forest(self) -> Sequence[ForestRow]:
        """The sessions of this working directory, each below the one that it was forked from."""
        ...

    def open(self, name: str, /) -> Session:
        """The session that a person means: a file, an id, the beginning of one, a title, ``@last``."""
        ...

    def entry(self, session: Session, name: str, /) -> str:
        """The id of the entry that a person means: an id, its beginning, a label, ``@leaf``, ``~2``."""
        ...

    def directory(self, session: Session, /) -> str:
        """Where commands of a session run: its own directory, or the one of this chat where that is gone."""
        ...

    def model(self, name: str, /) -> Model:
        """The model with this name. A ModelError when it cannot be had."""
        ...

    def search(self, words: str, /) -> Hits:
        """The entries of all sessions that hold some words, best first."""
        ...

    def providers(self) -> Sequence[ProviderStatus]:
        """The providers of models: which can be used now, and what the others still need."""
        ...
