"""Convert a session into another agent's format, as new files, with a fidelity report for each.

Nothing is written into the folders of other agents unless the caller asks for it.
"""

from __future__ import annotations

import errno
import os
from typing import Literal, NamedTuple

import msgspec

from branchline import places
from branchline._arguments import require_choice
from branchline.actions.document_import import import_document
from branchline.actions.output_file import output_directory, require_new_path, write_new, write_output
from branchline.clock import SystemClock
from branchline.conversion import Converted, Fidelity, branch_tips, require_messages
from branchline.conversion import convert as convert_log
from branchline.entries import Header
from branchline.errors import BranchlineError, FileExists, InvalidArgument, NotSupported, UnsupportedFormat
from branchline.formats import Format, agent_name
from branchline.formats.resume_commands import (
    RESUME_COMMANDS,
    ResumeCommand,
    command_line,
    directory_problem,
)
from branchline.log import create_directory
from branchline.places import NATIVE_AGENT
from branchline.plugins.formats import format_named
from branchline.session import Session
from branchline.session.forks import fork_position, time_after
from branchline.session.locator import new_file_name, record_title, store_of, written_format

__all__ = [
    "TARGETS",
    "ConvertRequest",
    "ConvertResult",
    "ConvertedFile",
    "PlannedFile",
    "convert",
    "convert_again",
    "has_messages",
    "installed_file",
    "plan_files",
    "target_format",
    "write_files",
]

TARGETS = (
    *("branchline", "pi", "oh-my-pi", "operator", "induscode", "zot", "piglet"),
    *("claude-code", "codex", "qwen", "copilot", "opencode"),
)
"""The agents whose sessions can be written."""


ConvertScope = Literal["tree", "path", "branches"]


class ConvertRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to convert, into what, and where to put it."""

    to: str
    """One of :data:`TARGETS`."""
    scope: ConvertScope = "tree"
    """All branches in one file, one path, or one file for each branch."""
    entry: str | None = None
    """The last entry of the path (default: the leaf)."""
    before: bool = False
    """Leave ``entry`` itself out."""
    cwd: str | os.PathLike[str] | None = None
    """The working directory of the new session (default: that of the old one)."""
    output: str | os.PathLike[str] | None = None
    """The new file, or the directory for it (default: the present directory)."""
    install: bool = False
    """Put the file where the agent looks for its sessions."""
    every_branch: bool = True
    """With scope "tree", write further files for branches that the first one cannot hold."""
    same_id: bool = False
    """Keep the id. A session that was once converted from the target is restored to its original bytes."""
    lossy: bool = False
    """Write the file even if it lacks messages of the active path, or of the path that is converted."""


class ConvertedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file written by a conversion."""

    session: str
    path: str
    cwd: str
    """The working directory of the new session."""
    size: int
    fidelity: Fidelity
    resume: str | None = None
    """The command that continues an installed session."""
    problems: tuple[str, ...] = ()
    """Why there is no such command, or why the command leaves out the directory."""


