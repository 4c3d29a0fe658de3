"""llm's log format: a database whose rows become native entries."""

from __future__ import annotations

from branchline.formats.llm.database import LlmDatabase
from branchline.formats.llm.home import LlmHome
from branchline.formats.llm.log_index import NAME
from branchline.formats.llm.records import LlmFormatReader
from branchline.formats.protocol import Format, FormatTraits

__all__ = ["LLM"]

LLM = Format(
    traits=FormatTraits(
        name=NAME, suffix=".db", file_patterns=("logs.db",), records_cost=False, records_cwd=False
    ),
    reader=LlmFormatReader(),
    home=LlmHome(),
    database=LlmDatabase(),
)
