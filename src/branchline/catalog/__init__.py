"""The catalog: a derived SQLite index over session files. It may be deleted at any time."""

from branchline.catalog.catalog import Catalog, CatalogStatus
from branchline.catalog.database import CatalogMissing, CatalogOff, CatalogUnavailable
from branchline.catalog.record import CatalogFile, FileRecord, FileUpdate, TextUpdate

__all__ = [
    "Catalog",
    "CatalogFile",
    "CatalogMissing",
    "CatalogOff",
    "CatalogStatus",
    "CatalogUnavailable",
    "FileRecord",
    "FileUpdate",
    "TextUpdate",
]
