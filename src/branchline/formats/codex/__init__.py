"""Codex rollouts, read and never written: one line of records per file, forks and reverts between files."""

from branchline.formats.codex.format import CODEX, CodexFormat
from branchline.formats.codex.packed import unpack
from branchline.formats.codex.reader import CodexReader
from branchline.formats.codex.reading import CodexReading, HistoryBase
from branchline.formats.codex.threads import (
    Chain,
    Rollout,
    copied_entries,
    model_history,
    read_names,
    resolve_chain,
    rollout_name,
)

__all__ = [
    "CODEX",
    "Chain",
    "CodexFormat",
    "CodexReader",
    "CodexReading",
    "HistoryBase",
    "Rollout",
    "copied_entries",
    "model_history",
    "read_names",
    "resolve_chain",
    "rollout_name",
    "unpack",
]
