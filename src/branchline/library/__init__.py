"""Session libraries: list, find, open, rename, remove, restore and prune sessions; the forest of forks."""

from typing import TYPE_CHECKING, Any

from branchline import _lazy
from branchline.library.library import SessionLibrary
from branchline.library.listing import LazyListing, Progress
from branchline.library.rows import BranchNode, Prompt, PruneResult
from branchline.library.scanner import StoredSession
from branchline.views.session_row import Description, Listing, SessionRow

if TYPE_CHECKING:
    from branchline.library.async_library import AsyncSessionLibrary
    from branchline.views.forest import Forest, ForestRow, build_forest

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


def __getattr__(name: str) -> Any:
    """Load names that neither lists nor searches need on first access."""
    if name == "AsyncSessionLibrary":
        return _lazy.lazy_attribute(__name__, {"async_library": ("AsyncSessionLibrary",)}, name)
    forest = {"forest": ("Forest", "ForestRow", "build_forest")}
    try:
        return _lazy.lazy_attribute("branchline.views", forest, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
