"""The secrets that an export would replace, for review: each once, with its kind and its context."""

from __future__ import annotations

import re

import msgspec

from branchline.actions.export import ExportRequest, page_lines
from branchline.actions.redactor import private_patterns
from branchline.redaction import redact_bytes
from branchline.session import Session

__all__ = ["SecretFinding", "review"]

_CONTEXT = 28
_QUOTE = re.compile(rb'(?<!\\)"')
_ID = re.compile(rb'"(?:id|uuid)"\s*:\s*"([^"\\]{1,128})"')


class SecretFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A secret or a local name, with all its occurrences."""

    kind: str
    value: str
    """The text in the session file."""
    count: int
    before: str
    """The text before its first occurrence."""
    after: str
    entry: str | None
    """The entry of its first occurrence, if the line has an id."""


def review(session: Session, request: ExportRequest) -> list[SecretFinding]:
    """Return what an export would replace, by kind, the most frequent first."""
    found: dict[tuple[str, str], SecretFinding] = {}

    def note(kind: str, data: bytes, start: int, end: int, between: tuple[int, int]) -> None:
        """``between``: where the finding before this one ends, and where the next one begins."""
        value = data[start:end].decode("utf-8", "replace")
        known = found.get((kind, value))
        if known is not None:
            found[kind, value] = msgspec.structs.replace(known, count=known.count + 1)
            return
        line_start, line_end = data.rfind(b"\n", 0, start) + 1, data.find(b"\n", end)
        line_end = len(data) if line_end < 0 else line_end
        first, last = max(line_start, start - _CONTEXT, between[0]), min(line_end, end + _CONTEXT, between[1])
        named = _ID.search(data, line_start, line_end)
        found[kind, value] = SecretFinding(
            kind=kind,
            value=value,
            count=1,
            before=_before(data[first:start]),
            after=_readable(_QUOTE.split(data[end:last])[0]),
            entry=None if named is None else named[1].decode("utf-8", "replace"),
        )

    patterns = private_patterns() if request.portable else []
    for block in page_lines(session, request):
        spans = [(hit.start, hit.end, hit.kind) for hit in redact_bytes(block).hits] if request.redact else []
        text = block.decode("latin-1") if patterns else ""
        for kind, pattern, _ in patterns:
            spans += [(*match.span(), kind) for match in pattern.finditer(text)]
        spans.sort()
        starts, ends = [span[0] for span in spans], [span[1] for span in spans]
        for (start, end, kind), before, after in zip(
            spans, [0, *ends], [*starts[1:], len(block)], strict=False
        ):
            note(kind, block, start, end, (min(before, start), max(after, end)))
    return sorted(found.values(), key=lambda one: (one.kind, -one.count, one.value))


def _before(data: bytes) -> str:
    """The text before a finding, or the name of the field whose value it is."""
    inside = _QUOTE.split(data)[-1]
    return _readable(inside if inside.strip() else data)


def _readable(data: bytes) -> str:
    """Part of a line without JSON escapes."""
    text = data.decode("utf-8", "replace")
    return re.sub(r"\\[nrt]", " ", text).replace('\\"', '"').replace("\\\\", "\\")
