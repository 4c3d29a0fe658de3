"""How each program is asked to go on with a session: its command, as data.

A command names the file or the session id, whichever the program takes. Programs that can only be opened
in a directory, and pick the session there, have a note that says so.
"""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["CONTINUING", "Continuing"]


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
