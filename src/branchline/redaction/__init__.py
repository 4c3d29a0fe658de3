"""Secrets in texts and session files: rules as data, and the engine that applies them.

:func:`redact` is the entry point for text, :func:`redact_bytes` for the lines of a session file. Both return
the redacted content and the list of replaced secrets (:class:`Hit`). :class:`KnownValues` are secrets that
were found, which :func:`redact_known` and :func:`redact_known_bytes` replace wherever else they stand.
:func:`explain` names the rule that decided about each value in a text.
"""

from __future__ import annotations

from branchline.redaction.engine import (
    Hit,
    Reason,
    Redacted,
    RedactedBytes,
    RedactionCount,
    count_by_kind,
    explain,
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
    "Reason",
    "Redacted",
    "RedactedBytes",
    "RedactionCount",
    "count_by_kind",
    "explain",
    "has_own_form",
    "redact",
    "redact_bytes",
    "redact_known",
    "redact_known_bytes",
    "secrets_in",
]
