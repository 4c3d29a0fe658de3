"""The collection of sessions: list, find, open, rename, remove and restore, prune, the forest of forks."""

from branchline.library.forest import Forest, ForestRow, plant
from branchline.library.library import Progress, SessionLibrary
from branchline.library.records import BranchNode, Description, Listing, PriorTurn, Pruned, SessionRow

__all__ = [
    "BranchNode",
    "Description",
    "Forest",
    "ForestRow",
    "Listing",
    "PriorTurn",
    "Progress",
    "Pruned",
    "SessionLibrary",
    "SessionRow",
    "plant",
]
