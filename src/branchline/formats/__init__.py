"""One module per program: how it writes sessions. Formats do not know each other."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from branchline.formats.base import Format, LabelState, Reader, Reading, Span
from branchline.formats.detect import OTHERS, detect, format_named, formats
from branchline.formats.feed import feed_from
from branchline.formats.peek import Peeked, peek, peek_header
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
    "PI",
    "PIGLET",
    "ZOT",
    "Format",
    "LabelState",
    "Peeked",
    "Reader",
    "Reading",
    "Span",
    "Transcript",
    "detect",
    "feed_from",
    "format_named",
    "formats",
    "peek",
    "peek_header",
]


def __getattr__(name: str) -> Any:
    """Load the format of another program when it is first asked for."""
    for module, format_ in OTHERS:
        if name == format_:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
