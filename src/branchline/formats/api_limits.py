"""What model APIs accept of a conversation, for agents that send it on as it is in their file."""

from __future__ import annotations

import re

__all__ = ["IMAGE_TYPES", "api_tool_name", "well_formed"]

IMAGE_TYPES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""The types of images that every API accepts."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


def api_tool_name(name: str) -> str:
    """Return the name of a tool with 1 to 64 letters, digits, ``_`` and ``-``."""
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "tool"


def well_formed(text: str) -> str:
    """Return a text with U+FFFD for every lone surrogate; APIs reject a request that has any."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
