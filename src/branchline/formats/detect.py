"""Which program wrote a file, told from its first bytes."""

from __future__ import annotations

import re

from branchline.errors import NotASession
from branchline.formats.base import Format
from branchline.formats.induscode import INDUSCODE
from branchline.formats.oh_my_pi import OH_MY_PI
from branchline.formats.operator import OPERATOR
from branchline.formats.pi import PI
from branchline.formats.piglet import PIGLET
from branchline.formats.zot import ZOT

__all__ = ["FORMATS", "detect"]

FORMATS: tuple[Format, ...] = (INDUSCODE, OPERATOR, OH_MY_PI, PIGLET, ZOT, PI)


_GIVEN_UP = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"v"\s*:\s*4\s*,\s*"kind"\s*:\s*"header"')


def detect(head: bytes, path: str) -> Format:
    """The format of a file that begins with these bytes. NotASession when no format knows it, and why."""
    for format_ in FORMATS:
        if format_.sniff(head, path):
            return format_
    if not head:
        raise NotASession(f"{path} is empty: there is no session in it")
    if _GIVEN_UP.match(head):
        raise NotASession(
            f"{path} is a store of pi's library 0.84 to 0.87, whose format was withdrawn; it is not supported"
        )
    tried = ", ".join(format_.name for format_ in FORMATS)
    raise NotASession(f"{path} is not a session of any known program (tried: {tried})")
