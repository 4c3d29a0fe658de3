"""What branchline can do with the sessions of each agent, derived from its format."""

from __future__ import annotations

import msgspec

from branchline.formats import Format
from branchline.formats.resume_commands import RESUME_COMMANDS
from branchline.plugins.formats import formats

__all__ = ["FormatSupport", "supported_formats"]


class FormatSupport(msgspec.Struct, frozen=True, kw_only=True):
    """The support for one agent, as words for a table; empty for what is not possible."""

    name: str
    read: str
    written: str
    continued: str
    searched: str
    followed: str
    cost: str


def supported_formats() -> list[FormatSupport]:
    """Return every known format, by name."""
    return sorted(map(_support, formats()), key=lambda support: support.name)


def _support(format_: Format) -> FormatSupport:
    command = RESUME_COMMANDS.get(format_.name)
    continued = ""
    if command is not None:
        continued = "after a copy" if command.deletes else "in the program"
    return FormatSupport(
        name=format_.name,
        read=_read(format_),
        written=_written(format_),
        continued=continued,
        searched="yes",
        followed="yes" if "lines" in _read(format_) else "read again",
        cost="recorded" if format_.traits.records_cost else "from prices",
    )


def _read(format_: Format) -> str:
    if format_.database is not None:
        return "databases"
    kinds = [] if format_.documents is None else ["documents"]
    if any(pattern.endswith(("jsonl", ".zst", "ndjson")) for pattern in format_.traits.file_patterns):
        kinds.insert(0, "lines")
    return " and ".join(kinds)


def _written(format_: Format) -> str:
    if format_.imports is not None:
        return "for its import"
    if format_.writer is None:
        return ""
    return "appended to" if format_.is_appendable else "new files"
