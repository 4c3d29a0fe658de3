"""Finds the holder of a lock whose file does not name it (Linux only)."""

from __future__ import annotations

import os

__all__ = ["holder_of"]


def holder_of(path: str, processes: str = "/proc") -> str | None:
    """Describe the process that holds a ``flock`` on this file; None if unknown."""
    from branchline.log.open_files import program_of  # noqa: PLC0415  few locks are held by others

    try:
        status = os.stat(path)
        with open(os.path.join(processes, "locks"), encoding="ascii", errors="replace") as file:
            locks = [line.split() for line in file]
    except OSError:
        return None
    # Device numbers in this list may differ from those of stat; the inode decides.
    place = f":{status.st_ino}"
    for fields in locks:
        if "FLOCK" in fields and "->" not in fields and any(field.endswith(place) for field in fields):
            pid = fields[fields.index("FLOCK") + 3]
            name = program_of(os.path.join(processes, pid))
            return f"pid {pid} ({name})" if name else f"pid {pid}"
    return None
