"""Kimi Code's session format: detection and reading."""

from __future__ import annotations

import re
from typing import Any

from branchline.context import ContextRules
from branchline.entries import Header
from branchline.formats.kimi.home import KimiHome, StateFile
from branchline.formats.kimi.log_index import KimiLogIndex, wire_path
from branchline.formats.kimi.reader import KimiReader
from branchline.formats.kimi.records import record_of
from branchline.formats.lines import begins_as
from branchline.formats.protocol import Format, FormatReader, FormatTraits, header_in

__all__ = ["KIMI"]

_HEAD_LINES = 64
_CUT = re.compile(rb'\s*\{\s*"type"\s*:\s*"(?:metadata"\s*,\s*"protocol_version"|context\.append_)')
_KINDS = re.compile(
    r"(?:context|turn|agent|llm|usage|token_counting|runtime|profile|permission|prompt|plugin)\.[a-z_.]+"
)


class KimiTraits(FormatTraits, frozen=True, kw_only=True):
    """All files have the same name; their folders are named after the sessions and agents."""

    def key_of(self, path: str) -> str:
        place = wire_path(path)
        if place is None:
            return self.stem_of(path)
        return place.session if place.agent == "main" else f"{place.session}.{place.agent}"


TRAITS = KimiTraits(
    name="kimi",
    records_cost=False,
    file_patterns=("*/*/agents/main/wire.jsonl",),
    subagent_patterns=("*/*/agents/*/wire.jsonl",),
    links=None,
    compaction_embeds_tail=True,
)


class KimiFormatReader(FormatReader[KimiLogIndex]):
    """Reads sessions of Kimi Code 2."""

    log_reader = KimiReader
    decode = staticmethod(record_of)
    context_rules = ContextRules(excluded_types=frozenset({"custom_message"}))

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize the protocol version line, or Kimi Code events with their times."""
        del path
        return begins_as(head, _HEAD_LINES, cut=_CUT, matches=_matches, may_match=_may_match)

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """Read further than the first line: the working directory is in one of the first events."""
        return header_in(head, self.log_reader, path, whole=whole, lines=3)


def _may_match(fields: dict[str, Any]) -> bool:
    return bool({"time", "protocol_version"} & fields.keys())


def _matches(fields: dict[str, Any]) -> bool:
    kind = fields.get("type")
    if not isinstance(kind, str) or "payload" in fields or "data" in fields:
        return False
    if kind == "metadata":
        return "protocol_version" in fields
    return _KINDS.fullmatch(kind) is not None and isinstance(fields.get("time"), int | float)


KIMI = Format(traits=TRAITS, reader=KimiFormatReader(), home=KimiHome(), companion=StateFile())
