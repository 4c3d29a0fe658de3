"""One module per program: how it writes sessions. Formats do not know each other."""

from typing import TYPE_CHECKING, Any

from branchline.formats.detect import (
    BUILTIN_FORMATS,
    BuiltinFormat,
    agent_name,
    detect,
    format_named,
    formats,
)
from branchline.formats.entry_log import EntryLog
from branchline.formats.feed import feed_log
from branchline.formats.installed import BrokenFormat, installed_formats
from branchline.formats.peek import Peek, peek, peek_header, unpacked_head
from branchline.formats.pi import PI
from branchline.formats.protocol import ByteRange, Content, Format, LabelState, LogIndex, Reader

if TYPE_CHECKING:
    from branchline.formats.claude_code import CLAUDE_CODE
    from branchline.formats.codex import CODEX
    from branchline.formats.induscode import INDUSCODE
    from branchline.formats.oh_my_pi import OH_MY_PI
    from branchline.formats.operator import OPERATOR
    from branchline.formats.piglet import PIGLET
    from branchline.formats.zot import ZOT

__all__ = [
    "BUILTIN_FORMATS",
    "CLAUDE_CODE",
    "CODEX",
    "INDUSCODE",
    "OH_MY_PI",
    "OPERATOR",
    "PI",
    "PIGLET",
    "ZOT",
    "BrokenFormat",
    "BuiltinFormat",
    "ByteRange",
    "Content",
    "EntryLog",
    "Format",
    "LabelState",
    "LogIndex",
    "Peek",
    "Reader",
    "agent_name",
    "detect",
    "feed_log",
    "format_named",
    "formats",
    "installed_formats",
    "peek",
    "peek_header",
    "unpacked_head",
]


def __getattr__(name: str) -> Any:
    """Load the format of another program when it is first asked for."""
    for program in BUILTIN_FORMATS:
        if name == program.constant:
            return program.load()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
