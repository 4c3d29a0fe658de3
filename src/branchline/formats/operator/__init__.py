"""Operator sessions: reading, and writing as Operator does."""

from branchline.formats.operator.format import OPERATOR

__all__ = ["OPERATOR", ""]
