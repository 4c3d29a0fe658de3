"""One module per program: how it writes sessions. Formats do not know each other."""

from branchline.formats.base import Format, LabelState, Reader, Reading, Span
from branchline.formats.detect import detect
from branchline.formats.feed import feed_from
from branchline.formats.induscode import INDUSCODE
from branchline.formats.oh_my_pi import OH_MY_PI
from branchline.formats.operator import OPERATOR
from branchline.formats.peek import peek_header
from branchline.formats.pi import PI
from branchline.formats.transcript import Transcript

__all__ = [
    "INDUSCODE",
    "OH_MY_PI",
    "OPERATOR",
    "PI",
    "Format",
    "LabelState",
    "Reader",
    "Reading",
    "Span",
    "Transcript",
    "detect",
    "feed_from",
    "peek_header",
]
