"""Gemini CLI sessions: a list of messages that later lines change, replace and truncate."""

from branchline.formats.gemini.format import GEMINI

__all__ = ["GEMINI"]
