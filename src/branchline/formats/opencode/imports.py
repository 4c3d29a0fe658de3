"""Sessions reach opencode through its own import, which also finds the project of the directory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from branchline.formats.opencode.log_index import OpencodeLogIndex
from branchline.formats.protocol import ImportedFiles

if TYPE_CHECKING:
    from branchline.formats.opencode.writer import OpencodeWriter

__all__ = ["CANNOT", "NAME", "OpencodeImport"]

NAME = "opencode"
CANNOT = {
    "branch": "an opencode session is linear; write one session for each branch",
    "label": "opencode has no labels",
    "model_change": "opencode names the model in every message",
    "thinking_level_change": "opencode does not record how hard a model thinks",
    "context_edit": "opencode keeps every message as it is",
    "custom": "opencode has no place for data of extensions",
    "custom_message": "opencode has only prompts and answers",
    "branch_summary": "an opencode session is linear, without branches",
    "usage": "opencode records tokens in answers only",
    "leaf": "an opencode session is linear",
    "message": "opencode has only prompts, answers and tool results",
    "result": "an opencode tool result is part of the answer with its call",
    "kept": "an opencode compaction keeps whole messages from one of them on",
    "summary": "an opencode compaction has a summary",
    "twice": "opencode would repeat the summary of an older compaction among the messages that are kept",
}


class OpencodeImport(ImportedFiles[OpencodeLogIndex]):
    """Makes documents for ``opencode import``."""

    unsupported = CANNOT
    command = ("opencode", "import")

    @cached_property
    def writer(self) -> OpencodeWriter:  # type: ignore[override]
        from branchline.formats.opencode.writer import OpencodeWriter  # noqa: PLC0415  most sessions are read

        return OpencodeWriter()

    def document(self, lines: bytes) -> bytes:
        from branchline.formats.opencode.documents import document_of  # noqa: PLC0415  as above

        return document_of(lines)
