"""oh-my-pi: a relative of pi whose files begin with a title slot and have additional entry types."""

from branchline.formats.oh_my_pi.format import OH_MY_PI
from branchline.formats.oh_my_pi.path_state import PathState, path_state

__all__ = ["OH_MY_PI", "PathState", "path_state"]
