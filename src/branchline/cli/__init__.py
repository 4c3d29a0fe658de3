"""The command line: results on stdout, remarks on stderr, exit codes for scripts.

Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted. Modules are imported when they are needed:
a command's module when the command runs, click when there is a command.
"""

from __future__ import annotations

import gc
import sys

from branchline._version import __version__

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments of this process name, and exit."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from branchline.cli.streams import open_streams

        open_streams()
        print(f"branchline {__version__}")  # noqa: T201  needs no filter
        return
    gc.disable()  # looking for garbage takes a tenth of the time that loading takes; there is none
    try:
        from branchline.cli.app import cli
    except KeyboardInterrupt:  # later ones are handled by the app
        sys.exit(130)
    try:
        cli.main(prog_name="branchline")
    finally:
        gc.freeze()  # skips the garbage collection at exit
