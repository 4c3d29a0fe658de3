"""One entry, all of it."""

from __future__ import annotations

from branchline.session import Session
from branchline.tui.detailing import detail_lines
from branchline.tui.screens.help import TextScreen
from branchline.views.spans import Line

__all__ = ["WholeEntry"]


class WholeEntry(TextScreen):
    """All of one entry, however long."""

    def __init__(self, session: Session, position: int, home: str) -> None:
        super().__init__("The whole entry")
        self._session = session
        self._position = position
        self._home = home

    def lines(self, columns: int) -> list[Line]:
        return detail_lines(self._session, self._position, columns, home=self._home, most=None)
