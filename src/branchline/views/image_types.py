"""The types of images, by the first bytes of their data; the stated type or the file name may be wrong."""

from __future__ import annotations

import re

__all__ = ["EXTENSIONS", "image_type"]

_MAGIC = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
EXTENSIONS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
"""The file name extension of each type."""


def image_type(data: bytes) -> str | None:
    """Return the MIME type of a PNG, JPEG, GIF or WebP image; None for other data."""
    return next((kind for kind, magic in _MAGIC.items() if magic.match(data)), None)
