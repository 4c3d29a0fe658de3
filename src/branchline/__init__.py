"""branchline keeps agent conversations as branchable, append-only trees.

from branchline import Session

session = Session.create()
session.append_message("hello")
"""

from branchline._version import __version__
from branchline.library import SessionLibrary
from branchline.session import Session

__all__ = ["Session", "SessionLibrary", "__version__"]
