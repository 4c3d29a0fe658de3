"""Claude Code's transcripts, read and never written: a file per session, sub-agents in their own."""

from branchline.formats.claude_code.format import CLAUDE_CODE

__all__ = ["CLAUDE_CODE"]
