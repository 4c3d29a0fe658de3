"""Mistral Vibe sessions: a folder for each, with the messages in content-addressed chunks."""

from branchline.formats.vibe.format import VIBE

__all__ = ["VIBE"]
