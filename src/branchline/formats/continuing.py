"""How to go on with a session: in the program that owns it, or in our own chat. Decided here, run elsewhere.

What each program is asked with is data. A command names the file or the session id, whichever the program
takes. Programs that can only be opened in a directory, and pick the session there, have a note that says so.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Literal

import msgspec

__all__ = ["RESUME_COMMANDS", "ResumeCommand", "ResumePlan", "plan_resume"]


class ResumeCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a command; ``takes`` says what follows them: the file, the id, or nothing."""

    argv: tuple[str, ...]
    takes: Literal["path", "id", "nothing"]
    note: str | None = None

    def command(self, *, path: str | None, id: str) -> tuple[str, ...]:  # noqa: A002
        """The command for one session."""
        match self.takes:
            case "path":
                return (*self.argv, path or id)
            case "id":
                return (*self.argv, id)
            case "nothing":
                return self.argv


RESUME_COMMANDS: dict[str, ResumeCommand] = {
    "pi": ResumeCommand(argv=("pi", "--session"), takes="path"),
    "oh-my-pi": ResumeCommand(argv=("omp", "--resume"), takes="path"),
    "zot": ResumeCommand(argv=("zot", "--session"), takes="path"),
    "claude-code": ResumeCommand(argv=("claude", "--resume"), takes="id"),
    "codex": ResumeCommand(argv=("codex", "resume"), takes="id"),
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
    cwd_missing: bool = False
    """The directory of the session is not there; running the command needs another one."""
    not_installed: str | None = None
    """The program that owns the session, where it is not installed and the session goes on here."""
    note: str | None = None

    @property
    def shell_command(self) -> str:
        """The command as a person would type it, the directory included."""
        words = shlex.join(self.command)
        return words if self.cwd is None else f"cd {shlex.quote(self.cwd)} && {words}"


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
    """How to go on with a session of this program: there if it is installed, else in a fork in our own chat.

    A session of our own goes on as it is. ``here`` wants a fork in our own chat in any case.
    """
    known = None if here else RESUME_COMMANDS.get(agent)
    note: str | None = None
    missing: str | None = None
    if known is not None and installed(known.argv[0]) is not None:
        command, note = known.command(path=path, id=id), known.note
    else:
        ours = agent not in RESUME_COMMANDS and not here
        command = ("branchline", "chat", "--resume" if ours else "--fork", path or id)
        if known is not None:
            missing = known.argv[0]
            note = f"{missing} is not installed here: it goes on in branchline chat, in a fork of the session"
    return ResumePlan(
        program=command[0],
        command=command,
        cwd=cwd or None,
        cwd_missing=bool(cwd) and not is_directory(cwd or ""),
        not_installed=missing,
        note=note,
    )
