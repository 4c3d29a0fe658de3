"""The command line: results on stdout, remarks on stderr, exit codes for scripts.

0 is success, 1 a file or session that is bad or not there, 2 a wrong call, 130 an interruption. Nothing
here is imported before it is needed: a command's module when the command runs, click when there is one.
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
        print(f"branchline {__version__}")  # noqa: T201  the one line that needs no filter
        return
    gc.disable()  # looking for garbage takes a tenth of the time that loading takes; there is none
    try:
        from branchline.cli.app import cli
    except KeyboardInterrupt:  # what comes later is caught there
        sys.exit(130)
    try:
        cli.main(prog_name="branchline")
    finally:
        gc.freeze()  # so that the interpreter does not look for garbage in all there is before it ends
