"""Secrets in texts and session files: rules as data, and the engine that applies them.

:func:`redact` is the entry point for text, :func:`redact_bytes` for the lines of a session file. Both return
the redacted content and the list of replaced secrets (:class:`Hit`).
"""

from __future__ import annotations

from branchline.redaction.engine import (
    Hit,
    Redacted,
    RedactedBytes,
    RedactionCount,
    count_by_kind,
    redact,
    redact_bytes,
    require_clean,
)

__all__ = [
    "Hit",
    "Redacted",
    "RedactedBytes",
    "RedactionCount",
    "count_by_kind",
    "redact",
    "redact_bytes",
    "require_clean",
]
