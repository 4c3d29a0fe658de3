"""GitHub Copilot CLI sessions: a linear log of events, each naming the previous one."""

from branchline.formats.copilot.format import COPILOT

__all__ = ["COPILOT"]
