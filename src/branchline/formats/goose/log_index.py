"""Index of a Goose session, with the facts that its last line states."""

from __future__ import annotations

from branchline.formats.goose.rows import End
from branchline.formats.log_index import LinkedLogIndex

__all__ = ["NAME", "GooseLogIndex"]

NAME = "goose"


class GooseLogIndex(LinkedLogIndex):
    """Index of one session."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self.end = End()
