"""piglet: one tree per file, the last line is the leaf; forks are files that name their parent."""

from branchline.formats.piglet.format import PIGLET, PigletFormat
from branchline.formats.piglet.reader import PigletReader

__all__ = ["PIGLET", "PigletFormat", "PigletReader"]
