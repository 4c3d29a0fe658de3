"""Files and images that the user sends with a prompt: text files as text, images as images.

Only files that the user names are read: with ``/attach``, with ``--attach``, or as ``@path`` in a prompt that
is typed on a terminal. The first bytes of a file decide whether it is an image, not its name.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Sequence
from typing import Literal

import msgspec

from branchline.entries import Block, Image, Text
from branchline.views.file_mentions import file_block
from branchline.views.humanize import count, decoded_size, format_size
from branchline.views.image_types import image_type

__all__ = [
    "MAX_FILES",
    "MAX_IMAGE",
    "MAX_TEXT",
    "Attachment",
    "described",
    "image_attachment",
    "load_attachment",
    "mentioned",
]

MAX_TEXT = 256_000
"""Bytes of a text file that can be attached."""
MAX_IMAGE = 5_000_000
"""Bytes of an image: the least that providers accept."""
MAX_FILES = 20
"""Files with one prompt."""

_LOOK = 8_000


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A file that goes with the next prompt."""

    path: str
    block: Block
    about: str
    """Type and size, for display."""


def load_attachment(path: str, directory: str) -> Attachment:
    """Load a file that the user names, relative to a directory. ValueError says why it cannot be attached."""
    data, size = _read(path, os.path.join(directory, os.path.expanduser(path)))
    if (mime_type := image_type(data)) is not None:
        _check_size(path, size, MAX_IMAGE, "an image")
        return Attachment(
            path=path,
            block=Image(data=base64.b64encode(data).decode("ascii"), mime_type=mime_type),
            about=f"{mime_type}, {format_size(size)}",
        )
    if b"\0" in data[:_LOOK]:
        raise ValueError(f"cannot attach {path}: it is neither UTF-8 text nor a PNG, JPEG, GIF or WebP image")
    _check_size(path, size, MAX_TEXT, "a text file")
    text, note = _decoded(data)
    about = f"{count(len(text.splitlines()), 'line')}, {format_size(size)}{note}"
    return Attachment(path=path, block=Text(text=file_block(path, text)), about=about)


def _decoded(data: bytes) -> tuple[str, str]:
    """Return the text of a file, and a note if parts of it are not UTF-8."""
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), ", not UTF-8: some characters are unreadable"


def _check_size(path: str, size: int, limit: int, kind: str) -> None:
    if size > limit:
        raise ValueError(
            f"cannot attach {path}: it has {format_size(size)}; {kind} may have at most {format_size(limit)}"
        )


def _read(path: str, place: str) -> tuple[bytes, int]:
    """Return the first bytes of a file, all of them unless it is too large, and its size."""
    try:
        descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            kind = "a directory" if os.path.isdir(place) else "not a regular file"
            raise ValueError(f"cannot attach {path}: it is {kind}")
        with open(descriptor, "rb") as file:
            data = file.read(MAX_IMAGE + 1)
            return data, max(len(data), os.fstat(descriptor).st_size)
    except FileNotFoundError:
        raise ValueError(f"cannot attach {path}: no such file") from None
    except OSError as problem:
        raise ValueError(f"cannot attach {path}: {(problem.strerror or str(problem)).lower()}") from None


def image_attachment(image: Image) -> Attachment:
    """Return the attachment for an image of a prompt that is edited again."""
    size = format_size(decoded_size(image.data))
    return Attachment(path="image", block=image, about=f"{image.mime_type or 'image'}, {size}")


def mentioned(path: str, directory: str) -> Literal["inside", "outside", "none"]:
    """Return whether a mention names a file, and whether the resolved file is below a directory."""
    place = os.path.join(directory, os.path.expanduser(path))
    if not os.path.isfile(place):
        return "none"
    top = os.path.realpath(directory).rstrip(os.sep) + os.sep
    return "inside" if os.path.realpath(place).startswith(top) else "outside"


def described(attachments: Sequence[Attachment]) -> str:
    return ", ".join(f"{one.path} ({one.about})" for one in attachments)
