"""Secrets in texts and session files: rules as data, and the engine that applies them.

:func:`redact` is the entry point for text, :func:`redact_bytes` for the lines of a session file. Both return
the redacted content and the list of replaced secrets (:class:`Hit`). :class:`KnownValues` are secrets that
were found, which :func:`redact_known` and :func:`redact_known_bytes` replace wherever else they stand.
"""

from __future__ import annotations

from branchline.redaction.engine import (
    Hit,
    Redacted,
    RedactedBytes,
    RedactionCount,
    count_by_kind,
    has_own_form,
    redact,
    redact_bytes,
    redact_known,
    redact_known_bytes,
    secrets_in,
)
from branchline.redaction.known import KnownValues

__all__ = [
    "Hit",
    "KnownValues",
    "Redacted",
    "RedactedBytes",
    "RedactionCount",
    "count_by_kind",
    "has_own_form",
    "redact",
    "redact_bytes",
    "redact_known",
    "redact_known_bytes",
    "secrets_in",
]
