"""Gemini CLI's session format: detection and reading."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from branchline.context import ContextRules
from branchline.entries import Header
from branchline.formats.gemini.documents import GeminiDocuments
from branchline.formats.gemini.home import GeminiHome, ProjectRoot
from branchline.formats.gemini.log_index import GeminiLogIndex
from branchline.formats.gemini.reader import GeminiReader
from branchline.formats.gemini.records import record_of
from branchline.formats.json_values import dict_of
from branchline.formats.lines import begins_as
from branchline.formats.protocol import Format, FormatReader, FormatTraits, header_in

__all__ = ["GEMINI"]

_LOOKED_AT = 64
_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})
_CUT = re.compile(rb'\s*\{\s*"sessionId"\s*:\s*"[^"\\]*"\s*,\s*"projectHash"\s*:\s*"')

_AGE = re.compile(r"([0-9]{1,5})([hdwm])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}


class GeminiTraits(FormatTraits, frozen=True, kw_only=True):
    """Older releases wrote documents, which have another suffix. An age is a number with a unit."""

    def days_kept(self, settings: Mapping[str, Any]) -> float | None:
        retention = dict_of(dict_of(settings.get("general")).get("sessionRetention"))
        if retention.get("enabled") is False:
            return None
        age = retention.get("maxAge")
        found = _AGE.fullmatch(age) if isinstance(age, str) else None
        return self.keeps_days if found is None else int(found[1]) * _DAYS[found[2]]

    def key_of(self, path: str) -> str:
        return self.stem_of(path).removesuffix(".json")


TRAITS = GeminiTraits(
    name="gemini",
    records_cost=False,
    file_patterns=("*/chats/session-*.jsonl", "*/chats/session-*.json"),
    subagent_patterns=("*/chats/*/*.jsonl",),
    links=None,
    leaves_stubs=True,
    keeps_days=30,
    compaction_embeds_tail=True,
)


class GeminiFormatReader(FormatReader[GeminiLogIndex]):
    """Reads sessions of Gemini CLI up to 0.61."""

    log_reader = GeminiReader
    decode = staticmethod(record_of)
    context_rules = ContextRules(excluded_types=frozenset({"custom_message"}))

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize session metadata, a message, or a change of the list."""
        del path
        return begins_as(head, _LOOKED_AT, cut=_CUT, matches=_matches, may_match=_may_match)

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """Read the first line, which has everything but the working directory, which no line has."""
        return header_in(head, self.log_reader, path, whole=whole, needs_cwd=False)


def _matches(fields: dict[str, Any]) -> bool:
    if isinstance(fields.get("sessionId"), str) and isinstance(fields.get("projectHash"), str):
        return True
    if isinstance(change := fields.get("$set"), dict):
        return bool({"messages", "lastUpdated", "sessionId", "summary"} & change.keys())
    kind = fields.get("type")
    return kind == "gemini" and "content" in fields and isinstance(fields.get("id"), str)


def _may_match(fields: dict[str, Any]) -> bool:
    """Return whether a line may be from Gemini CLI too, although it is damaged or not specific."""
    if {"$set", "$rewindTo", "projectHash"} & fields.keys():
        return True
    plain = isinstance(kind := fields.get("type"), str) and kind in _TYPES
    return plain and "content" in fields and "message" not in fields


GEMINI = Format(
    traits=TRAITS,
    reader=GeminiFormatReader(),
    home=GeminiHome(),
    companion=ProjectRoot(),
    documents=GeminiDocuments(),
)
