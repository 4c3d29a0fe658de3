"""Conversion of values in llm's tables to native ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from branchline.context import milliseconds
from branchline.formats.common.derived_lines import one_line
from branchline.formats.common.tables import text_of
from branchline.formats.llm.rows import decode_details

__all__ = ["attachment_block", "earliest_time", "latest_time", "usage_of"]


def earliest_time(times: Sequence[str]) -> int:
    """Return the first of these times in milliseconds, ignoring invalid ones; 0 if none is valid.

    All times have the form in which llm writes them, so that their order is the order of the texts.
    """
    return _moment(min(times, default="")) or _first_valid(sorted(times))


def latest_time(times: Sequence[str]) -> int:
    """Return the last of these times, likewise."""
    return _moment(max(times, default="")) or _first_valid(sorted(times, reverse=True))


def _first_valid(times: Iterable[str]) -> int:
    return next(filter(None, map(_moment, times)), 0)


def _moment(time: str) -> int:
    return max(milliseconds(time) or 0, 0)


def usage_of(given: object, made: object, details: object) -> dict[str, Any] | None:
    """Return the tokens of a model call; providers count cached tokens as input or separately."""
    if not isinstance(given, int | float) and not isinstance(made, int | float):
        return None
    decoded = decode_details(one_line(details)) if details else None
    cached = decoded.cached if decoded is not None else 0
    read = (decoded.cache_read_input_tokens or 0) if decoded is not None else 0
    written = (decoded.cache_creation_input_tokens or 0) if decoded is not None else 0
    count_in = given if isinstance(given, int | float) else 0
    count_out = made if isinstance(made, int | float) else 0
    usage: dict[str, Any] = {
        "input": max(0, count_in - cached),
        "output": count_out,
        "cacheRead": cached + read,
        "cacheWrite": written,
        "totalTokens": count_in + count_out + read + written,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
    }
    if decoded is not None and decoded.reasoning:
        usage["reasoning"] = decoded.reasoning
    return usage


def attachment_block(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return an attachment: an image stored in the log, or a reference to a file or URL."""
    attachment_id, kind, path, url, content = row
    mime = text_of(kind)
    if isinstance(content, bytes) and content and mime.startswith("image/"):
        from base64 import b64encode  # noqa: PLC0415  few sessions have images

        return {"type": "image", "data": b64encode(content).decode("ascii"), "mimeType": mime}
    return {
        "type": "attachment",
        "id": text_of(attachment_id),
        "mimeType": mime,
        "path": text_of(path) or None,
        "url": text_of(url) or None,
    }
