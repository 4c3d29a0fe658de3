"""SHA-256, loaded when it is first asked for: what is behind it takes longer to load than most of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

__all__ = ["sha256"]


def sha256(data: bytes = b"") -> _Hash:
    import hashlib  # noqa: PLC0415

    return hashlib.sha256(data)
