"""How new lines name entries that are there already, where an id may have been used twice.

In a file a parent is named by its id, and the nearest entry before that carries it is meant. The keys of the
tree are unique; an id is not.
"""

from __future__ import annotations

from branchline.formats.log_index import LogIndex

__all__ = ["reference_id"]


def reference_id(reading: LogIndex, key: str) -> str | None:
    """The id by which a new line names this entry; None when a later entry hides it behind the same id."""
    tree, holder = reading.tree, reading.linker.latest_with_id
    base = key.rpartition("#")[0]
    name = base if base in tree.positions else key
    return name if holder(name) == tree.position(key) else None
