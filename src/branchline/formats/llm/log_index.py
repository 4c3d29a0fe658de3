"""An llm session as it was read."""

from __future__ import annotations

from branchline.formats.common.derived_format import DerivedLogIndex

__all__ = ["NAME", "LlmLogIndex"]

NAME = "llm"


class LlmLogIndex(DerivedLogIndex):
    """Index of the messages of a thread, or of the native entries of an older conversation."""

    def __init__(self) -> None:
        super().__init__(NAME)
