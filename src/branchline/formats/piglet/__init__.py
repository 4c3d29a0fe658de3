"""piglet: one tree per file, the last line is the leaf; forks are files that name their parent."""

from branchline.formats.piglet.format import PIGLET
from branchline.formats.piglet.reader import PigletReader

__all__ = ["PIGLET", "PigletReader", ""]
