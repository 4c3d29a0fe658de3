"""Keys for foreign ids: any text as the name of a log.

Frameworks identify conversations by ``user:42``, ``a/b`` or an e-mail address, and often by several parts (an
app, a user, a conversation). :func:`key_for` encodes the parts as one key that every store accepts, and
:func:`parts_of` decodes it. A single plain id is its own key.
"""

from __future__ import annotations

import re

from branchline import _sha256
from branchline._arguments import require_text
from branchline.errors import InvalidArgument, InvalidId
from branchline.stores.protocol import check_key

__all__ = ["key_for", "parts_of"]

_MAX_LENGTH = 200  # bytes; longer keys end in a hash instead
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*").fullmatch
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_ESCAPE = re.compile(rb"%([0-9a-f]{2})")
_EMPTY = "%"  # an escape has two digits, so this is unambiguous
_HASHED = "~~"  # an empty part is written as "%", so two separators are never adjacent


def key_for(*parts: str) -> str:
    """Encode the parts of a foreign id as one key: injective, readable, and valid in every store.

    Parts are joined with ``~``; bytes of their UTF-8 form other than ASCII letters, digits, ``_``, ``.`` and
    ``-`` become ``%`` and two hex digits. A key of more than 200 bytes is truncated and ends in the
    SHA-256 hash of the full key.
    """
    if not parts:
        raise InvalidArgument("a key needs at least one part")
    for part in parts:
        require_text("a part of a key", part, empty=True)
    key = "~".join(_escaped(part, first=number == 0) for number, part in enumerate(parts))
    if len(key) > _MAX_LENGTH:
        digest = _sha256.sha256(key.encode()).hexdigest()
        key = f"{key[: _MAX_LENGTH - len(_HASHED) - len(digest)]}{_HASHED}{digest}"
    return check_key(key)


def parts_of(key: str) -> tuple[str, ...]:
    """Decode a key made by :func:`key_for`.

    Raises InvalidId for other keys, and for truncated ones, which hold a hash instead.
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
    # A leading dot would hide the file; a leading dash would look like an option.
    return f"%{data[0]:02x}{text[1:]}" if first and text[0] in ".-" else text


def _unescaped(part: str) -> str:
    if part == _EMPTY:
        return ""
    data = _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), part.encode())
    return data.decode("utf-8", "surrogatepass")
