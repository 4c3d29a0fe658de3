"""Claude Code transcripts: one file per session and sub-agent; existing files are read-only."""

from branchline.formats.claude_code.format import CLAUDE_CODE
from branchline.formats.claude_code.log_index import ClaudeCodeLogIndex
from branchline.formats.claude_code.reader import ClaudeCodeReader

__all__ = ["CLAUDE_CODE", "ClaudeCodeLogIndex", "ClaudeCodeReader"]
