"""The collection of sessions: list, find, open, rename, remove and restore, prune, the forest of forks."""

from branchline.library.forest import Forest, ForestRow, plant
from branchline.library.library import SessionLibrary
from branchline.library.listing import Look, Progress
from branchline.library.rows import BranchNode, Description, Listing, PriorTurn, Pruned, SessionRow
from branchline.library.scanner import Discovery, FoundFile

__all__ = [
    "BranchNode",
    "Description",
    "Discovery",
    "Forest",
    "ForestRow",
    "FoundFile",
    "Listing",
    "Look",
    "PriorTurn",
    "Progress",
    "Pruned",
    "SessionLibrary",
    "SessionRow",
    "plant",
]
