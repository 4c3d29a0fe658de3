"""Files and images that the user sends with a prompt: text files inside of it, images as images.

Only files that the user names are read: with ``/attach``, with ``--attach``, or as ``@path`` in a prompt that
is typed on a terminal. What an image is, its bytes say and not its name.
"""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from branchline.entries import Block, Image, Text
from branchline.views.humanize import count, format_size

__all__ = [
    "MAX_FILES",
    "MAX_IMAGE",
    "MAX_TEXT",
    "Attachment",
    "described",
    "image_attachment",
    "load_attachment",
    "mention_text",
    "mentioned",
    "mentions",
    "with_mentions",
]

MAX_TEXT = 256_000
"""Bytes of a text file that can be attached."""
MAX_IMAGE = 5_000_000
"""Bytes of an image: the least that providers accept."""
MAX_FILES = 20
"""Files with one prompt."""

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+?)(?=[.,;:!?)\]]*(?:\s|\Z)))')
_FILE = re.compile(r'<file path="([^"\n]*)">\n.*?\n</file>', re.DOTALL)
_LOOK = 8_000


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A file that goes with the next prompt."""

    path: str
    block: Block
    about: str
    """What it is and how large, for people."""


def load_attachment(path: str, directory: str) -> Attachment:
    """A file that the user names, relative to a directory. ValueError says why it cannot be attached."""
    data = _read(path, os.path.join(directory, os.path.expanduser(path)))
    if (mime_type := _image_type(data)) is not None:
        if len(data) > MAX_IMAGE:
            raise ValueError(f"cannot attach {path}: an image may have {format_size(MAX_IMAGE)}")
        return Attachment(
            path=path,
            block=Image(data=base64.b64encode(data).decode("ascii"), mime_type=mime_type),
            about=f"{mime_type}, {format_size(len(data))}",
        )
    if b"\0" in data[:_LOOK]:
        raise ValueError(f"cannot attach {path}: it is neither text nor a PNG, JPEG, GIF or WebP image")
    if len(data) > MAX_TEXT:
        raise ValueError(f"cannot attach {path}: a text file may have {format_size(MAX_TEXT)}")
    text = data.decode("utf-8", "replace")
    name = path.replace('"', "'").replace("\n", " ")
    return Attachment(
        path=path,
        block=Text(text=f'<file path="{name}">\n{text}\n</file>'),
        about=f"{count(len(text.splitlines()), 'line')}, {format_size(len(data))}",
    )


def _read(path: str, place: str) -> bytes:
    try:
        descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with open(descriptor, "rb") as file:
            is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = file.read(MAX_IMAGE + 1) if is_regular else b""
    except OSError as problem:
        raise ValueError(f"cannot attach {path}: {problem.strerror or problem}") from None
    if not is_regular:
        raise ValueError(f"cannot attach {path}: it is not a regular file")
    return data


def image_attachment(image: Image) -> Attachment:
    """An image of a prompt that is edited again."""
    size = len(image.data) * 3 // 4 - image.data[-2:].count("=")
    return Attachment(path="image", block=image, about=f"{image.mime_type or 'image'}, {format_size(size)}")


def _image_type(data: bytes) -> str | None:
    """The type of an image by its first bytes, whatever its name says."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def mentions(prompt: str) -> Iterator[str]:
    """The paths that a prompt mentions as ``@path`` or ``@"a path"``, each once."""
    yield from dict.fromkeys(quoted or plain for quoted, plain in _MENTION.findall(prompt))


def mentioned(path: str, directory: str) -> Literal["inside", "outside", "none"]:
    """Whether a mention names a file, and whether that is below a directory once symlinks are resolved."""
    place = os.path.join(directory, os.path.expanduser(path))
    if not os.path.isfile(place):
        return "none"
    top = os.path.realpath(directory).rstrip(os.sep) + os.sep
    return "inside" if os.path.realpath(place).startswith(top) else "outside"


def mention_text(path: str) -> str:
    """A path as a prompt mentions it."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def with_mentions(text: str) -> str:
    """The text of a prompt with the files inside of it as mentions again, for editing."""
    seen = set(mentions(_FILE.sub("", text)))

    def mention(found: re.Match[str]) -> str:
        return "" if found[1] in seen else mention_text(found[1])

    return _FILE.sub(mention, text).strip()


def described(attachments: Sequence[Attachment]) -> str:
    """The attachments in one line."""
    return ", ".join(f"{one.path} ({one.about})" for one in attachments)
