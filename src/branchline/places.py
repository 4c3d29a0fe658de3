"""Where sessions are kept: the only module that looks at home and environment.

Our own layout gives every working directory a folder of its own, named for people and told apart by a hash,
so that two different directories never share one. ``BRANCHLINE_HOME`` moves everything.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping

__all__ = [
    "data_directory",
    "directory_in",
    "resolve_cwd",
    "scope_name",
    "session_directory",
    "sessions_root",
]


def data_directory(environment: Mapping[str, str] | None = None) -> str:
    """The folder that holds everything branchline keeps for this person."""
    environment = os.environ if environment is None else environment
    if home := environment.get("BRANCHLINE_HOME"):
        return os.path.abspath(os.path.expanduser(home))
    import platformdirs  # noqa: PLC0415  `import branchline` needs msgspec alone

    return platformdirs.user_data_dir("branchline", appauthor=False)


def sessions_root(environment: Mapping[str, str] | None = None) -> str:
    """The folder of all our own sessions, one folder inside per working directory."""
    return os.path.join(data_directory(environment), "sessions")


def resolve_cwd(cwd: str | os.PathLike[str] | None = None) -> str:
    """A working directory as headers name it: absolute, links kept as they are."""
    return os.path.abspath(os.path.expanduser(os.fspath(cwd) if cwd is not None else os.getcwd()))


def scope_name(cwd: str | os.PathLike[str]) -> str:
    """The folder name of a working directory: its last parts for people, a hash against mix-ups."""
    resolved = resolve_cwd(cwd)
    words = "-".join(re.findall(r"[A-Za-z0-9._]+", resolved)[-3:])[-48:].strip("-.") or "root"
    digest = hashlib.sha256(resolved.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{words}-{digest}"


def session_directory(
    cwd: str | os.PathLike[str] | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Where the sessions of a working directory lie."""
    return os.path.join(sessions_root(environment), scope_name(resolve_cwd(cwd)))


def directory_in(layout: Callable[[str, Mapping[str, str], str], str | None], cwd: str) -> str | None:
    """Where a program with this layout keeps the sessions of a working directory of this person."""
    return layout(cwd, os.environ, os.path.expanduser("~"))
