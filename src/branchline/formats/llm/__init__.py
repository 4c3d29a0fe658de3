"""llm: threads over a shared tree of messages in a SQLite database, read-only here."""

from branchline.formats.llm.format import LLM

__all__ = ["LLM"]
