"""Index of an induscode session: the tree, the header, and the leaf that induscode selects."""

from __future__ import annotations

import posixpath
import re
from typing import Any

import msgspec

from branchline.entries import Header, json_codec
from branchline.formats.induscode.leaf_resolver import Depths
from branchline.formats.json_values import iso_time
from branchline.formats.log_index import LogIndex
from branchline.formats.suffixes import NDJSON
from branchline.tree import BackwardLinker

__all__ = ["InduscodeLogIndex"]

_ID = re.compile(r"s_([0-9a-z]{1,9})_[0-9a-z]+")
_UNSEEN = frozenset({"glued", "unreadable", "bom"})  # where induscode reads less than branchline


class InduscodeLogIndex(LogIndex):
    """Index that also tracks which entry induscode itself would take for the leaf."""

    def __init__(self, path: str) -> None:
        super().__init__("induscode")
        self.linker = BackwardLinker(self.tree)
        self.version = 1
        self.header = _header_from(path)
        self.depths = Depths(self.tree)
        self.has_head = False
        """Whether induscode uses a head line, valid or not."""
        self._program_depths = Depths(self.tree)

    def take_origin(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        """Read the line before the first entry in which a fork or conversion made here names its parent."""
        parent = fields.get("parent")
        if self.header is not None and isinstance(parent, str):
            self.header = msgspec.structs.replace(self.header, parent_session=parent)
        self.header_line, self.header_end = line, offset + len(line)

    def program_depths(self) -> Depths | None:
        """Return depths as induscode counts them; None if its links cannot be determined.

        That is the case if an id repeats, or an entry precedes its parent: induscode follows the last one.
        """
        oddities = self.linker.findings()
        unseen_lines = {note.line for note in self.notes if note.kind in _UNSEEN}
        if not oddities and not unseen_lines and not self.tree.placeholders:
            self.depths.catch_up()
            return self.depths
        unlinked = {oddity.position for oddity in oddities}
        if any(oddity.kind == "duplicate-id" for oddity in oddities) or any(map(self._names_later, unlinked)):
            return None
        unseen = set(self.tree.placeholders)
        if unseen_lines:
            unseen.update(
                position for position in range(len(self.tree)) if self.line_of(position) in unseen_lines
            )
        self._program_depths.catch_up(unseen, unlinked)
        return self._program_depths

    def _names_later(self, position: int) -> bool:
        fields = json_codec.loads_object(self.read(*self.span(position))) or {}
        return fields.get("prev") in self.tree.positions


def _header_from(path: str) -> Header:
    """Return the header implied by the file name, which is the id; most ids contain the time."""
    name = posixpath.basename(path).removesuffix(NDJSON)
    found = _ID.fullmatch(name)
    return Header(id=name, version=1, timestamp="" if found is None else iso_time(int(found[1], 36)))
