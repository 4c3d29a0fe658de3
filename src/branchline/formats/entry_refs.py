"""How new lines refer to existing entries, if an id may have been used twice.

A file names a parent by id, which means the nearest preceding entry with that id. The keys of the tree are
unique; ids are not.
"""

from __future__ import annotations

from branchline.formats.log_index import LogIndex

__all__ = ["reference_id"]


def reference_id(reading: LogIndex, key: str) -> str | None:
    """Return the id by which a new line can name this entry; None if a later entry hides it."""
    tree, holder = reading.tree, reading.linker.latest_with_id
    base = key.rpartition("#")[0]
    name = base if base in tree.positions else key
    return name if holder(name) == tree.position(key) else None
