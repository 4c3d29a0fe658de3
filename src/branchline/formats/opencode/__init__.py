"""opencode: sessions in a SQLite database, read-only here."""

from branchline.formats.opencode.format import OPENCODE

__all__ = ["OPENCODE"]
