"""``import``: a session file from elsewhere, copied to where the sessions of a directory lie."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import click

from branchline.cli.files import write_new
from branchline.cli.options import command
from branchline.cli.output import Output, remark
from branchline.cli.words import count
from branchline.errors import NotASession
from branchline.formats.suffixes import JSONL

if TYPE_CHECKING:
    from branchline.session import Session

__all__ = ["import_command"]

_PORTABLE = ".zotsession"


@command(
    "import",
    examples="""
    branchline import ~/Downloads/session.jsonl
    branchline import old.jsonl --cwd ~/work/shop --new-id
    branchline import talk.zotsession            becomes a session of zot, for this directory
    """,
)
@click.argument("file", metavar="FILE")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False),
    help="The working directory that the session shall belong to (default: listed here, its own kept).",
)
@click.option("--new-id", is_flag=True, help="Give the copy an id of its own.")
@click.option("--dir", "directory", metavar="DIR", help="Copy into this directory instead.")
def import_command(
    out: Output,
    file: str,
    cwd: str | None,
    new_id: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Copy a session file into the library. FILE stays as it is.

    A portable file of zot becomes a new session of zot, where zot finds it. A session of another program is
    copied as it is.
    """
    from branchline import places
    from branchline.log import create_directory
    from branchline.session import Session

    with Session.open(file) as source:
        if file.endswith(_PORTABLE):
            _import_portable(out, source, cwd, directory)
            return
        if source.transcript.reading.header is None:
            raise NotASession(f"cannot import {file}: it has no header; `branchline repair` makes one")
        target = os.path.abspath(directory) if directory is not None else places.session_directory(cwd)
        if not new_id and cwd is None and _lies_in(source, target):
            remark(f"{source.file} is there already; nothing was copied")
            _tell(out, source, source.file, source.id)
            return
        session_id, data = _adopted(source, cwd, new_id=new_id)
        create_directory(target)
        path = _write_free(target, _name(source, session_id), data, source.transcript.format.suffix)
        _tell(out, source, path, session_id)
        if source.findings:
            remark(f"{count(len(source.findings), 'finding')} in it; `branchline check {path}` tells them")


def _import_portable(out: Output, source: Session, cwd: str | None, directory: str | None) -> None:
    """Make a session of zot of a file that zot, or we, exported."""
    from branchline import places
    from branchline.clock import SystemClock, iso
    from branchline.entries import Header
    from branchline.formats.zot import ZOT, import_portable
    from branchline.log import create_directory

    clock = SystemClock()
    now = iso(clock.now())
    home = places.resolve_cwd(cwd)
    header = Header(id=ZOT.session_id(clock.session_id(), now), timestamp=now, cwd=home)
    data = import_portable(source.transcript.bytes_between(0, None), header)
    target = os.path.abspath(directory) if directory is not None else places.directory_in(ZOT.directory, home)
    assert target is not None
    create_directory(target)
    path = _write_free(target, ZOT.file_key(header), data)
    _tell(out, source, path, header.id)


def _lies_in(source: Session, directory: str) -> bool:
    assert source.file is not None
    return os.path.realpath(os.path.dirname(source.file)) == os.path.realpath(directory)


def _adopted(source: Session, cwd: str | None, *, new_id: bool) -> tuple[str, bytes]:
    """The id and the bytes of the copy: all as they are but for the header fields that were asked for."""
    import msgspec

    from branchline import places
    from branchline.clock import SystemClock
    from branchline.entries import splice

    reading, format_ = source.transcript.reading, source.transcript.format
    fields: dict[str, Any] = {}
    if new_id:
        fields["id"] = format_.session_id(SystemClock().session_id(), source.header.timestamp)
    if cwd is not None or not source.header.cwd:
        fields["cwd"] = places.resolve_cwd(cwd)
    data = source.transcript.bytes_between(0, None)
    if fields and format_.name not in ("pi", "oh-my-pi"):
        header = msgspec.structs.replace(source.header, **fields, parent_session=None)
        data = format_.copy(source.transcript, header)
    elif fields:
        start = reading.header_end - len(reading.header_line)
        data = data[:start] + splice.set_fields(reading.header_line, fields) + data[reading.header_end :]
    return fields.get("id", source.id), data


def _name(source: Session, session_id: str) -> str:
    """A file name that tells time and id; where the id cannot be one, the name that the file had."""
    import msgspec

    from branchline.errors import InvalidId
    from branchline.session.ids import check_session_id
    from branchline.stores import check_key

    try:
        check_session_id(session_id)
        header = msgspec.structs.replace(source.header, id=session_id)
        return check_key(source.transcript.format.file_key(header))
    except InvalidId:
        pass
    try:
        return check_key(source.key)
    except InvalidId:
        return "imported"


def _write_free(directory: str, name: str, data: bytes, suffix: str = JSONL) -> str:
    """Write under the first free name: as it is, then with -1, -2 and so on."""
    for number in itertools.count():
        path = os.path.join(directory, f"{name}-{number}{suffix}" if number else f"{name}{suffix}")
        try:
            write_new(path, data)
        except FileExistsError:
            continue
        return path
    raise AssertionError  # count() does not end


def _tell(out: Output, source: Session, path: str | None, session_id: str) -> None:
    if out.json:
        fields = {"session": session_id, "path": path, "entries": len(source), "source": source.file}
        out.result("import", fields)
    else:
        out.line(f"imported {session_id} with {count(len(source), 'entry', 'entries')}: {path}")