class ConvertResult(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a conversion wrote."""

    source: str
    source_file: str | None
    source_format: str
    target: str
    files: tuple[ConvertedFile, ...]


def has_messages(session: Session) -> bool:
    """Return whether there is anything that an agent could go on from."""
    return any(role is not None for role in session.index.roles)


class PlannedFile(NamedTuple):
    """A new file that is not written yet."""

    path: str
    data: bytes
    header: Header
    fidelity: Fidelity


def convert(session: Session, request: ConvertRequest) -> ConvertResult:
    """Write a session as new files of another agent. The session does not change.

    Raises NotSupported for an agent whose sessions are only read, or if a session without messages is to be
    installed, DropsMessages if a new file would lack messages of the path and the request is not ``lossy``,
    FileExists if a path is taken, and ValueError for an unknown agent, or if several files are to go to a
    path that is not a directory.
    """
    return write_files(session, request, plan_files(session, request))


def plan_files(session: Session, request: ConvertRequest) -> list[PlannedFile]:
    """Convert a session in memory. Raises whatever :func:`convert` raises before it writes."""
    require_choice("scope", request.scope, ConvertScope)
    to = agent_name(request.to)
    target = target_format(to)
    if request.install and not has_messages(session):
        raise NotSupported(f"cannot install {session.id} for {to}: it has no messages to go on from")
    leaves = list(_leaves(session, request))
    if request.output is not None and len(leaves) > 1 and output_directory(request.output) is None:
        raise InvalidArgument(f"{len(leaves)} files need a directory; give one with -o DIR/")
    asked = len(leaves)
    planned: dict[str, PlannedFile] = {}
    for number, leaf in enumerate(leaves):  # grows by the branches that the first file cannot hold
        # Those have ids of their own: two files with the session's id would have one name.
        keeps_id = request.same_id and number < asked
        made = _converted(session, request, _header(session, target, request, keeps_id=keeps_id), leaf)
        if leaf is None and request.every_branch and _takes_several(request):
            leaves += made.branches_left
        path = _place(request, target, made.header)
        if path in planned:
            raise NotSupported(
                f"cannot write several branches to {path}: with the same id they have one name"
            )
        if request.install and target.imports is None and os.path.lexists(path):
            raise _taken(path)
        if not request.install:
            require_new_path(path, streams=_is_named(request))
        data = made.data if target.imports is None else target.imports.document(made.data)
        planned[path] = PlannedFile(path, data, made.header, made.fidelity)
    return list(planned.values())


def write_files(session: Session, request: ConvertRequest, planned: list[PlannedFile]) -> ConvertResult:
    """Write what :func:`plan_files` returned."""
    target = target_format(request.to)
    files = []
    for file in planned:
        written = file._replace(path=_write(request, target, file))
        files.append(installed_file(request.to, written) if request.install else _file(written))
        if request.install and session.title:
            record_title(target, written.path, written.header, session.title)
    return ConvertResult(
        source=session.id,
        source_file=session.file,
        source_format=session.transcript.format.name,
        target=agent_name(request.to),
        files=tuple(files),
    )


def convert_again(session: Session, request: ConvertRequest, file: Session) -> PlannedFile:
    """Convert a whole session in memory to the id and time of a file that was perhaps converted from it."""
    header = _header(session, target_format(request.to), request, keeps_id=False)
    header = msgspec.structs.replace(header, id=file.id, timestamp=file.header.timestamp)
    made = _converted(session, request, header, None)
    return PlannedFile(file.file or "", made.data, made.header, made.fidelity)


def _converted(session: Session, request: ConvertRequest, header: Header, leaf: int | None) -> Converted:
    """Convert into a new file in memory. Raises DropsMessages unless the request is ``lossy``."""
    target, to = target_format(request.to), agent_name(request.to)
    converted = convert_log(session.transcript, target, header, leaf=leaf, exact=request.same_id)
    if not request.lossy:
        require_messages(converted, to)
    return converted


def _is_named(request: ConvertRequest) -> bool:
    """Return whether the user named the file itself."""
    return not request.install and not _takes_several(request)


def _takes_several(request: ConvertRequest) -> bool:
    return request.install or request.output is None or output_directory(request.output) is not None


def target_format(name: str) -> Format:
    """Return the format of an agent whose sessions can be written.

    Raises ValueError for an unknown agent, and NotSupported for one whose sessions are only read.
    """
    choices = f"choose one of {', '.join(TARGETS)}"
    try:
        if agent_name(name) != NATIVE_AGENT and format_named(name).imports is not None:
            return format_named(name).for_import()
        return written_format(name)
    except NotSupported:
        raise UnsupportedFormat(f"sessions of {agent_name(name)} are read-only; {choices}") from None
    except InvalidArgument:
        raise InvalidArgument(f"unknown agent {name!r}; {choices}") from None


def _leaves(session: Session, request: ConvertRequest) -> tuple[int | None, ...]:
    """The last position of each path; None for the whole tree."""
    match request.scope:
        case "tree":
            return (None,)
        case "path":
            return (fork_position(session, request.entry, "before" if request.before else "at"),)
        case "branches":
            return tuple(branch_tips(session.transcript)) or (None,)


def _header(session: Session, target: Format, request: ConvertRequest, *, keeps_id: bool) -> Header:
    """The header of the new session: with a link to its source, or with the same id."""
    cwd = session.cwd if request.cwd is None else places.resolve_cwd(request.cwd)
    if keeps_id:
        return Header(version=3, id=session.id, timestamp=session.header.timestamp, cwd=cwd)
    clock = SystemClock()
    timestamp = time_after(session.index.times, clock.now())
    return Header(
        version=3,
        id=target.required_writer().session_id(clock.session_id(), timestamp),
        timestamp=timestamp,
        cwd=cwd,
        parent_session=target.required_writer().parent_link(session.id, session.file),
        metadata=(places.session_settings(target) or None) if request.install else None,
    )


def _place(request: ConvertRequest, target: Format, header: Header) -> str:
    """The path of a new file."""
    name = new_file_name(target, header)
    if request.install and target.imports is not None:
        return name  # the import command of the agent chooses the place
    if request.install:
        if not target.is_appendable:
            if (problem := directory_problem(header.cwd)) is not None:
                raise NotSupported(f"cannot install it for {target.name}: {problem}; name one with --cwd")
            _require_new_session(target, header)
        return os.path.join(store_of(request.to, header).directory, name)
    output = request.output or "."
    within = output_directory(output)
    return os.path.abspath(output) if within is None else os.path.join(within, name)


def _require_new_session(target: Format, header: Header) -> None:
    """Raise FileExists if the agent has a session with this id in any directory.

    Two files with one session id would confuse the agent, especially while it runs.
    """
    for root in places.roots_of(target):
        for directory, _, names in os.walk(root):
            for name in names:
                if header.id in name and header.id in target.traits.key_of(name):
                    raise _taken(os.path.join(directory, name))


def _taken(path: str) -> FileExists:
    return FileExists(errno.EEXIST, os.strerror(errno.EEXIST), path)


def _write(request: ConvertRequest, target: Format, file: PlannedFile) -> str:
    """Write a new file, or let the agent import it, and return where it is."""
    if request.install and target.imports is not None:
        return import_document(target, file.data, file.header)
    if request.install:
        create_directory(os.path.dirname(file.path))
    if _is_named(request):
        write_output(file.path, file.data)
    else:
        write_new(file.path, file.data)
    return file.path


def _file(planned: PlannedFile) -> ConvertedFile:
    return ConvertedFile(
        session=planned.header.id,
        path=planned.path,
        cwd=planned.header.cwd,
        size=len(planned.data),
        fidelity=planned.fidelity,
    )


def installed_file(to: str, planned: PlannedFile) -> ConvertedFile:
    """Describe a file that its agent will find, with the command that continues it there."""
    resume, problems = _resume(to, planned.path, planned.header)
    return msgspec.structs.replace(_file(planned), resume=resume, problems=problems)


def _resume(target: str, path: str, header: Header) -> tuple[str | None, tuple[str, ...]]:
    """The command that continues an installed session, and the problems with it."""
    known = RESUME_COMMANDS.get(target) or ResumeCommand(argv=("branchline", "show"), takes="path")
    try:
        words = known.command(path=path, id=header.id)
    except BranchlineError as problem:
        return None, (str(problem),)
    problem_of_cwd = directory_problem(header.cwd)
    note = f"  # {known.note}" if known.note else ""
    command = command_line(words, None if problem_of_cwd else header.cwd) + note
    return command, (problem_of_cwd,) if problem_of_cwd else ()
