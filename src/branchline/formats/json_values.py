"""Values of a decoded JSON object as the type that is wanted; anything else counts as absent."""

from __future__ import annotations

from typing import Any

__all__ = ["dict_of", "list_of", "text_of", "whole_number"]


def dict_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def whole_number(value: Any) -> int:
    """A count; 0 for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 60:
        return 0
    return int(value)
