"""Goose sessions: a SQLite database, or JSONL files of older versions; read-only."""

from branchline.formats.goose.format import GOOSE

__all__ = ["GOOSE"]
