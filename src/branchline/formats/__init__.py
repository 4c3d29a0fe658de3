"""Session formats, one package per agent. Formats do not import each other."""

from typing import TYPE_CHECKING, Any

from branchline import _lazy
from branchline.formats.detect import BUILTIN_FORMATS, BuiltinFormat, agent_name, builtin_formats, detect
from branchline.formats.peek import Peek, peek, unpacked_head
from branchline.formats.pi import PI
from branchline.formats.protocol import (
    CompanionFile,
    CompressedFiles,
    Content,
    DatabaseSessions,
    DocumentFiles,
    EntryTexts,
    ExternalParts,
    Format,
    FormatHome,
    FormatReader,
    FormatTraits,
    FormatWriter,
    ImportedFiles,
    LogReader,
    Query,
    ReadingLimits,
    SessionFacts,
    SessionVersion,
    SettingsFile,
    SplitFiles,
    TitleFiles,
)

if TYPE_CHECKING:
    from branchline.formats.claude_code import CLAUDE_CODE
    from branchline.formats.cline import CLINE
    from branchline.formats.codex import CODEX
    from branchline.formats.conformance import FormatContract
    from branchline.formats.copilot import COPILOT
    from branchline.formats.entry_log import EntryLog
    from branchline.formats.entry_text import EntryText
    from branchline.formats.feed import feed_log
    from branchline.formats.gemini import GEMINI
    from branchline.formats.goose import GOOSE
    from branchline.formats.induscode import INDUSCODE
    from branchline.formats.jsonl import JsonlReader
    from branchline.formats.kimi import KIMI
    from branchline.formats.llm import LLM
    from branchline.formats.log_index import ByteRange, LabelState, LogIndex
    from branchline.formats.oh_my_pi import OH_MY_PI
    from branchline.formats.opencode import OPENCODE
    from branchline.formats.operator import OPERATOR
    from branchline.formats.piglet import PIGLET
    from branchline.formats.qwen import QWEN
    from branchline.formats.vibe import VIBE
    from branchline.formats.zot import ZOT

__all__ = [
    "BUILTIN_FORMATS",
    "CLAUDE_CODE",
    "CLINE",
    "CODEX",
    "COPILOT",
    "GEMINI",
    "GOOSE",
    "INDUSCODE",
    "KIMI",
    "LLM",
    "OH_MY_PI",
    "OPENCODE",
    "OPERATOR",
    "PI",
    "PIGLET",
    "QWEN",
    "VIBE",
    "ZOT",
    "BuiltinFormat",
    "ByteRange",
    "CompanionFile",
    "CompressedFiles",
    "Content",
    "DatabaseSessions",
    "DocumentFiles",
    "EntryLog",
    "EntryText",
    "EntryTexts",
    "ExternalParts",
    "Format",
    "FormatContract",
    "FormatHome",
    "FormatReader",
    "FormatTraits",
    "FormatWriter",
    "ImportedFiles",
    "JsonlReader",
    "LabelState",
    "LogIndex",
    "LogReader",
    "Peek",
    "Query",
    "ReadingLimits",
    "SessionFacts",
    "SessionVersion",
    "SettingsFile",
    "SplitFiles",
    "TitleFiles",
    "agent_name",
    "builtin_formats",
    "detect",
    "feed_log",
    "peek",
    "unpacked_head",
]

_READING = {
    "conformance": ("FormatContract",),
    "entry_log": ("EntryLog",),
    "entry_text": ("EntryText",),
    "feed": ("feed_log",),
    "jsonl": ("JsonlReader",),
    "log_index": ("ByteRange", "LabelState", "LogIndex"),
}


def __getattr__(name: str) -> Any:
    """Load an agent's format, or what only reading a file needs, on first access."""
    for program in BUILTIN_FORMATS:
        if name == program.name.replace("-", "_").upper():
            return program.load()
    return _lazy.lazy_attribute(__name__, _READING, name)
