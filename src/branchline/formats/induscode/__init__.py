"""Sessions of induscode: read, and written so that induscode finds the path that is meant."""

from branchline.formats.induscode.format import INDUSCODE

__all__ = ["INDUSCODE", ""]
