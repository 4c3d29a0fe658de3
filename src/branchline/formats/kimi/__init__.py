"""Kimi Code: a log of events, of which those that change the context are the conversation."""

from branchline.formats.kimi.format import KIMI

__all__ = ["KIMI"]
