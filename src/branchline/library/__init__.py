"""The collection of sessions: list, find, open, rename, remove and restore, prune, the forest of forks."""

from branchline.library.async_library import AsyncSessionLibrary
from branchline.library.library import SessionLibrary
from branchline.library.listing import LazyListing, Progress
from branchline.library.rows import BranchNode, Prompt, PruneResult
from branchline.library.scanner import StoredSession
from branchline.views.forest import Forest, ForestRow, build_forest
from branchline.views.session_row import Description, Listing, SessionRow

__all__ = [
    "AsyncSessionLibrary",
    "BranchNode",
    "Description",
    "Forest",
    "ForestRow",
    "LazyListing",
    "Listing",
    "Progress",
    "Prompt",
    "PruneResult",
    "SessionLibrary",
    "SessionRow",
    "StoredSession",
    "build_forest",
]
