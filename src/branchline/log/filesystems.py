"""Detects file systems on which appends are not safe.

Appends are atomic between the processes of one machine. Network file systems and most user-space file systems
guarantee less: two machines can overwrite each other, and locks may apply to one machine only. This module
only warns.
"""

from __future__ import annotations

import os
import re

__all__ = ["filesystem_warning"]

_NETWORK = {
    "nfs": "NFS",
    "nfs4": "NFS",
    "cifs": "SMB",
    "smb3": "SMB",
    "smbfs": "SMB",
    "smb2": "SMB",
    "9p": "9P",
    "afs": "AFS",
    "ceph": "Ceph",
    "vboxsf": "a VirtualBox shared folder",
}


def filesystem_warning(
    path: str | os.PathLike[str], *, mountinfo: str | os.PathLike[str] = "/proc/self/mountinfo"
) -> str | None:
    """Return a warning if `path` is on NFS, SMB or FUSE; None if it is not, or if that is unknown."""
    try:
        with open(mountinfo, encoding="utf-8", errors="surrogateescape") as lines:
            mounts = lines.read().split("\n")
    except OSError:
        return None
    real_path = os.path.realpath(os.fspath(path))
    mount_point, kind = _mount_of(real_path, mounts)
    if kind in _NETWORK:
        title = _NETWORK[kind]
    elif kind.startswith("fuse") and kind != "fusectl":
        title = f"FUSE ({kind})"
    else:
        return None
    return (
        f"{os.fspath(path)} is on {title}, mounted at {mount_point}: appends from two machines can "
        "overwrite each other, and locks may not work between them; write from one machine at a time"
    )


def _mount_of(path: str, mounts: list[str]) -> tuple[str, str]:
    best, kind = "", ""
    for line in mounts:
        # id parent major:minor root mount-point options [optional fields] - type source options
        left, _, right = line.partition(" - ")
        fields, types = left.split(" "), right.split(" ")
        if len(fields) < 5 or not types[0]:
            continue
        mount_point = _unescape(fields[4])
        inside = path == mount_point or path.startswith(mount_point.rstrip("/") + "/")
        # A later mount at the same path covers the earlier one.
        if inside and len(mount_point) >= len(best):
            best, kind = mount_point, types[0]
    return best, kind


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
