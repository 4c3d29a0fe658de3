"""The folder that belongs to a session file: the one beside it that has its name without the ending.

oh-my-pi and Claude Code keep there what does not fit into a line: long tool output, sessions of sub-agents.
It goes where the file goes.
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
    """The folder of a session file; None when it has none. A link is nobody's folder."""
    folder = without_suffix(path)
    try:
        return folder if folder != path and stat.S_ISDIR(os.lstat(folder).st_mode) else None
    except OSError:
        return None


def move_folder(path: str, new_path: str, system: System = SYSTEM) -> None:
    """Let the folder of a file follow it to its new place on the same file system, if it has one."""
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
    """Copy the folder of a file for a copy of that file, readable for this person alone."""
    import shutil  # noqa: PLC0415  few sessions have a folder, and it loads every kind of archive

    folder, target = companion_folder(path), without_suffix(new_path)
    if folder is None:
        return
    for place, folders, names in os.walk(folder):
        made = os.path.normpath(os.path.join(target, os.path.relpath(place, folder)))
        create_directory(made)
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(place, name))]
        for name in names:
            source = os.path.join(place, name)
            if stat.S_ISREG(os.lstat(source).st_mode):
                copied = os.path.join(made, name)
                shutil.copyfile(source, copied)
                os.chmod(copied, 0o600)
