"""Kimi Code sessions: a log of events, some of which make up the conversation."""

from branchline.formats.kimi.format import KIMI

__all__ = ["KIMI"]
