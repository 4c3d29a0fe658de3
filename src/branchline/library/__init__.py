"""The collection of sessions: list, find, open, rename, remove and restore, prune, the forest of forks."""

from branchline.library.discovery import Discovery, FoundFile
from branchline.library.forest import Forest, ForestRow, plant
from branchline.library.library import SessionLibrary
from branchline.library.looking import Look, Progress
from branchline.library.records import BranchNode, Description, Listing, PriorTurn, Pruned, SessionRow

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
