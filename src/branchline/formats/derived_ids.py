"""Random ids, for programs that name things so: made from another id, without dice of our own."""

from __future__ import annotations

from branchline._sha256 import sha256

__all__ = ["uuid4_from"]


def uuid4_from(seed: str) -> str:
    """A UUID of version 4 with as much chance in it as there is in the text that it is made of."""
    digits = sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"
