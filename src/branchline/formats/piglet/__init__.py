"""piglet sessions: one tree per file, ending at the leaf; a fork is a new file that names its parent."""

from branchline.formats.piglet.format import PIGLET
from branchline.formats.piglet.reader import PigletReader

__all__ = ["PIGLET", "PigletReader", ""]
