"""Rows of figures as CSV, one line each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from branchline.views.text import one_line

__all__ = ["csv_line"]

_QUOTED = frozenset(',"\r\n')


def csv_line(values: Iterable[Any]) -> str:
    """One line of CSV. Texts are put on one line; what a spreadsheet would calculate is marked as text."""
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
