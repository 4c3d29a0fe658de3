"""The commands that continue sessions in the agents that own them.

Each agent's command is data: it names the session file or the session id, whichever the agent takes. Agents
that can only be opened in a directory, and pick the session there, have a note that says so.

Ids, paths and directories come from session files, so each of them is checked before it becomes part of a
command: an id must have the shape that the agent gives its ids, which never begins with a dash; a path must
be absolute; nothing may contain control characters. Nothing is run here.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import Literal

import msgspec

from branchline.errors import InvalidId, NotSupported

__all__ = [
    "RESUME_COMMANDS",
    "ResumeCommand",
    "command_line",
    "directory_problem",
    "session_argument",
]

_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", re.ASCII)
_PLAIN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,127}", re.ASCII)
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters
    # line separators, and characters that change the writing direction
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff]"  # bytes that are not UTF-8, among them control characters of eight-bit terminals
)
_QUOTED = 60


class ResumeCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a command, and what follows them: the file, an id, a UUID, or nothing."""

    argv: tuple[str, ...]
    takes: Literal["path", "uuid", "id", "nothing"]
    note: str | None = None
    deletes: str | None = None
    """Why this command may delete the session, as text; None if it cannot."""

    @property
    def opens_any_file(self) -> bool:
        """Whether the agent opens sessions that are not where it looks for them."""
        return self.takes == "path"

    def command(self, *, path: str | None, id: str) -> tuple[str, ...]:  # noqa: A002
        """Return the command for one session.

        Raises InvalidId for an id that this agent cannot have given, NotSupported for a path that cannot be
        part of a command.
        """
        match self.takes:
            case "path":
                return (*self.argv, session_argument(path, id))
            case "uuid":
                if _UUID.fullmatch(id) is None:
                    raise InvalidId(
                        f"cannot continue session {_quoted(id)} with {self.argv[0]}: its id is not a UUID; "
                        "`branchline resume --here` continues a fork of it"
                    )
                return self._followed_by(id)
            case "id":
                return self._followed_by(session_argument(None, id))
            case "nothing":
                return self.argv

    def _followed_by(self, id: str) -> tuple[str, ...]:  # noqa: A002
        """Return the arguments and the id, joined to the last one if that ends with an equals sign."""
        *arguments, last = self.argv
        return (*arguments, last + id) if last.endswith("=") else (*self.argv, id)


def session_argument(path: str | None, id: str) -> str:  # noqa: A002
    """Return the file of a session as an argument, or its id if it has no file.

    Raises InvalidId or NotSupported if it cannot be part of a command.
    """
    if path is None:
        if _PLAIN_ID.fullmatch(id) is None:
            raise InvalidId(f"cannot continue session {_quoted(id)}: its id cannot be part of a command")
        return id
    if _UNPRINTABLE.search(path) is not None:
        raise NotSupported(
            f"cannot continue {_quoted(path)}: its path has control characters; rename the file"
        )
    if not posixpath.isabs(path):  # it could begin with a dash
        raise NotSupported(f"cannot continue {_quoted(path)}: its path is not absolute")
    return path


def _quoted(text: str) -> str:
    return ascii(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")


def directory_problem(cwd: str) -> str | None:
    """Return why a directory that a session names cannot be part of a command, or None if it can."""
    if _UNPRINTABLE.search(cwd) is not None:
        return f"the directory of this session has control characters in its name: {_quoted(cwd)}"
    if not posixpath.isabs(cwd):
        return f"the directory of this session is not an absolute path: {_quoted(cwd)}"
    return None


def command_line(command: tuple[str, ...], cwd: str | None) -> str:
    """Return a command as you would type it in a shell, with the directory that it runs in."""
    line = shlex.join(command)
    return line if cwd is None else f"cd {shlex.quote(cwd)} && {line}"


RESUME_COMMANDS: dict[str, ResumeCommand] = {
    "pi": ResumeCommand(argv=("pi", "--session"), takes="path"),
    "oh-my-pi": ResumeCommand(argv=("omp", "--resume"), takes="path"),
    "zot": ResumeCommand(argv=("zot", "--session"), takes="path"),
    "claude-code": ResumeCommand(argv=("claude", "--resume"), takes="uuid"),
    "codex": ResumeCommand(argv=("codex", "resume"), takes="uuid"),
    "opencode": ResumeCommand(argv=("opencode", "--session"), takes="id"),
    "llm": ResumeCommand(argv=("llm", "chat", "--cid"), takes="id"),
    "qwen": ResumeCommand(argv=("qwen", "--resume"), takes="uuid"),
    "copilot": ResumeCommand(argv=("copilot", "--resume="), takes="uuid"),
    "kimi": ResumeCommand(argv=("kimi", "-r"), takes="id"),
    "cline": ResumeCommand(argv=("cline", "--id"), takes="id"),
    "goose": ResumeCommand(argv=("goose", "session", "--resume", "--session-id"), takes="id"),
    "vibe": ResumeCommand(argv=("vibe", "--resume"), takes="id"),
    "gemini": ResumeCommand(
        argv=("gemini", "--resume"),
        takes="uuid",
        deletes="Gemini CLI deletes a session that was resumed when it starts the next time",
    ),
    "induscode": ResumeCommand(
        argv=("induscode", "--resume"), takes="nothing", note="induscode asks which session to resume"
    ),
    "operator": ResumeCommand(argv=("operator",), takes="nothing", note="choose the session in Operator"),
    "piglet": ResumeCommand(argv=("piglet",), takes="nothing", note="choose the session in piglet"),
}
