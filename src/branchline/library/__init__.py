"""The collection of sessions: list, find, open, rename, remove and restore, prune, the forest of forks."""

from branchline.library.forest import Forest, ForestRow, build_forest
from branchline.library.library import SessionLibrary
from branchline.library.listing import LazyListing, Progress
from branchline.library.rows import BranchNode, Description, Listing, Prompt, PruneResult, SessionRow
from branchline.library.scanner import Discovery, FoundFile

__all__ = [
    "BranchNode",
    "Description",
    "Discovery",
    "Forest",
    "ForestRow",
    "FoundFile",
    "LazyListing",
    "Listing",
    "Progress",
    "Prompt",
    "PruneResult",
    "SessionLibrary",
    "SessionRow",
    "build_forest",
]
