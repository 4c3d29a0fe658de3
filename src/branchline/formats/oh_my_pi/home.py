"""Where oh-my-pi stores its sessions, and how it names the directory of a project."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from branchline.entries import Header
from branchline.formats.common.blobs import agent_directory
from branchline.formats.common.native_home import file_key
from branchline.formats.protocol import FormatHome

__all__ = ["OhMyPiHome", "is_own_path"]

_SESSION = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z?_.+")


class OhMyPiHome(FormatHome):
    """oh-my-pi's agent directory, or that of a profile."""

    def file_key(self, header: Header) -> str:
        return file_key(header)

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        """Return the directory that holds the sessions of all projects."""
        return [posixpath.join(agent_directory(environment, home), "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str:
        """Return the directory for the sessions of one working directory, with symlinks resolved."""
        real = posixpath.realpath(cwd)
        names = (name for name in ("TMPDIR", "TMP", "TEMP") if environment.get(name))
        temporary = environment.get(next(names, ""), "/tmp")  # noqa: S108
        below_home = _below(real, posixpath.realpath(home))
        below_temporary = _below(real, posixpath.realpath(temporary))
        if below_home is not None:
            name = "-" + _dashed(below_home)
        elif below_temporary is not None:
            name = "-tmp" + ("-" if below_temporary else "") + _dashed(below_temporary)
        else:
            name = "--" + _dashed(re.sub(r"^[/\\]", "", real)) + "--"
        return posixpath.join(self.roots(environment, home)[0], name)

    def directories(self, cwd: str, environment: Mapping[str, str], home: str) -> list[str]:
        """Return the current directory name and the one that older releases used."""
        former = "--" + _dashed(re.sub(r"^[/\\]", "", cwd)) + "--"
        current = self.directory(cwd, environment, home)
        return list(dict.fromkeys((current, posixpath.join(self.roots(environment, home)[0], former))))

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        """Return the session in whose folder a sub-agent file is; the file itself does not name it."""
        del header
        folder = posixpath.dirname(path)
        return f"{folder}.jsonl" if any(map(_SESSION.fullmatch, folder.split("/"))) else None


def is_own_path(path: str) -> bool:
    """Return whether a file is where only oh-my-pi stores sessions."""
    parts = posixpath.normpath(path).split("/")[:-1]
    return ".omp" in parts or ("omp" in parts and "sessions" in parts[parts.index("omp") :])


def _below(path: str, root: str) -> str | None:
    """Return the relative path from ``root``; None if the path is not below it."""
    relative = posixpath.relpath(path, root)
    if relative == ".":
        return ""
    return None if relative.startswith("..") else relative


def _dashed(path: str) -> str:
    return re.sub(r"[/\\:]", "-", path)
