"""Codex rollouts: one linear log per file, forks and reverts across files; existing files are read-only."""

from branchline.formats.codex.format import CODEX

__all__ = ["CODEX"]
