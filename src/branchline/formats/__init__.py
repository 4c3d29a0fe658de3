"""One module per program: how it writes sessions. Formats do not know each other."""

from typing import TYPE_CHECKING, Any

from branchline.formats.base import Content, Format, LabelState, Reader, Reading, Span, Survey
from branchline.formats.detect import OTHERS, Program, detect, format_named, formats
from branchline.formats.feed import feed_from
from branchline.formats.installed import BrokenFormat, installed
from branchline.formats.peek import Peek, peek, peek_header, unpacked_head
from branchline.formats.pi import PI
from branchline.formats.transcript import Transcript

if TYPE_CHECKING:
    from branchline.formats.claude_code import CLAUDE_CODE
    from branchline.formats.codex import CODEX
    from branchline.formats.induscode import INDUSCODE
    from branchline.formats.oh_my_pi import OH_MY_PI
    from branchline.formats.operator import OPERATOR
    from branchline.formats.piglet import PIGLET
    from branchline.formats.zot import ZOT

__all__ = [
    "CLAUDE_CODE",
    "CODEX",
    "INDUSCODE",
    "OH_MY_PI",
    "OPERATOR",
    "OTHERS",
    "PI",
    "PIGLET",
    "ZOT",
    "BrokenFormat",
    "Content",
    "Format",
    "LabelState",
    "Peek",
    "Program",
    "Reader",
    "Reading",
    "Span",
    "Survey",
    "Transcript",
    "detect",
    "feed_from",
    "format_named",
    "formats",
    "installed",
    "peek",
    "peek_header",
    "unpacked_head",
]


def __getattr__(name: str) -> Any:
    """Load the format of another program when it is first asked for."""
    for program in OTHERS:
        if name == program.constant:
            return program.load()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
