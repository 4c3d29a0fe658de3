"""GitHub Copilot CLI: one line of events per session, each naming the one before it."""

from branchline.formats.copilot.format import COPILOT

__all__ = ["COPILOT"]
