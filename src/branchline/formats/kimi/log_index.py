"""A session of Kimi Code as it was read."""

from __future__ import annotations

from array import array
from typing import NamedTuple

from branchline.context import ModelRef
from branchline.formats.log_index import LogIndex

__all__ = ["KimiLogIndex", "WirePath", "wire_path"]

_DEPTH = 4  # session, agents, agent, file


class KimiLogIndex(LogIndex):
    """Beside the tree, the further lines of each answer and what results do not say themselves."""

    def __init__(self) -> None:
        super().__init__("kimi")
        self.pieces: dict[int, array[int]] = {}
        """Offset and size of each line that continues an answer, one behind the other, by its entry."""
        self.models: dict[int, ModelRef] = {}
        """The models of answers."""
        self.tool_names: dict[str, str] = {}
        self.kept: dict[int, list[int]] = {}
        """The prompts that a compaction keeps."""
        self.copied = 0
        """How many entries a fork copied from its parent."""

    @property
    def inherited_entries(self) -> int:
        return self.copied

    @property
    def counted_elsewhere(self) -> int:
        return self.copied


class WirePath(NamedTuple):
    """What the place of a file says: the folder of its session, and whose events it holds."""

    folder: str
    session: str
    agent: str


def wire_path(path: str) -> WirePath | None:
    """The parts of the path of a log of events; None for any other path."""
    parts = path.replace("\\", "/").split("/")
    if len(parts) < _DEPTH or parts[-1] != "wire.jsonl" or parts[-3] != "agents":
        return None
    session, _, agent, _ = parts[-_DEPTH:]
    if not session or not agent:
        return None
    above = path[: sum(map(len, parts[:-_DEPTH])) + len(parts) - _DEPTH]
    return WirePath(above + session, session, agent)
