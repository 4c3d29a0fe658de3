"""Session files of older Goose versions: a line of metadata, then a line for each message."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from branchline.entries import Header, json_codec
from branchline.formats.common.derived_format import EntryLines
from branchline.formats.goose.database import NAME, usage_line
from branchline.formats.goose.messages import GooseMessages
from branchline.formats.json_values import text_of
from branchline.formats.protocol import Content, DocumentFiles

__all__ = ["GooseFiles"]

_PATH = re.compile(r"/goose/sessions/[^/]+\.jsonl$")


class GooseFiles(DocumentFiles):
    """Session files from before Goose used a database."""

    def recognizes(self, path: str) -> bool:
        return _PATH.search(path) is not None

    def lines(self, content: Content, path: str, companion: Callable[[str], bytes | None]) -> Iterator[bytes]:
        del companion
        rows = content.read(0, content.size()).split(b"\n")
        first = json_codec.loads_object(rows[0]) or {}
        about = first if "role" not in first else {}
        lines = EntryLines(NAME)
        key = posixpath.basename(path).removesuffix(".jsonl")
        yield lines.header(Header(id=key, version=3, cwd=text_of(about.get("working_dir"))))
        messages = GooseMessages(lines, {})
        for number, line in enumerate(rows[1:] if about else rows):
            fields = json_codec.loads_object(line)
            if fields is None:
                if line.strip():
                    yield line + b"\n"  # damaged; the reader reports it
                continue
            yield from messages.take(
                text_of(fields.get("id")) or f"message-{number}",
                text_of(fields.get("role")),
                json_codec.dumps(fields.get("content")),
                fields.get("created"),
                json_codec.dumps(fields.get("metadata")),
            )
        given, made = (about.get(f"accumulated_{kind}_tokens") for kind in ("input", "output"))
        yield from usage_line(lines, "", given, made, {})
        if title := text_of(about.get("description")):
            yield lines.title(f"{key}/title", "", title)
