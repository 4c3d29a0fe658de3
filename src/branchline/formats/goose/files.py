"""Session files of older Goose versions: a line of metadata, then a line for each message."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

from branchline.entries import Header, json_codec
from branchline.formats.common.derived_lines import EntryLines
from branchline.formats.goose.database import end_line
from branchline.formats.goose.log_index import NAME
from branchline.formats.json_values import text_of
from branchline.formats.protocol import Content, DocumentFiles

__all__ = ["GooseFiles"]


class GooseFiles(DocumentFiles):
    """Session files from before Goose used a database."""

    def recognizes(self, path: str) -> bool:
        return path.endswith(".jsonl") and posixpath.dirname(path).endswith("/goose/sessions")

    def lines(self, content: Content, path: str, companion: Callable[[str], bytes | None]) -> Iterator[bytes]:
        del companion
        data = content.read(0, content.size())
        first, _, rest = data.partition(b"\n")
        about = json_codec.loads_object(first) or {}
        if not about or "role" in about:
            about, rest = {}, data
        key = posixpath.basename(path).removesuffix(".jsonl")
        yield EntryLines(NAME).header(Header(id=key, version=3, cwd=text_of(about.get("working_dir"))))
        yield rest
        if rest and not rest.endswith(b"\n"):
            yield b"\n"
        yield end_line(
            session=key,
            title=text_of(about.get("description")),
            given=about.get("accumulated_input_tokens"),
            made=about.get("accumulated_output_tokens"),
        )
