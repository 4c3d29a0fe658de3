"""branchline keeps agent conversations as branchable, append-only trees."""

from branchline._version import __version__

__all__ = ["__version__"]
