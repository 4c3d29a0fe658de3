"""Keys for foreign ids: any text of another system as the name of a log.

Frameworks name conversations ``user:42``, ``a/b`` or by an e-mail address, and often by several parts (an
app, a user, a conversation). :func:`key_for` makes one key of the parts that every store takes,
:func:`parts_of` gives them back. A single plain id is its own key.
"""

from __future__ import annotations

import re

from branchline import _sha256
from branchline.errors import InvalidId
from branchline.stores.protocol import check_key

__all__ = ["key_for", "parts_of"]

_LONGEST = 200  # bytes; longer keys end in a hash instead
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*").fullmatch
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_ESCAPE = re.compile(rb"%([0-9a-f]{2})")
_EMPTY = "%"  # an escape has two digits, so this is no beginning of one
_HASHED = "~~"  # an empty part is written as "%", so two separators never stand together


def key_for(*parts: str) -> str:
    """One key for the parts of a foreign id: injective, readable where they are plain, valid in every store.

    Parts are joined with ``~``; bytes of their UTF-8 form other than ASCII letters, digits, ``_``, ``.`` and
    ``-`` become ``%`` and two hex digits. A key of more than 200 bytes is cut and ends in the SHA-256 hash of
    the whole.
    """
    if not parts:
        raise ValueError("a key needs at least one part")
    key = "~".join(_escaped(part, first=number == 0) for number, part in enumerate(parts))
    if len(key) > _LONGEST:
        digest = _sha256.sha256(key.encode()).hexdigest()
        key = f"{key[: _LONGEST - len(_HASHED) - len(digest)]}{_HASHED}{digest}"
    return check_key(key)


def parts_of(key: str) -> tuple[str, ...]:
    """The parts that :func:`key_for` made this key of.

    InvalidId for a key that it did not make, and for one that was too long: that holds a hash in their place.
    """
    if _HASHED in key:
        raise InvalidId(f"{key!r} holds a hash in place of its parts; the header of the session has them")
    try:
        parts = tuple(_unescaped(part) for part in key.split("~"))
    except UnicodeDecodeError:
        parts = ()
    if not parts or key_for(*parts) != key:
        raise InvalidId(f"{key!r} is not a key made of the parts of a foreign id")
    return parts


def _escaped(part: str, *, first: bool) -> str:
    if _PLAIN(part) is not None:
        return part
    if not part:
        return _EMPTY
    data = part.encode("utf-8", "surrogatepass")
    text = "".join(chr(byte) if byte in _SAFE else f"%{byte:02x}" for byte in data)
    # A name that begins with a dot is hidden; one that begins with a dash looks like an option.
    return f"%{data[0]:02x}{text[1:]}" if first and text[0] in ".-" else text


def _unescaped(part: str) -> str:
    if part == _EMPTY:
        return ""
    data = _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), part.encode())
    return data.decode("utf-8", "surrogatepass")
