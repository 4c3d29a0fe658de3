"""A session of Kimi Code as it was read."""

from __future__ import annotations

import re
from array import array
from typing import NamedTuple

from branchline.context import ModelRef
from branchline.formats.log_index import LogIndex

__all__ = ["KimiLogIndex", "WirePath", "wire_path"]

_WIRE = re.compile(r"(?:(.*)[/\\])?([^/\\]+)[/\\]agents[/\\]([^/\\]+)[/\\]wire\.jsonl$", re.DOTALL)


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
    found = _WIRE.search(path)
    if found is None:
        return None
    return WirePath(f"{found[1]}/{found[2]}" if found[1] else found[2], found[2], found[3])
