"""The command line: results on stdout, remarks on stderr, exit codes for scripts.

Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted, 129 and 143 ended by SIGHUP and SIGTERM.
Modules are imported when they are needed: a command's module when the command runs, click when there is a
command.
"""

from __future__ import annotations

import gc
import sys

from branchline._version import __version__

__all__ = ["Terminated", "end_at_once", "main"]

_CLEANUP_SECONDS = 5.0


class Terminated(SystemExit):
    """The process got SIGTERM or SIGHUP. As after Ctrl-C, what is being written is removed."""

    by_signal = True


def main() -> None:
    """Run the command that the arguments of this process name, and exit."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from branchline.cli.streams import open_streams

        open_streams()
        print(f"branchline {__version__}")  # noqa: T201  needs no filter
        return
    _end_by_signals()
    gc.disable()  # looking for garbage takes a tenth of the time that loading takes; there is none
    try:
        from branchline.cli.app import cli
    except KeyboardInterrupt:  # later ones are handled by the app
        sys.exit(130)
    try:
        cli.main(prog_name="branchline")
    finally:
        gc.freeze()  # skips the garbage collection at exit


def end_at_once() -> None:
    """Let SIGTERM and SIGHUP end this process without cleanup, for servers that wait in other threads."""
    import signal

    for number in _signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _end_by_signals() -> None:
    """Raise Terminated on SIGTERM and SIGHUP, whose default leaves temporary files behind."""
    import signal
    import time

    ended = 0.0

    def end(number: int, _frame: object) -> None:
        nonlocal ended
        first, ended = not ended, ended or time.monotonic()
        if first:
            raise Terminated(128 + number)
        # A closing terminal often sends both signals: the second one must not interrupt the cleanup.
        if time.monotonic() - ended > _CLEANUP_SECONDS:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    for number in _signals():
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, end)


def _signals() -> list[int]:
    import signal

    # Windows has no SIGHUP.
    return [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
