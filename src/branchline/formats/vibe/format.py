"""Mistral Vibe's session format: detection and reading."""

from __future__ import annotations

import re

from branchline.context import ModelRef
from branchline.formats.entry_log import EntryLog
from branchline.formats.log_index import LogIndex
from branchline.formats.protocol import Format, FormatReader, FormatTraits
from branchline.formats.vibe.documents import VibeDocuments, session_of
from branchline.formats.vibe.home import VibeHome
from branchline.formats.vibe.reader import VibeReader
from branchline.formats.vibe.records import record_of

__all__ = ["VIBE"]


class VibeTraits(FormatTraits, frozen=True, kw_only=True):
    """The folder of a session is named after it."""

    def key_of(self, path: str) -> str:
        return session_of(path) or self.stem_of(path)


TRAITS = VibeTraits(name="vibe", suffix="", file_patterns=("*/CURRENT",), links=None, records_cost=False)


_MESSAGE = re.compile(rb'^\{"message":\{.*"source":"[a-z]+","turn_index":[0-9]+\}$', re.MULTILINE)


class VibeFormatReader(FormatReader[LogIndex]):
    """Reads sessions of Mistral Vibe 3."""

    log_reader = VibeReader
    decode = staticmethod(record_of)

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize the first line of joined files or, if it is damaged, a message."""
        del path
        return head.startswith(b'{"vibe":"') or _MESSAGE.search(head) is not None

    def answer_model(self, transcript: EntryLog[LogIndex], position: int) -> ModelRef | None:
        """Return None without decoding: Mistral Vibe does not record the model of an answer."""
        del transcript, position
        return None


VIBE = Format(traits=TRAITS, reader=VibeFormatReader(), home=VibeHome(), documents=VibeDocuments())
