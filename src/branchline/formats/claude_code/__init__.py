"""Claude Code's transcripts, read and never written: a file per session, sub-agents in their own."""

from branchline.formats.claude_code.format import CLAUDE_CODE
from branchline.formats.claude_code.log_index import ClaudeCodeReading
from branchline.formats.claude_code.reader import ClaudeCodeReader

__all__ = ["CLAUDE_CODE", "ClaudeCodeReader", "ClaudeCodeReading"]
