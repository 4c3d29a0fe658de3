"""Pictures that are kept apart from the lines: where they lie, and how they come back.

A line names a blob by the hash of its bytes. Only exactly that pattern is followed, so that no name can lead
out of the directory; where the blob is missing the reference stays as it is.
"""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["BLOB_MARK", "blob_directories", "with_blobs"]

BLOB_MARK = b"blob:sha256:"
_REFERENCE = re.compile(r"blob:sha256:([0-9a-f]{64})")


def blob_directories(path: str) -> tuple[str, ...]:
    """Where the blobs of a session file may lie: in its agent directory, or beside a file that was moved."""
    folder = posixpath.dirname(path)
    if not folder:
        return ()
    beside = posixpath.join(folder, "blobs")
    parent = folder
    while parent != (above := posixpath.dirname(parent)):
        if posixpath.basename(parent) == "sessions":
            return (posixpath.join(above, "blobs"), beside)
        parent = above
    return (beside,)


def with_blobs(fields: Any, directories: Sequence[str]) -> None:
    """Put the pictures back into a JSON object, in the places where oh-my-pi takes them out."""
    waiting: list[tuple[str, Any]] = [("", fields)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, list):
            waiting += [(key, item) for item in value]
        elif isinstance(value, dict):
            if _is_picture(key, value):
                value["data"] = _picture(value["data"], directories)
            if value.get("type") == "image_generation_call" and "result" in value:
                value["result"] = _picture(value["result"], directories)
            if "image_url" in value:
                value["image_url"] = _text(value["image_url"], directories)
            waiting += value.items()


def _is_picture(key: str, value: dict[str, Any]) -> bool:
    if "data" not in value:
        return False
    mime = value.get("mimeType")
    is_image = value.get("type") == "image"
    if key == "content":
        return is_image
    return key in ("images", "frames") and (
        is_image or (isinstance(mime, str) and mime.lower().startswith("image/"))
    )


def _picture(reference: Any, directories: Sequence[str]) -> Any:
    data = _blob(reference, directories)
    return reference if data is None else base64.b64encode(data).decode("ascii")


def _text(reference: Any, directories: Sequence[str]) -> Any:
    data = _blob(reference, directories)
    return reference if data is None else data.decode("utf-8", "replace")


def _blob(reference: Any, directories: Sequence[str]) -> bytes | None:
    found = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if found is None:
        return None
    for directory in directories:
        path = posixpath.join(directory, found[1])
        try:
            if posixpath.isfile(path):
                with open(path, "rb") as file:
                    return file.read()
        except OSError:
            continue  # unreadable is as good as missing: the reference says what should be here
    return None
