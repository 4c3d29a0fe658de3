"""The secrets that an export would replace, for review: each once, with its kind and its context."""

from __future__ import annotations

import re

import msgspec

from branchline.actions.export import ExportRequest, page_lines
from branchline.actions.redactor import private_patterns
from branchline.actions.secret_places import SecretFinding, entry_finder, facts_of
from branchline.redaction import KnownValues, redact_bytes, secrets_in
from branchline.session import Session

__all__ = ["SecretFinding", "review"]

_CONTEXT = 28
_QUOTE = re.compile(rb'(?<!\\)"')
_ID = re.compile(rb'"(?:id|uuid)"\s*:\s*"([^"\\]{1,128})"')


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
        ids = (named[1].decode("utf-8", "replace") for named in _ID.finditer(data, line_start, line_end))
        entry = next((each for each in ids if each in session.transcript.tree), places.get(value))
        role, time = facts_of(session, entry)
        found[kind, value] = SecretFinding(
            kind=kind,
            value=value,
            count=1,
            before=_before(data[first:start]),
            after=_readable(_QUOTE.split(data[end:last])[0]),
            entry=entry,
            role=role,
            time=time,
        )

    patterns = private_patterns() if request.portable else []
    known = KnownValues()
    places: dict[str, str] = {}
    if request.redact:
        entry_at = entry_finder(session)
        offset = 0
        for block in session.transcript.blocks():
            for start, end, kind in redact_bytes(block).hits:
                value = block[start:end].decode("utf-8", "replace")
                known.learn(value, kind)
                if value not in places and (entry := entry_at(offset + start)) is not None:
                    places[value] = entry
            offset += len(block)
    for block in page_lines(session, request):
        hits = secrets_in(block, known) if request.redact else []
        spans = [(hit.start, hit.end, hit.kind) for hit in hits]
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
