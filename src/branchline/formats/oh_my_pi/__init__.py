"""oh-my-pi: a program of pi's family whose files begin with a title slot and hold entries of its own."""

from branchline.formats.oh_my_pi.format import OH_MY_PI
from branchline.formats.oh_my_pi.path_state import PathState, path_state

__all__ = ["OH_MY_PI", "PathState", "path_state"]
