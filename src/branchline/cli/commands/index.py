"""``index``: the index that lists and searches use."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import click

from branchline.cli.commands.ls import reading_progress
from branchline.cli.options import command, store_option
from branchline.cli.output import Output, remark
from branchline.cli.resolver import chosen_library
from branchline.views.humanize import count, format_size

if TYPE_CHECKING:
    from branchline.library.text_index import IndexStatus

__all__ = ["index_command"]

_OFF = "the index is off; `branchline config set index true` turns it on"


@command(
    "index",
    examples="""
    branchline index
    branchline index --status
    branchline index --rebuild
    """,
)
@click.option("--status", is_flag=True, help="Show the size of the index; change nothing.")
@click.option("--rebuild", is_flag=True, help="Read all sessions again.")
@store_option("Only the sessions in STORE.")
@click.option("--background", is_flag=True, help="Exit if another process is already updating the index.")
def index_command(
    out: Output,
    status: bool,  # noqa: FBT001
    rebuild: bool,  # noqa: FBT001
    directory: str | None,
    background: bool,  # noqa: FBT001
) -> None:
    """Update the index with all sessions of all agents, and show its size.

    The index is one SQLite file in the cache directory, readable only by you. It contains the words of your
    sessions, not their text. Lists and searches update it automatically; without it they read the session
    files. It can be deleted at any time.

    `branchline config set index false` deletes it and makes no other; files whose path matches a pattern of
    the setting `index_exclude` are left out.
    """
    from branchline.catalog import CatalogOff, CatalogUnavailable

    if status and rebuild:
        raise click.UsageError("choose one of --status and --rebuild")
    if directory is not None and rebuild:
        raise click.UsageError("there is one index for all stores: --store goes with --status only")
    library = chosen_library(directory, (), everywhere=True, subagents=True)
    if not status:
        with _alone(background) as alone:
            if not alone:
                return
            try:
                done = library.update_index(rebuild=rebuild, progress=reading_progress())
            except CatalogOff:
                raise CatalogOff(_OFF) from None
            except CatalogUnavailable as problem:
                raise CatalogUnavailable(f"cannot update the index: {problem}") from None
            if done.unreadable:
                files = count(len(done.unreadable), "file")
                remark(f"{files} could not be read; `branchline ls --all -v` shows the reasons")
    _print_status(out, library.index_status())


def _print_status(out: Output, found: IndexStatus) -> None:
    import msgspec

    running = _is_running()
    if out.json:
        out.result("index", {**msgspec.to_builtins(found), "running": running})
        return
    if not found.enabled:
        out.line(_OFF)
    elif found.problem is not None:
        out.line(f"no index: {found.problem}")
    else:
        out.table(
            [
                ("file", found.path),
                ("size", format_size(found.bytes)),
                (
                    "sessions",
                    f"{found.indexed:,} of {found.indexed + found.waiting:,} indexed"
                    + (
                        ", the others are being indexed in the background"
                        if running and found.waiting
                        else ""
                    ),
                ),
                ("text of", format_size(found.text_bytes)),
                ("messages", str(found.documents)),
            ]
        )
    for pattern in found.exclude:
        out.line("excluded  ", pattern)


def _is_running() -> bool:
    """Return whether a process is updating the index in the background."""
    from branchline.log.system import fcntl

    try:
        descriptor = os.open(_lock_path(), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lock_path() -> str:
    from branchline.places import cache_directory

    return os.path.join(cache_directory(), "index.lock")


class _alone(contextlib.AbstractContextManager[bool]):  # noqa: N801  used like a function
    """Whether this is the only process that updates the index in the background."""

    def __init__(self, asked: bool) -> None:  # noqa: FBT001
        self._asked = asked
        self._descriptor = -1

    def __enter__(self) -> bool:
        if not self._asked:
            return True
        from branchline.log.system import fcntl

        try:
            self._descriptor = os.open(
                _lock_path(), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def __exit__(self, *_raised: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
