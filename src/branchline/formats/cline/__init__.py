"""Cline and the editor extensions derived from it: conversations as documents, rewritten as a whole."""

from branchline.formats.cline.format import CLINE

__all__ = ["CLINE"]
