"""How the names of session files end: the one place that knows it."""

from __future__ import annotations

__all__ = ["JSONL", "NDJSON", "SUFFIXES", "has_suffix", "suffix_of", "without_suffix"]

JSONL = ".jsonl"
NDJSON = ".ndjson"
SUFFIXES = (JSONL, NDJSON)


def has_suffix(name: str) -> bool:
    """Whether a file of this name may be a session."""
    return name.endswith(SUFFIXES)


def suffix_of(name: str) -> str:
    """The ending of the name of a session file; the usual one where it has none."""
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), JSONL)


def without_suffix(name: str) -> str:
    """The name of a session file without its ending."""
    return name.removesuffix(suffix_of(name))
