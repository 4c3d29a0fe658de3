"""Which command continues a session, and where: decided here, run elsewhere."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable

import msgspec

from branchline.formats.continuing import CONTINUING
from branchline.library import SessionRow

__all__ = ["Going", "going_on"]


class Going(msgspec.Struct, frozen=True, kw_only=True):
    """A command and its directory. ``problem`` says why it cannot be run, ``note`` what to expect."""

    program: str
    command: tuple[str, ...]
    cwd: str | None
    problem: str | None = None
    moved: bool = False
    """The directory of the session is not there; running the command needs another one."""
    note: str | None = None

    @property
    def line(self) -> str:
        """The command as a person would type it, the directory included."""
        words = shlex.join(self.command)
        return words if self.cwd is None else f"cd {shlex.quote(self.cwd)} && {words}"


def going_on(
    row: SessionRow,
    agent: str,
    *,
    can_chat: bool,
    installed: Callable[[str], str | None] = shutil.which,
    is_directory: Callable[[str], bool] = os.path.isdir,
) -> Going:
    """How to go on with a session: in the program that owns it, else in ``branchline chat``."""
    known = CONTINUING.get(agent)
    chat = ("branchline", "chat", "--resume", row.path or row.id)
    note = None
    if known is not None and installed(known.words[0]) is not None:
        command, problem, note = known.command(path=row.path, id=row.id), None, known.note
    elif can_chat and (known is None or agent == "branchline"):
        command, problem = chat, None
    elif known is not None:
        command, note = known.command(path=row.path, id=row.id), known.note
        problem = f"{known.words[0]} is not installed here; the command can be copied with y"
    else:
        # A session of our own is one of pi's: that program opens it as it is.
        command = CONTINUING["pi"].command(path=row.path, id=row.id)
        problem = None
        if installed(command[0]) is None:
            problem = "neither branchline chat nor pi is installed here; the command can be copied with y"
    cwd = row.cwd or None
    moved = cwd is not None and not is_directory(cwd)
    return Going(program=command[0], command=command, cwd=cwd, problem=problem, moved=moved, note=note)
