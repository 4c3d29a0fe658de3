"""The original files of a session that its agent stores as documents, for export in a page and for import.

Names are relative, with as few folders as the format needs to recognize the session and read the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from branchline.errors import BranchlineError, NotASession
from branchline.formats import DocumentFiles
from branchline.log import FileLog, Spool
from branchline.stores.sources import companion_reader

__all__ = ["original_files", "require_same_lines"]

_MAX_FOLDERS = 6


def original_files(
    path: str, documents: DocumentFiles | None, lines: Callable[[], bytes]
) -> dict[str, bytes]:
    """Return the content of each file of the session at a path, its main document first.

    Empty if the session is not stored as documents, or if its files do not give the same ``lines`` elsewhere.
    """
    if documents is None or not documents.recognizes(path):
        return {}
    with FileLog(path, writable=False) as log:
        found = {path: log.read(0, log.size())}
    read = companion_reader(path, documents)

    def companion(wanted: str) -> bytes | None:
        data = read(wanted)
        if data is not None:
            found[wanted] = data
        return data

    wanted = b"".join(documents.lines(_content(found[path]), path, companion))
    if wanted != lines():  # changed since it was opened
        return {}
    folders = path.split("/")[:-1]
    for number in range(1, min(len(folders), _MAX_FOLDERS)):
        root = "/".join(folders[:-number]) + "/"
        if not all(file.startswith(root) for file in found):
            continue
        files = {file.removeprefix(root): data for file, data in found.items()}
        if _lines(files, documents) == wanted:
            return files
    return {}


def require_same_lines(files: Mapping[str, bytes], documents: DocumentFiles | None, lines: bytes) -> None:
    """Raise NotASession unless exactly these files produce the lines of a session."""
    requested: set[str] = set()
    if documents is None or _lines(files, documents, requested) != lines or requested != files.keys():
        raise NotASession("its files do not match the session in it")


def _lines(
    files: Mapping[str, bytes], documents: DocumentFiles, requested: set[str] | None = None
) -> bytes | None:
    """Return the lines of the session in the first file; None if the format does not recognize it."""
    main = next(iter(files))
    if not _is_plain(main) or not documents.recognizes("/" + main):
        return None

    def companion(wanted: str) -> bytes | None:
        name = wanted.removeprefix("/")
        data = files.get(name) if _is_plain(name) else None
        if data is not None and requested is not None:
            requested.add(name)
        return data

    if requested is not None:
        requested.add(main)
    try:
        return b"".join(documents.lines(_content(files[main]), "/" + main, companion))
    except BranchlineError:
        return None


def _is_plain(name: str) -> bool:
    """Return whether a relative name stays below its directory on every system."""
    return name.isprintable() and "\\" not in name and not {"", ".", ".."} & set(name.split("/"))


def _content(data: bytes) -> Spool:
    return Spool((data,), len(data))
