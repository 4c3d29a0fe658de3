"""branchline keeps agent conversations as branchable, append-only trees.

from branchline import Session

session = Session.create()
session.append_message("hello")
"""

from typing import TYPE_CHECKING, Any

from branchline._version import __version__
from branchline.session import Session

if TYPE_CHECKING:
    from branchline.conductor import Conductor
    from branchline.library import SessionLibrary

__all__ = ["Conductor", "Session", "SessionLibrary", "__version__"]


def __getattr__(name: str) -> Any:
    """Load the rest when it is first asked for: an agent that keeps one session never needs it."""
    if name == "SessionLibrary":
        from branchline.library import SessionLibrary  # noqa: PLC0415

        return SessionLibrary
    if name == "Conductor":
        from branchline.conductor import Conductor  # noqa: PLC0415

        return Conductor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
