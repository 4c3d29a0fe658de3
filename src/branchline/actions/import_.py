"""Import a session file: copy it into the library of a working directory, or into another one."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from branchline import places
from branchline.actions.output_file import require_new_path, write_new
from branchline.clock import SystemClock, iso
from branchline.entries import Header, splice
from branchline.errors import InvalidId, NotASession, NotSupported
from branchline.formats.suffixes import JSONL, SUFFIXES
from branchline.formats.zot import ZOT, import_portable
from branchline.library import SessionLibrary
from branchline.log import create_directory
from branchline.session import Session
from branchline.session.ids import check_session_id
from branchline.stores import FilesStore, LoadStore, check_key, is_address, shared_store
from branchline.stores.original_files import require_same_lines
from branchline.stores.sources import is_page, page_files, page_is_checked

__all__ = ["ImportResult", "import_file", "import_into"]

_PORTABLE = ".zotsession"
_Path = str | os.PathLike[str]


class ImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """An imported session."""

    session: str
    path: str
    """The path of the copy; its key, in a library without files."""
    entries: int
    source: str
    copied: bool = True
    """False if the file was already in the library."""
    findings: int = 0
    """The number of findings in the source; damage is copied too."""
    added: int = 0
    """Bytes that are in other files of the session, and were copied from there."""
    unchecked: bool = False
    """The source is a page of an earlier release, which has no digest that would show changes."""


def import_file(
    file: _Path, *, cwd: _Path | None = None, new_id: bool = False, directory: _Path | None = None
) -> ImportResult:
    """Copy a session file into the library of a working directory, or into ``directory``.

    The copy has the same bytes, except for these header fields with ``cwd`` or ``new_id``. A portable zot
    file becomes a new session where zot finds it. If a page holds an agent's documents, they are written
    below ``directory``. Raises NotASession if the file is not a session or has no header.
    """
    with Session.open(file) as source:
        if directory is not None and is_address(os.fspath(directory)):
            return import_into(
                SessionLibrary(shared_store(os.fspath(directory)), cwd=cwd), file, new_id=new_id
            )
        if source.file is not None and source.file.endswith(_PORTABLE):
            return _import_portable(source, cwd, directory)
        target = os.path.abspath(directory) if directory is not None else places.session_directory(cwd)
        if directory is not None and not new_id and cwd is None and (files := _documents(source)):
            return _import_documents(source, files, target)
        _require_header(source)
        if not new_id and cwd is None and _lies_in(source, target):
            return _result(source, str(source.file), source.id, copied=False)
        session_id, data = _adopted(source, cwd, new_id=new_id)
        suffix = source.transcript.format.traits.suffix
        write = _file_writer(target, suffix if suffix in SUFFIXES else JSONL)
        return _result(source, _free(_name(source, session_id), data, write), session_id)


def _file_writer(directory: str, suffix: str) -> Callable[[str, bytes], str]:
    """Return a function that writes a new file into a directory, by its key, and returns its path."""
    create_directory(directory)

    def write(key: str, data: bytes) -> str:
        path = os.path.join(directory, key + suffix)
        write_new(path, data)
        return path

    return write


def import_into(library: SessionLibrary, file: _Path, *, new_id: bool = False) -> ImportResult:
    """Copy a session file into a library, whatever its store.

    Raises NotSupported if the library has more than one store.
    """
    if len(library.stores) != 1:
        raise NotSupported(f"cannot import {os.fspath(file)} into {library.name}: name one store for it")
    (store,) = library.stores
    with Session.open(file) as source:
        if isinstance(store, FilesStore):
            return import_file(file, cwd=library.cwd, new_id=new_id, directory=store.directory)
        _require_header(source)
        session_id, data = _adopted(source, library.cwd, new_id=new_id)

        def write(key: str, data: bytes) -> str:
            if isinstance(store, LoadStore):
                return store.load(key, [data]).path or key  # accepts incomplete lines too
            store.create(key, data).close()
            return key

        return _result(source, _free(_name(source, session_id), data, write), session_id)


def _require_header(source: Session) -> None:
    if source.transcript.reading.header is None:
        raise NotASession(f"cannot import {source.file}: it has no header; `branchline repair` adds one")


def _documents(source: Session) -> dict[str, bytes]:
    """The documents that a page gives back; they must be those of the session in it."""
    if source.file is None or not is_page(source.file):
        return {}
    files = page_files(source.file)
    if files:
        lines = source.transcript.bytes_between(0, None)
        require_same_lines(files, source.transcript.format.documents, lines)
    return files


def _import_documents(source: Session, files: Mapping[str, bytes], directory: str) -> ImportResult:
    """Write the documents of a session into the folders that its agent gives them."""
    paths = {os.path.join(directory, *name.split("/")): data for name, data in files.items()}
    if all(_has(path, data) for path, data in paths.items()):
        return _result(source, next(iter(paths)), source.id, copied=False)
    for path in paths:
        create_directory(os.path.dirname(path))
        require_new_path(path)
    for path, data in reversed(paths.items()):  # the document that others are found by comes last
        write_new(path, data)
    return _result(source, next(iter(paths)), source.id)


def _has(path: str, data: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(data) + 1) == data
    except OSError:
        return False


def _import_portable(source: Session, cwd: _Path | None, directory: _Path | None) -> ImportResult:
    """Create a zot session from a portable file."""
    clock = SystemClock()
    now = iso(clock.now())
    home = places.resolve_cwd(cwd)
    header = Header(id=ZOT.required_writer().session_id(clock.session_id(), now), timestamp=now, cwd=home)
    data = import_portable(source.transcript.bytes_between(0, None), header)
    target = (
        os.path.abspath(directory) if directory is not None else places.directory_in(ZOT.home.directory, home)
    )
    assert target is not None
    write = _file_writer(target, JSONL)
    return _result(source, _free(ZOT.home.file_key(header), data, write), header.id)


def _result(source: Session, path: str, session_id: str, *, copied: bool = True) -> ImportResult:
    return ImportResult(
        session=session_id,
        path=path,
        entries=len(source),
        source=str(source.file),
        copied=copied,
        findings=len(source.findings),
        added=_bytes_elsewhere(source) if copied else 0,
        unchecked=source.file is not None and is_page(source.file) and not page_is_checked(source.file),
    )


def _bytes_elsewhere(source: Session) -> int:
    """Count the bytes of a rollout that are in the rollouts that it continues."""
    if source.file is None or not source.file.endswith(SUFFIXES) or not os.path.isfile(source.file):
        return 0
    return max(0, len(source.transcript.bytes_between(0, None)) - os.path.getsize(source.file))


def _lies_in(source: Session, directory: str) -> bool:
    assert source.file is not None
    return os.path.realpath(os.path.dirname(source.file)) == os.path.realpath(directory)


def _adopted(source: Session, cwd: _Path | None, *, new_id: bool) -> tuple[str, bytes]:
    """The id and the bytes of the copy; only the requested header fields differ."""
    reading, format_ = source.transcript.reading, source.transcript.format
    fields: dict[str, Any] = {}
    if new_id:
        fields["id"] = format_.required_writer().session_id(
            SystemClock().session_id(), source.header.timestamp
        )
    if cwd is not None or (not source.header.cwd and format_.writer is not None):
        fields["cwd"] = places.resolve_cwd(cwd)
    data = source.transcript.bytes_between(0, None)
    if fields and not format_.traits.native_entries:
        header = msgspec.structs.replace(source.header, **fields, parent_session=None)
        data = format_.required_writer().copy(source.transcript, header)
    elif fields:
        start = reading.header_end - len(reading.header_line)
        data = data[:start] + splice.set_fields(reading.header_line, fields) + data[reading.header_end :]
    return fields.get("id", source.id), data


def _name(source: Session, session_id: str) -> str:
    """A key with the time and the id; the old file name if the id cannot be part of one."""
    try:
        check_session_id(session_id)
        header = msgspec.structs.replace(source.header, id=session_id)
        return check_key(source.transcript.format.home.file_key(header))
    except InvalidId:
        pass
    try:
        return check_key(source.key)
    except InvalidId:
        return "imported"


def _free(name: str, data: bytes, write: Callable[[str, bytes], str]) -> str:
    """Write with the first free name: as it is, then with -1, -2 and so on. Returns the path or key."""
    for number in itertools.count():
        try:
            return write(f"{name}-{number}" if number else name, data)
        except FileExistsError:
            continue
    raise AssertionError  # count() does not end
