"""Claude Code transcripts: one file per session and sub-agent; existing files are read-only."""

from branchline.formats.claude_code.format import CLAUDE_CODE

__all__ = ["CLAUDE_CODE"]
