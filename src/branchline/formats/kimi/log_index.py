"""Index of a Kimi Code session."""

from __future__ import annotations

from array import array
from typing import NamedTuple

from branchline.context import ModelRef
from branchline.formats.log_index import LogIndex

__all__ = ["KimiLogIndex", "WirePath", "wire_path"]

_DEPTH = 4  # session, agents, agent, file


class KimiLogIndex(LogIndex):
    """Index that also holds the continuation lines of each answer, and the facts that results lack."""

    renames_copies = True

    def __init__(self) -> None:
        super().__init__("kimi")
        self.pieces: dict[int, array[int]] = {}
        """By answer entry: alternating offset and size of each line that continues it."""
        self.models: dict[int, ModelRef] = {}
        """The models of answers."""
        self.tool_names: dict[str, str] = {}
        self.kept: dict[int, list[int]] = {}
        """The prompts that a compaction keeps."""
        self.copied = 0
        """The number of entries that a fork copied from its parent."""

    @property
    def inherited_entries(self) -> int:
        return self.copied


class WirePath(NamedTuple):
    """The session folder and the agent that the path of an event log names."""

    folder: str
    session: str
    agent: str


def wire_path(path: str) -> WirePath | None:
    """Parse the path of an event log; None for any other path."""
    parts = path.replace("\\", "/").split("/")
    if len(parts) < _DEPTH or parts[-1] != "wire.jsonl" or parts[-3] != "agents":
        return None
    session, _, agent, _ = parts[-_DEPTH:]
    if not session or not agent:
        return None
    above = path[: sum(map(len, parts[:-_DEPTH])) + len(parts) - _DEPTH]
    return WirePath(above + session, session, agent)
