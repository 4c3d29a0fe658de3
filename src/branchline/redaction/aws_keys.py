"""AWS secret access keys: 40 characters of base64 without a fixed prefix.

Other strings of this length rarely mix upper case, lower case and digits: a commit hash has one case, a path
consists of words, and longer runs are data.
"""

from __future__ import annotations

import re
import string

from branchline.redaction.randomness import is_placeholder, looks_like_words

__all__ = ["aws_secret_keys"]

_SIZE = 40
_BASE64 = string.ascii_letters + string.digits + "+/"
_CLASSES = bytes(
    ord("a" if chr(code) in _BASE64 else "." if chr(code) in "_.-" else " ") for code in range(256)
)
_RUN = b" " + b"a" * _SIZE
_REST = re.compile(rb"a*+")
_ENDS = re.compile(rb"(?![=_%-]|\.\w)")
_NAMED = re.compile(
    rb"(?i:id|page_?token|cursor|nonce|etag|hash|sha\d{0,3}|md5|checksum|integrity|digest|signature)[\\\"'` \t:=]{1,8}\Z"
)
"""Names of values that are random but not secret."""
_ESCAPE = re.compile(rb"(?<=\\)[nrt]|(?<=[\[;])\d{1,2}m")
"""Letters before a key that do not belong to it: a JSON escape or a terminal colour code."""


def aws_secret_keys(plain: bytes) -> list[tuple[int, int]]:
    """Return the start and end of the keys in a Latin-1 text."""
    found: list[tuple[int, int]] = []
    # Searching for a run of one byte is much faster than matching a pattern at every word.
    classes = b" " + plain.translate(_CLASSES)
    start = 0
    while (start := classes.find(_RUN, start)) >= 0:
        rest = _REST.match(classes, start + len(_RUN))
        # One less: the classes start with an extra byte.
        end = start + _SIZE if rest is None else rest.end() - 1
        key = end - _SIZE
        begins = key == start or _ESCAPE.fullmatch(plain, start, key)
        if begins and _ENDS.match(plain, end) and not _NAMED.search(plain, max(0, start - 32), start):
            value = plain[key:end].decode("ascii")
            if _is_mixed(value) and not is_placeholder(value) and not looks_like_words(value):
                found.append((key, end))
        start = end
    return found


def _is_mixed(value: str) -> bool:
    return not (value.islower() or value.isupper()) and any(map(str.isdigit, value))
