"""Codex rollouts: one linear log per file, forks and reverts across files; existing files are read-only."""

from branchline.formats.codex.format import CODEX
from branchline.formats.codex.home import read_names
from branchline.formats.codex.log_index import CodexLogIndex, HistoryBase
from branchline.formats.codex.packed import unpack
from branchline.formats.codex.reader import CodexReader
from branchline.formats.codex.rollouts import (
    Rollout,
    RolloutChain,
    copied_entries,
    model_history,
    resolve_chain,
    rollout_name,
)

__all__ = [
    "CODEX",
    "CodexLogIndex",
    "CodexReader",
    "HistoryBase",
    "Rollout",
    "RolloutChain",
    "copied_entries",
    "model_history",
    "read_names",
    "resolve_chain",
    "rollout_name",
    "unpack",
]
