"""Which program wrote a file, told from its first bytes."""

from __future__ import annotations

from branchline.errors import NotASession
from branchline.formats.base import Format
from branchline.formats.oh_my_pi import OH_MY_PI
from branchline.formats.pi import PI
from branchline.formats.zot import ZOT

__all__ = ["FORMATS", "detect"]

FORMATS: tuple[Format, ...] = (OH_MY_PI, ZOT, PI)


def detect(head: bytes, path: str) -> Format:
    """The format of a file that begins with these bytes. NotASession when no format knows it."""
    for format_ in FORMATS:
        if format_.sniff(head, path):
            return format_
    tried = ", ".join(format_.name for format_ in FORMATS)
    raise NotASession(f"{path} is not a session of any known program (tried: {tried})")
