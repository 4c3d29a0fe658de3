"""Images that oh-my-pi stores in separate files (blobs), and how they are put back into entries.

A file that only oh-my-pi's pictures tell from one of pi is read as pi's, so both formats put them back.

A line names a blob by the hash of its bytes. Only that exact pattern is followed, so a name cannot lead out
of the directory. An image of the conversation whose blob is missing becomes a text that reports it, because a
reference must not be mistaken for base64. Elsewhere a reference is left unchanged.
"""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from branchline.entries import json_codec
from branchline.formats.common.native_home import expanded
from branchline.formats.protocol import ExternalParts

if TYPE_CHECKING:
    from branchline.formats.log_index import LogIndex

__all__ = ["BLOB_MARK", "Blobs", "agent_directory", "blob_directories", "fields_with_blobs", "with_blobs"]

BLOB_MARK = b"blob:sha256:"
_REFERENCE = re.compile(r"blob:sha256:([0-9a-f]{64})")
_PROFILE = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9_-])?")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")


class Blobs(ExternalParts["LogIndex"]):
    """Images in blobs as parts of entries."""

    mark = BLOB_MARK

    def missing_parts(self, line: bytes, index: LogIndex) -> str | None:
        if BLOB_MARK not in line:
            return None
        count = _missing_images(json_codec.loads_object(line), blob_directories(index.path))
        return f"{count} image{'s' if count > 1 else ''} whose file is missing" if count else None


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
    return tuple(dict.fromkeys((*found, posixpath.join(_own_agent_directory(), "blobs"))))


def agent_directory(environment: Mapping[str, str], home: str) -> str:
    """Return oh-my-pi's agent directory, or that of the active profile."""
    profile = _profile(environment)
    configured = environment.get("PI_CODING_AGENT_DIR")
    if profile is None and configured:
        return expanded(configured, home)
    branch = () if profile is None else ("profiles", profile)
    data_home = environment.get("XDG_DATA_HOME")
    if data_home and posixpath.isdir(moved := posixpath.join(data_home, "omp", *branch)):
        return moved
    root = posixpath.join(home, environment.get("PI_CONFIG_DIR") or ".omp")
    return posixpath.join(root, *branch, "agent")


def _own_agent_directory() -> str:
    """Return the user's agent directory, which also holds the blobs of sessions stored elsewhere."""
    names = ("PI_CODING_AGENT_DIR", "PI_CONFIG_DIR", "OMP_PROFILE", "PI_PROFILE", "XDG_DATA_HOME")
    values = {name: posixpath.expandvars(f"${name}") for name in names}
    environment = {name: value for name, value in values.items() if value != f"${name}"}
    return agent_directory(environment, posixpath.expanduser("~"))


def _profile(environment: Mapping[str, str]) -> str | None:
    """Return the active profile; an empty ``OMP_PROFILE`` is the default one, an invalid name is ignored."""
    name = environment.get("OMP_PROFILE", environment.get("PI_PROFILE", "")).strip()
    if name in ("", "default") or not _PROFILE.fullmatch(name) or _RESERVED.fullmatch(name):
        return None
    return name


def fields_with_blobs(line: bytes, path: str) -> dict[str, Any] | None:
    """Return the JSON object of a line of this file, with images put back; None if it holds no reference."""
    fields = json_codec.loads_object(line) if BLOB_MARK in line else None
    if fields is not None:
        with_blobs(fields, blob_directories(path))
    return fields


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


def _missing_images(fields: Any, directories: Sequence[str]) -> int:
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
