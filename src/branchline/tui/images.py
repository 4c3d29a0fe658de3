"""Images of a session in private files, shown by the system's viewer.

The type that a session states may be wrong. Only data that begins as a PNG, JPEG, GIF or WebP file is
written, with the extension of that type; no part of the name comes from the session.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import weakref

from branchline.programs import find_program, safe_environment
from branchline.views.image_types import EXTENSIONS, image_type

__all__ = ["PictureFiles", "open_picture"]


class PictureFiles:
    """Image files that only this user can read, until :meth:`close` or the end of the process."""

    def __init__(self) -> None:
        self._directory = os.path.abspath(tempfile.mkdtemp(prefix="branchline-"))
        os.chmod(self._directory, 0o700)  # whatever the umask
        self._count = 0
        self._remove = weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)

    def save(self, data: bytes) -> str | None:
        """Write an image and return its absolute path; None if its type is unknown."""
        kind = image_type(data)
        if kind is None:
            return None
        self._count += 1
        path = os.path.join(self._directory, f"picture-{self._count}{EXTENSIONS[kind]}")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            file.write(data)
        return path

    def close(self) -> None:
        """Remove the files. Calling it again does nothing."""
        self._remove()


def open_picture(path: str) -> bool:
    """Show an image in the system's viewer; return False if there is none."""
    program = find_program("xdg-open") or find_program("open")
    if program is None:
        return False
    with open(os.devnull, "r+b") as nothing:
        viewer = subprocess.Popen(  # noqa: S603
            [program, path],
            cwd=os.path.dirname(path),
            env=safe_environment(),
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
        )
    threading.Thread(target=viewer.wait, daemon=True).start()  # so that no zombie stays behind
    return True
