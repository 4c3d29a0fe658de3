"""Claude Code's transcripts, read and never written: a file per session, sub-agents in their own."""

from branchline.formats.claude_code.format import CLAUDE_CODE, ClaudeCodeFormat
from branchline.formats.claude_code.lineage import (
    Agent,
    AgentFile,
    Kinship,
    family_usage,
    find_agents,
    inline_agents,
    lineage,
)
from branchline.formats.claude_code.log_index import ClaudeCodeReading
from branchline.formats.claude_code.reader import ClaudeCodeReader

__all__ = [
    "CLAUDE_CODE",
    "Agent",
    "AgentFile",
    "ClaudeCodeFormat",
    "ClaudeCodeReader",
    "ClaudeCodeReading",
    "Kinship",
    "family_usage",
    "find_agents",
    "inline_agents",
    "lineage",
]
