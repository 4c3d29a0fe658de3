"""Goose's session format: a database, or older files, whose messages become native entries."""

from __future__ import annotations

from branchline.formats.common.derived_format import DerivedFormatReader
from branchline.formats.goose.database import NAME, GooseDatabase
from branchline.formats.goose.files import GooseFiles
from branchline.formats.goose.home import GooseHome
from branchline.formats.protocol import Format, FormatTraits

__all__ = ["GOOSE"]

GOOSE = Format(
    traits=FormatTraits(name=NAME, file_patterns=("*.db", "*.jsonl"), records_cost=False),
    reader=DerivedFormatReader(NAME),
    home=GooseHome(),
    database=GooseDatabase(),
    documents=GooseFiles(),
)
