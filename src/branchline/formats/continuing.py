"""How to go on with a session: in the program that owns it, or in our own chat. Decided here, run elsewhere.

What each program is asked with is data. A command names the file or the session id, whichever the program
takes. Programs that can only be opened in a directory, and pick the session there, have a note that says so.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Literal

import msgspec

__all__ = ["CONTINUING", "Continuing", "Going", "going_on"]


class Continuing(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a command; ``takes`` says what follows them: the file, the id, or nothing."""

    words: tuple[str, ...]
    takes: Literal["path", "id", "nothing"]
    note: str | None = None

    def command(self, *, path: str | None, id: str) -> tuple[str, ...]:  # noqa: A002
        """The command for one session."""
        match self.takes:
            case "path":
                return (*self.words, path or id)
            case "id":
                return (*self.words, id)
            case "nothing":
                return self.words


CONTINUING: dict[str, Continuing] = {
    "pi": Continuing(words=("pi", "--session"), takes="path"),
    "oh-my-pi": Continuing(words=("omp", "--resume"), takes="path"),
    "zot": Continuing(words=("zot", "--session"), takes="path"),
    "claude-code": Continuing(words=("claude", "--resume"), takes="id"),
    "codex": Continuing(words=("codex", "resume"), takes="id"),
    "induscode": Continuing(
        words=("induscode", "--resume"), takes="nothing", note="induscode asks which session to resume"
    ),
    "operator": Continuing(words=("operator",), takes="nothing", note="choose the session in Operator"),
    "piglet": Continuing(words=("piglet",), takes="nothing", note="choose the session in piglet"),
}


class Going(msgspec.Struct, frozen=True, kw_only=True):
    """A command and the directory for it; ``note`` says what to expect of it."""

    program: str
    command: tuple[str, ...]
    cwd: str | None
    moved: bool = False
    """The directory of the session is not there; running the command needs another one."""
    missing: str | None = None
    """The program that owns the session, where it is not installed and the session goes on here."""
    note: str | None = None

    @property
    def is_ours(self) -> bool:
        """Whether the session continues in our own chat."""
        return self.program == "branchline"

    @property
    def line(self) -> str:
        """The command as a person would type it, the directory included."""
        words = shlex.join(self.command)
        return words if self.cwd is None else f"cd {shlex.quote(self.cwd)} && {words}"


def going_on(
    agent: str,
    *,
    path: str | None,
    id: str,  # noqa: A002
    cwd: str | None,
    installed: Callable[[str], str | None],
    is_directory: Callable[[str], bool],
    here: bool = False,
) -> Going:
    """How to go on with a session of this program: there if it is installed, else in a fork in our own chat.

    A session of our own goes on as it is. ``here`` wants a fork in our own chat in any case.
    """
    known = None if here else CONTINUING.get(agent)
    note: str | None = None
    missing: str | None = None
    if known is not None and installed(known.words[0]) is not None:
        command, note = known.command(path=path, id=id), known.note
    else:
        ours = agent not in CONTINUING and not here
        command = ("branchline", "chat", "--resume" if ours else "--fork", path or id)
        if known is not None:
            missing = known.words[0]
            note = f"{missing} is not installed here: it goes on in branchline chat, in a fork of the session"
    return Going(
        program=command[0],
        command=command,
        cwd=cwd or None,
        moved=bool(cwd) and not is_directory(cwd or ""),
        missing=missing,
        note=note,
    )
