"""induscode sessions: reading, and writing so that induscode selects the intended path."""

from branchline.formats.induscode.format import INDUSCODE

__all__ = ["INDUSCODE", ""]
