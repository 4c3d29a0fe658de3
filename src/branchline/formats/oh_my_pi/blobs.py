"""Images stored in separate files (blobs): where they are, and how they are put back into entries.

A line names a blob by the hash of its bytes. Only that exact pattern is followed, so a name cannot lead out
of the directory. An image of the conversation whose blob is missing becomes a text that reports it, because a
reference must not be mistaken for base64. Elsewhere a reference is left unchanged.
"""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Sequence
from typing import Any

from branchline.formats.oh_my_pi.home import agent_directory

__all__ = ["BLOB_MARK", "blob_directories", "missing_images", "with_blobs"]

BLOB_MARK = b"blob:sha256:"
_REFERENCE = re.compile(r"blob:sha256:([0-9a-f]{64})")


def blob_directories(path: str) -> tuple[str, ...]:
    """Return the directories where the blobs of a session file may be.

    These are the agent directory that contains the file; the directory of a file that was moved; and the
    user's agent directory, where oh-my-pi stores the blobs of sessions in any other directory.
    """
    folder = posixpath.dirname(path)
    if not folder:
        return ()
    found = [posixpath.join(folder, "blobs")]
    parent = folder
    while parent != (above := posixpath.dirname(parent)):
        if posixpath.basename(parent) == "sessions":
            found.insert(0, posixpath.join(above, "blobs"))
            break
        parent = above
    return tuple(dict.fromkeys((*found, posixpath.join(agent_directory(), "blobs"))))


def with_blobs(fields: Any, directories: Sequence[str]) -> None:
    """Replace blob references in a JSON object by images, wherever oh-my-pi extracts them."""
    waiting: list[tuple[str, Any]] = [("", fields)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, list):
            waiting += [(key, item) for item in value]
        elif isinstance(value, dict):
            if _is_picture(key, value):
                value["data"] = _picture(value["data"], directories)
                if key == "content" and _is_reference(value["data"]):
                    note = f"[image not found: {value.get('mimeType')}, {value['data']}]"
                    value.clear()
                    value.update(type="text", text=note)
            if value.get("type") == "image_generation_call" and "result" in value:
                value["result"] = _picture(value["result"], directories)
            if "image_url" in value:
                value["image_url"] = _text(value["image_url"], directories)
            waiting += value.items()


def missing_images(fields: Any, directories: Sequence[str]) -> int:
    """Return how many images of the message in a JSON object have no blob."""
    message = fields.get("message", fields) if isinstance(fields, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return sum(
        isinstance(block, dict)
        and _is_picture("content", block)
        and _is_reference(block["data"])
        and _blob(block["data"], directories) is None
        for block in (content if isinstance(content, list) else ())
    )


def _is_reference(data: Any) -> bool:
    return isinstance(data, str) and data.strip().startswith("blob:sha256:")


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
            continue  # an unreadable blob counts as missing: the reference names it
    return None
