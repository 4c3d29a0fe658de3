"""llm logs: threads over a shared message tree in a SQLite database; read-only."""

from branchline.formats.llm.format import LLM

__all__ = ["LLM"]
