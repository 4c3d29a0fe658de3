"""The files of a session that its agent keeps in documents: collected for a page, and checked on import.

Names are relative, with as few folders as the format needs to recognize the session and read the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from branchline.errors import BranchlineError, NotASession
from branchline.formats import DocumentFiles
from branchline.log import FileLog, Spool
from branchline.stores.sources import companion_reader

__all__ = ["original_files", "require_same_lines"]

_MOST_FOLDERS = 6


def original_files(
    path: str, documents: DocumentFiles | None, lines: Callable[[], bytes]
) -> dict[str, bytes]:
    """The content of each file of the session at a path, its own document first.

    Empty if the session is not kept in documents, or if its files do not give the same ``lines`` elsewhere.
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
    if wanted != lines():  # it changed since it was opened
        return {}
    folders = path.split("/")[:-1]
    for number in range(1, min(len(folders), _MOST_FOLDERS)):
        root = "/".join(folders[:-number]) + "/"
        if not all(file.startswith(root) for file in found):
            continue
        files = {file.removeprefix(root): data for file, data in found.items()}
        if _lines(files, documents) == wanted:
            return files
    return {}


def require_same_lines(files: Mapping[str, bytes], documents: DocumentFiles | None, lines: bytes) -> None:
    """Raise NotASession unless these files, all of them, are what the lines of a session are made of."""
    asked: set[str] = set()
    if documents is None or _lines(files, documents, asked) != lines or asked != files.keys():
        raise NotASession("its files are not those of the session in it")


def _lines(
    files: Mapping[str, bytes], documents: DocumentFiles, asked: set[str] | None = None
) -> bytes | None:
    """The lines of the session that the first file holds; None if the format does not recognize it."""
    main = next(iter(files))
    if not _is_plain(main) or not documents.recognizes("/" + main):
        return None

    def companion(wanted: str) -> bytes | None:
        name = wanted.removeprefix("/")
        data = files.get(name) if _is_plain(name) else None
        if data is not None and asked is not None:
            asked.add(name)
        return data

    if asked is not None:
        asked.add(main)
    try:
        return b"".join(documents.lines(_content(files[main]), "/" + main, companion))
    except BranchlineError:
        return None


def _is_plain(name: str) -> bool:
    """Whether a name stays below the directory that it is relative to, on every system."""
    return name.isprintable() and "\\" not in name and not {"", ".", ".."} & set(name.split("/"))


def _content(data: bytes) -> Spool:
    return Spool((data,), len(data))
