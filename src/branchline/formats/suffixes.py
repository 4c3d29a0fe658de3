"""The suffixes of session files, defined in one place."""

from __future__ import annotations

__all__ = ["JSONL", "NDJSON", "SUFFIXES", "has_suffix", "suffix_of", "without_suffix"]

JSONL = ".jsonl"
NDJSON = ".ndjson"
SUFFIXES = (JSONL, NDJSON)


def has_suffix(name: str) -> bool:
    """Return whether a file of this name may be a session."""
    return name.endswith(SUFFIXES)


def suffix_of(name: str) -> str:
    """Return the suffix of a session file; the usual one if it has none."""
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), JSONL)


def without_suffix(name: str) -> str:
    """Return the name of a session file without its suffix."""
    return name.removesuffix(suffix_of(name))
