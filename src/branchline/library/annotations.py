"""Tags and notes on sessions, stored in one file outside the sessions.

They are keyed by format and session id. So they survive when a session file is moved, renamed or archived,
and they work for agents whose sessions are read-only here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from branchline import places
from branchline.errors import InvalidArgument, LogError
from branchline.library.machine_scanner import MachineScanner
from branchline.library.scanner import Scanner
from branchline.log import create_directory, replace_file
from branchline.log.system import HAS_FILE_LOCKS, OPEN_FLAGS, fcntl
from branchline.views.session_row import SessionRow, SkippedFile

__all__ = ["Annotation", "Annotations", "annotations_of", "check_tag"]

_T = TypeVar("_T")
_Rows = Callable[[_T], SessionRow | SkippedFile]
_TAG = re.compile(r"(?!.*\.\.)[a-z0-9_\u0080-\U0010ffff][a-z0-9_\u0080-\U0010ffff./+#@&-]{0,63}")
_LONGEST_NOTE = 10_000


class Annotation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tags and the note of a session."""

    tags: tuple[str, ...] = ()
    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.tags or self.note)


class _File(msgspec.Struct):
    sessions: dict[str, Annotation] = {}


_NONE = Annotation()


class Annotations:
    """Tags and notes of one user.

    If the file cannot be read, there are none, and ``problem`` says why. Changes then raise LogError, so that
    an unreadable file is never overwritten.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, home: str | None = None) -> None:
        """Read the annotations of this user, or of another home directory."""
        self.path = os.path.join(places.data_directory(environment, home), "annotations.json")
        self.problem: str | None = None
        self._known = self._read()

    def __bool__(self) -> bool:
        return bool(self._known)

    def of(self, row: SessionRow) -> Annotation:
        """Return the annotation of a session; an empty one if it has none."""
        return self._known.get(_name(row), _NONE)

    def applied(self, row: SessionRow) -> SessionRow:
        """Return the row with its tags and its note."""
        found = self._known.get(_name(row))
        if found is None:
            return row
        return msgspec.structs.replace(row, tags=found.tags, note=found.note or None)

    def applying(self, row_of: Callable[[_T], SessionRow | SkippedFile]) -> _Rows[_T]:
        """Wrap a function so that the rows it returns have their tags and notes."""
        if not self:
            return row_of

        def annotated(file: _T) -> SessionRow | SkippedFile:
            row = row_of(file)
            return self.applied(row) if isinstance(row, SessionRow) else row

        return annotated

    def tags(self) -> dict[str, int]:
        """Return each tag with the number of sessions that have it."""
        counts: dict[str, int] = {}
        for one in self._known.values():
            for tag in one.tags:
                counts[tag] = counts.get(tag, 0) + 1
        return dict(sorted(counts.items()))

    def tag(self, row: SessionRow, tags: Iterable[str], *, replace: bool = False) -> Annotation:
        """Add tags to those of a session, or replace them. Raises ValueError for an invalid tag."""
        wanted = [check_tag(tag) for tag in tags]
        return self._change(
            row,
            lambda one: _with(one, tags=tuple(dict.fromkeys(wanted if replace else (*one.tags, *wanted)))),
        )

    def set_note(self, row: SessionRow, note: str) -> Annotation:
        """Set the note of a session; an empty one removes it. Raises ValueError if it is too long."""
        if len(note) > _LONGEST_NOTE:
            raise InvalidArgument(f"a note has at most {_LONGEST_NOTE:,} characters, not {len(note):,}")
        return self._change(row, lambda one: _with(one, note=note.strip()))

    def _read(self) -> dict[str, Annotation]:
        self.problem = None
        try:
            with open(self.path, "rb") as file:
                return msgspec.json.decode(file.read(), type=_File).sessions
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as problem:
            self.problem = f"the tags and notes in {self.path} cannot be read: {problem}"
            return {}

    def _change(self, row: SessionRow, change: Callable[[Annotation], Annotation]) -> Annotation:
        create_directory(os.path.dirname(self.path))
        with _locked(f"{self.path}.lock"):
            self._known = self._read()  # another process may have changed the file
            if self.problem is not None:
                raise LogError(f"cannot annotate {row.id}: {self.problem}")
            made = change(self._known.get(_name(row), _NONE))
            if made:
                self._known[_name(row)] = made
            else:
                self._known.pop(_name(row), None)
            replace_file(self.path, msgspec.json.encode(_File(sessions=self._known)), backup=False)
        return made


def annotations_of(scanner: Scanner[Any]) -> Annotations:
    """Return the tags and notes of the user who owns these sessions."""
    if isinstance(scanner, MachineScanner):
        return Annotations(scanner.environment, scanner.home)
    return Annotations()


def check_tag(text: str) -> str:
    """Return a tag in lower case, as it is stored. Raises ValueError if it is invalid."""
    tag = text.strip().lower()
    if _TAG.fullmatch(tag) is None or not tag.isprintable():
        raise InvalidArgument(
            f"{text!r} cannot be a tag: use up to 64 letters, digits and - . / + # @ &, "
            "a letter or digit first"
        )
    return tag


def _name(row: SessionRow) -> str:
    return f"{row.format or ''}/{row.id}"


def _with(one: Annotation, **fields: object) -> Annotation:
    return msgspec.structs.replace(one, **fields)


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Lock the file against changes by other processes."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | OPEN_FLAGS.CLOEXEC | OPEN_FLAGS.NOFOLLOW, 0o600)
    try:
        if HAS_FILE_LOCKS:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
