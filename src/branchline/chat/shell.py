"""Shell commands of the user: streaming output, exit code, and stopping them."""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from branchline.entries import BashExecution
from branchline.programs import safe_environment

__all__ = ["MAX_OUTPUT", "ShellCommand"]

MAX_OUTPUT = 50_000
"""How many characters of an output are kept: its end, where the outcome is."""
_PIECE = 1 << 16
_GRACE = 2.0  # seconds between asking a command to end and making it


class ShellCommand:
    """A shell command. :meth:`run` returns the message for the session; :meth:`stop` ends it early."""

    def __init__(self, command: str, cwd: str | None) -> None:
        self._command = command
        self._cwd = cwd
        self._process: asyncio.subprocess.Process | None = None
        self._stopped = False

    async def run(self, show: Callable[[str], object], *, in_context: bool) -> BashExecution:
        """Run it; ``show`` gets the output line by line. Raises OSError without a shell or the directory."""
        process = self._process = await asyncio.create_subprocess_shell(
            self._command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self._cwd,
            env=_environment(self._cwd),
            start_new_session=True,  # so that what it starts ends with it, and Ctrl-C is ours to handle
        )
        if self._stopped:
            self._end(signal.SIGTERM)
        try:
            output, truncated = await self._output(process, show)
            code = await process.wait()
        except BaseException:
            self._end(signal.SIGKILL)
            raise
        return BashExecution(
            command=self._command,
            output=output,
            exit_code=None if self._stopped else code,
            cancelled=self._stopped,
            truncated=truncated,
            exclude_from_context=None if in_context else True,
        )

    def stop(self) -> None:
        """Terminate it, and kill it if it does not end."""
        if self._stopped:
            self._end(signal.SIGKILL)
            return
        self._stopped = True
        if self._process is not None:
            self._end(signal.SIGTERM)
            asyncio.get_running_loop().call_later(_GRACE, self._end, signal.SIGKILL)

    async def _output(
        self, process: asyncio.subprocess.Process, show: Callable[[str], object]
    ) -> tuple[str, bool]:
        """Return the output, or its end if it is long, and whether it was truncated."""
        assert process.stdout is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        kept, line, truncated = "", "", False
        while piece := await process.stdout.read(_PIECE):
            text = decoder.decode(piece)
            *lines, line = (line + text).split("\n")
            for each in lines:
                show(each)
            kept += text
            if len(kept) > 2 * MAX_OUTPUT:
                kept, truncated = kept[-MAX_OUTPUT:], True
        rest = decoder.decode(b"", final=True)
        if line + rest:
            show(line + rest)
        kept += rest
        return kept[-MAX_OUTPUT:], truncated or len(kept) > MAX_OUTPUT

    def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, how)


def _environment(cwd: str | None) -> dict[str, str] | None:
    """Return the environment; relative ``PATH`` entries would mean another directory there."""
    if cwd is None or os.path.realpath(cwd) == os.path.realpath(os.getcwd()):
        return None
    return safe_environment()
