"""The services of a chat: sessions and entries by name, models by name."""

from __future__ import annotations

from collections.abc import Sequence

from branchline.actions.index import index_behind
from branchline.actions.names import resolve_entry, resolve_path
from branchline.errors import InvalidArgument, SessionNotFound
from branchline.library import SessionLibrary, SessionRow
from branchline.models import ModelRegistry
from branchline.programs import is_usable_directory
from branchline.session import Session
from branchline.settings import Settings
from branchline.views.forest import ForestRow
from branchline.views.hits import Hits
from branchline.views.session_row import latest_first

__all__ = ["Services"]

_LISTED = 100
_FOUND = 50


class Services:
    """The services for a chat in a working directory.

    ``base_url`` and ``api_key_env`` override the settings of these names.
    """

    def __init__(
        self, cwd: str, settings: Settings, *, base_url: str | None = None, api_key_env: str | None = None
    ) -> None:
        self.cwd = cwd
        self.settings = settings
        self._behind: list[object] = []
        """Processes in the background, which outlive the chat."""
        self.models = ModelRegistry.from_settings(settings, base_url=base_url, api_key_env=api_key_env)

    def sessions(self, *, everywhere: bool = False) -> Sequence[SessionRow]:
        """List the sessions of this or every working directory, newest first.

        Our own drafts are included: chats that ended before their first reply.
        """
        found = SessionLibrary.everywhere(None if everywhere else self.cwd).list(deep=True, limit=_LISTED)
        rows = [row for row in found if row.problem is None]
        rows += [row for row in SessionLibrary.for_cwd(self.cwd).drafts() if row.problem is None]
        return sorted(rows, key=latest_first)

    def forest(self) -> Sequence[ForestRow]:
        """Return the sessions of this working directory as a forest of forks."""
        return SessionLibrary.everywhere(self.cwd).forest(deep=True)

    def open(self, name: str, /) -> Session:
        """Open a session by file, id, id prefix, title or ``@last``."""
        library = SessionLibrary.for_cwd(self.cwd)
        draft = next((row for row in library.drafts() if name in (row.path, row.key, row.id)), None)
        if draft is not None and (found := library.open(draft.key)) is not None:
            return found
        try:
            return Session.open(resolve_path(name))
        except OSError as problem:
            raise SessionNotFound(f"cannot open {name}: {problem.strerror or problem}") from None
        except InvalidArgument as problem:  # an unknown agent
            raise SessionNotFound(str(problem)) from None

    def search(self, words: str, /) -> Hits:
        """Search the entries of all sessions, best match first; the index is updated in the background."""
        hits = SessionLibrary.everywhere(None, subagents=True).search(words, limit=_FOUND)
        if hits.unindexed and not self._behind:
            self._behind.append(index_behind())
        return hits

    def entry(self, session: Session, name: str, /) -> str:
        """Return the id of an entry by id, id prefix, label, ``@leaf`` or ``~2``."""
        return resolve_entry(session, name)

    def directory(self, session: Session, /) -> str:
        """Return the directory of a session, or the one of this chat if that no longer exists."""
        return session.cwd if is_usable_directory(session.cwd) else self.cwd
