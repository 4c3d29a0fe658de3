"""What reading an induscode session tells beside the tree: its header, and the leaf that induscode sees."""

from __future__ import annotations

import posixpath
import re
from datetime import UTC, datetime
from typing import Any

import msgspec

from branchline.entries import Header
from branchline.formats.induscode.leaf_resolver import DeepestEntry
from branchline.formats.log_index import LogIndex
from branchline.formats.suffixes import NDJSON
from branchline.tree import BackwardLinker

__all__ = ["InduscodeLogIndex"]

_ID = re.compile(r"s_([0-9a-z]{1,9})_[0-9a-z]+")
_UNSEEN = frozenset({"glued", "unreadable", "bom"})  # where induscode reads less than we do


class InduscodeLogIndex(LogIndex):
    """An index that also knows what induscode itself would take for the leaf."""

    def __init__(self, path: str) -> None:
        super().__init__("induscode")
        self.linker = BackwardLinker(self.tree)
        self.version = 1
        self.header = _header_from(path)
        self.deepest = DeepestEntry(self.tree)
        self.has_head = False
        """Whether induscode goes by a head line, be it a good one or not."""

    def take_origin(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        """The line before the first entry in which a fork or a conversion of ours names its parent."""
        parent = fields.get("parent")
        if self.header is not None and isinstance(parent, str):
            self.header = msgspec.structs.replace(self.header, parent_session=parent)
        self.header_line, self.header_end = line, offset + len(line)

    @property
    def is_whole(self) -> bool:
        """Whether induscode sees the same entries and links as we do."""
        return not (
            self.tree.placeholders
            or self.linker.findings()
            or any(note.kind in _UNSEEN for note in self.notes)
        )


def _header_from(path: str) -> Header:
    """The name of the file is the id, and in most ids stands the time."""
    name = posixpath.basename(path).removesuffix(NDJSON)
    found = _ID.fullmatch(name)
    return Header(id=name, version=1, timestamp="" if found is None else _iso(int(found[1], 36)))


def _iso(moment: int) -> str:
    try:
        time = datetime.fromtimestamp(moment / 1000, UTC)
    except (ValueError, OverflowError):
        return ""
    return time.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
