"""CSV output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from branchline.views.text import one_line

__all__ = ["csv_line"]

_QUOTED = frozenset(',"\r\n')


def csv_line(values: Iterable[Any]) -> str:
    """Return a line of CSV. Line breaks become spaces; values that a spreadsheet evaluates are quoted."""
    return ",".join(map(_cell, values))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    text = one_line(value)
    if text[:1] in ("=", "+", "-", "@"):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if _QUOTED & set(text) else text
