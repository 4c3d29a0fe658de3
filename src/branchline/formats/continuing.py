"""The command that continues a session, in the agent that owns it or in our own chat.

Each agent's command is data: it names the session file or the session id, whichever the agent takes. Agents
that can only be opened in a directory, and pick the session there, have a note that says so.

Ids, paths and directories come from session files, so each of them is checked before it becomes part of a
command: an id must have the shape that the agent gives its ids, which never begins with a dash; a path must
be absolute; nothing may contain control characters. Nothing is run here.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from typing import Literal

import msgspec

from branchline.errors import InvalidId, NotSupported

__all__ = [
    "RESUME_COMMANDS",
    "ResumeCommand",
    "ResumePlan",
    "command_line",
    "directory_problem",
    "plan_resume",
]

_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", re.ASCII)
_PLAIN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,127}", re.ASCII)
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # line separators, and what turns the writing direction
    "\ud800-\udfff]"  # bytes that are not UTF-8, among them control characters of eight-bit terminals
)
_QUOTED = 60


class ResumeCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a command; ``takes`` says what follows them: the file, the id (a UUID), or nothing."""

    argv: tuple[str, ...]
    takes: Literal["path", "uuid", "nothing"]
    note: str | None = None

    def command(self, *, path: str | None, id: str) -> tuple[str, ...]:  # noqa: A002
        """Return the command for one session.

        Raises InvalidId for an id that this agent cannot have given, NotSupported for a path that cannot be
        part of a command.
        """
        match self.takes:
            case "path":
                return (*self.argv, _place(path, id))
            case "uuid":
                if _UUID.fullmatch(id) is None:
                    raise InvalidId(
                        f"cannot continue session {_quoted(id)} with {self.argv[0]}: its id is not a UUID; "
                        "`branchline resume --here` continues a fork of it"
                    )
                return (*self.argv, id)
            case "nothing":
                return self.argv


def _place(path: str | None, id: str) -> str:  # noqa: A002
    """The file of a session as an argument, or its id if it has no file."""
    if path is None:
        if _PLAIN_ID.fullmatch(id) is None:
            raise InvalidId(f"cannot continue session {_quoted(id)}: its id cannot be part of a command")
        return id
    if _UNPRINTABLE.search(path) is not None:
        raise NotSupported(
            f"cannot continue {_quoted(path)}: its path has control characters; rename the file"
        )
    if not os.path.isabs(path):  # it could begin with a dash
        raise NotSupported(f"cannot continue {_quoted(path)}: its path is not absolute")
    return path


def _quoted(text: str) -> str:
    return ascii(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")


def directory_problem(cwd: str) -> str | None:
    """Return why a directory that a session names cannot be part of a command, or None if it can."""
    if _UNPRINTABLE.search(cwd) is not None:
        return f"the directory of this session has control characters in its name: {_quoted(cwd)}"
    if not os.path.isabs(cwd):
        return f"the directory of this session is not an absolute path: {_quoted(cwd)}"
    return None


def command_line(command: tuple[str, ...], cwd: str | None) -> str:
    """Return a command as you would type it in a shell, with the directory that it runs in."""
    words = shlex.join(command)
    return words if cwd is None else f"cd {shlex.quote(cwd)} && {words}"


RESUME_COMMANDS: dict[str, ResumeCommand] = {
    "pi": ResumeCommand(argv=("pi", "--session"), takes="path"),
    "oh-my-pi": ResumeCommand(argv=("omp", "--resume"), takes="path"),
    "zot": ResumeCommand(argv=("zot", "--session"), takes="path"),
    "claude-code": ResumeCommand(argv=("claude", "--resume"), takes="uuid"),
    "codex": ResumeCommand(argv=("codex", "resume"), takes="uuid"),
    "induscode": ResumeCommand(
        argv=("induscode", "--resume"), takes="nothing", note="induscode asks which session to resume"
    ),
    "operator": ResumeCommand(argv=("operator",), takes="nothing", note="choose the session in Operator"),
    "piglet": ResumeCommand(argv=("piglet",), takes="nothing", note="choose the session in piglet"),
}


class ResumePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A command and the directory for it; ``note`` says what to expect of it."""

    program: str
    command: tuple[str, ...]
    cwd: str | None
    """The directory that the session names, if it can be part of a command."""
    unusable: str | None = None
    """Why the command cannot run in the directory that the session names: running it needs another one."""
    not_installed: str | None = None
    """The program that owns the session, where it is not installed and the session goes on here."""
    note: str | None = None

    @property
    def is_ours(self) -> bool:
        """Whether the session continues in our own chat."""
        return self.program == "branchline"

    @property
    def shell_command(self) -> str:
        """The command as you would type it, the directory included."""
        return command_line(self.command, self.cwd)


def plan_resume(
    agent: str,
    *,
    path: str | None,
    id: str,  # noqa: A002
    cwd: str | None,
    installed: Callable[[str], str | None],
    is_directory: Callable[[str], bool],
    here: bool = False,
) -> ResumePlan:
    """Return the command that continues a session: in its agent if that is installed, else our own chat.

    Our chat continues its own sessions directly and other agents' sessions in a fork; ``here`` asks for a
    fork in any case. ``path`` is absolute. Raises InvalidId or NotSupported if the session's id or path
    cannot be part of a command.
    """
    known = None if here else RESUME_COMMANDS.get(agent)
    note: str | None = None
    missing: str | None = None
    if known is not None and installed(known.argv[0]) is not None:
        command, note = known.command(path=path, id=id), known.note
    else:
        ours = agent not in RESUME_COMMANDS and not here
        command = ("branchline", "chat", "--resume" if ours else "--fork", _place(path, id))
        if known is not None:
            missing = known.argv[0]
            note = f"{missing} is not installed here: it goes on in branchline chat, in a fork of the session"
    unusable = directory_problem(cwd) if cwd else None
    usable = cwd if cwd and unusable is None else None
    if usable is not None and not is_directory(usable):
        unusable = f"the directory of this session is gone: {usable}"
    return ResumePlan(
        program=command[0],
        command=command,
        cwd=usable,
        unusable=unusable,
        not_installed=missing,
        note=note,
    )
