"""Qwen Code sessions: a tree of records with the message parts of the Gemini API."""

from branchline.formats.qwen.format import QWEN

__all__ = ["QWEN"]
