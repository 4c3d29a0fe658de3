"""Gemini CLI: a list of messages that later lines change, replace and cut back."""

from branchline.formats.gemini.format import GEMINI

__all__ = ["GEMINI"]
