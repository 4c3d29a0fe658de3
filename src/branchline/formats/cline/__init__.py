"""Cline and the editor extensions that came from it: conversations as documents, rewritten as a whole."""

from branchline.formats.cline.format import CLINE

__all__ = ["CLINE"]
