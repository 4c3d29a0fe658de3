"""Mistral Vibe: a folder for each session, with the messages in chunks that are named by their content."""

from branchline.formats.vibe.format import VIBE

__all__ = ["VIBE"]
