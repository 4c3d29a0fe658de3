"""A picture of a session put into a private file and shown by the system's own program."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

__all__ = ["open_picture", "save_picture"]

_ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


def save_picture(mime_type: str, data: bytes) -> str:
    """Write a picture into a directory that only this person can read; its path.

    The ending is one of a picture or none: what a session calls a picture is never opened as anything else.
    """
    directory = tempfile.mkdtemp(prefix="branchline-")
    path = os.path.join(directory, f"picture{_ENDINGS.get(mime_type, '.bin')}")
    with open(path, "xb") as file:
        file.write(data)
    return path


def open_picture(path: str) -> bool:
    """Show a picture with the program that the system has for it; False when there is none."""
    program = shutil.which("xdg-open") or shutil.which("open")
    if program is None or path.endswith(".bin"):
        return False
    with open(os.devnull, "r+b") as nothing:
        subprocess.Popen(  # noqa: S603
            [program, path], stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
    return True
