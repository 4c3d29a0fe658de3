"""The companion folder of a session file: the folder next to it with its name without the suffix.

oh-my-pi and Claude Code store long tool output and sub-agent sessions there. It is moved with the file.
"""

from __future__ import annotations

import os
import stat

from branchline.errors import LogError
from branchline.formats.suffixes import without_suffix
from branchline.log import SYSTEM, System, create_directory, sync_directory
from branchline.log.system import describe_oserror

__all__ = ["companion_folder", "copy_folder", "move_folder"]


def companion_folder(path: str) -> str | None:
    """Return the folder of a session file, or None. A symlink does not count."""
    folder = without_suffix(path)
    try:
        return folder if folder != path and stat.S_ISDIR(os.lstat(folder).st_mode) else None
    except OSError:
        return None


def move_folder(path: str, new_path: str, system: System = SYSTEM) -> None:
    """Move the folder of a file, if it has one, after the file was moved on the same file system."""
    folder = companion_folder(path)
    if folder is not None:
        try:
            os.rename(folder, without_suffix(new_path))
        except OSError as problem:
            raise LogError(
                f"{new_path} was moved, but its folder is still {folder}: {describe_oserror(problem)}; "
                "move it by hand"
            ) from problem
        for parent in {os.path.dirname(path), os.path.dirname(new_path)}:
            sync_directory(parent, system)


def copy_folder(path: str, new_path: str) -> None:
    """Copy the folder of a file for a copy of that file, readable only by its owner."""
    import shutil  # noqa: PLC0415  slow to import, rarely needed

    folder, target = companion_folder(path), without_suffix(new_path)
    if folder is None:
        return
    for directory, folders, names in os.walk(folder):
        made = os.path.normpath(os.path.join(target, os.path.relpath(directory, folder)))
        create_directory(made)
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(directory, name))]
        for name in names:
            source = os.path.join(directory, name)
            if stat.S_ISREG(os.lstat(source).st_mode):
                copied = os.path.join(made, name)
                shutil.copyfile(source, copied)
                os.chmod(copied, 0o600)
