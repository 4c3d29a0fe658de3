"""branchline keeps agent conversations as branchable, append-only trees.

from branchline import Session

session = Session.create()
session.append_message("hello")
"""

from typing import TYPE_CHECKING, Any

from branchline._version import __version__
from branchline.session import Session

if TYPE_CHECKING:
    from branchline import flows
    from branchline.conductor import Conductor
    from branchline.library import SessionLibrary
    from branchline.plugins import Plugins

__all__ = ["Conductor", "Plugins", "Session", "SessionLibrary", "__version__", "flows"]


def __getattr__(name: str) -> Any:
    """Load the rest when it is first asked for: an agent that keeps one session never needs it."""
    import importlib  # noqa: PLC0415

    match name:
        case "SessionLibrary":
            return importlib.import_module("branchline.library").SessionLibrary
        case "Conductor":
            return importlib.import_module("branchline.conductor").Conductor
        case "Plugins":
            return importlib.import_module("branchline.plugins").Plugins
        case "flows":
            return importlib.import_module("branchline.flows")
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
