"""opencode sessions, stored in a SQLite database; existing ones are read-only."""

from branchline.formats.opencode.format import OPENCODE

__all__ = ["OPENCODE"]
