"""One text names a store."""

from __future__ import annotations

import os

from branchline.stores.files import FilesStore
from branchline.stores.protocol import Store

__all__ = ["open_store"]


def open_store(where: str | os.PathLike[str]) -> Store:
    """The store that a text or a path names. Nothing is created before it is used."""
    return FilesStore(os.path.expanduser(os.fspath(where)))
