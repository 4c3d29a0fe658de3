"""``sync``: bring two stores to the same sessions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from branchline.cli.options import command
from branchline.cli.output import Output, remark
from branchline.views.humanize import count, format_size

if TYPE_CHECKING:
    from branchline.actions.sync import SyncedSession

__all__ = ["sync_command"]


@command(
    "sync",
    plain=False,
    examples="""
    branchline sync ~/sessions /media/stick/sessions           show what would be done
    branchline sync ~/sessions /media/stick/sessions --yes     do it
    branchline sync ~/sessions postgresql://localhost/work --yes
    """,
)
@click.argument("first", metavar="STORE")
@click.argument("second", metavar="STORE")
@click.argument("names", metavar="[KEY]...", nargs=-1)
@click.option("--yes", is_flag=True, help="Write; without it nothing is changed.")
def sync_command(out: Output, first: str, second: str, names: tuple[str, ...], yes: bool) -> None:  # noqa: FBT001
    """Bring two stores to the same sessions, or only those with these keys.

    Nothing is overwritten or deleted. A session that both stores continued gets the entries of both; where
    that is not possible, each store keeps its own and gets the other's beside it. The folders below a
    directory are synced too.
    """
    import msgspec

    from branchline.actions.sync import sync
    from branchline.stores import close_store, open_store

    _require_existing(first, new=False)
    if _require_existing(second, new=True):
        remark(f"{second} does not exist yet" + ("" if yes else "; --yes creates it"))
    stores = [open_store(first), open_store(second)]
    try:
        done = []
        for one in sync(stores[0], stores[1], names or None, dry_run=not yes):
            done.append(one)
            if not out.json and one.action not in ("same", "ignored"):
                _print(out, one)
    finally:
        for store in stores:
            close_store(store)
    if out.json:
        out.result("sync", {"written": yes, "sessions": msgspec.to_builtins(done)})
    same = sum(one.action == "same" for one in done)
    ignored = sum(one.action == "ignored" for one in done)
    others = f"; {count(ignored, 'other file')} ignored" if ignored else ""
    sessions = count(len(done) - ignored, "session")
    remark(f"{sessions}, {same} the same{others}" + ("" if yes else "; --yes writes"))
    if any(one.action == "skipped" for one in done):
        raise click.exceptions.Exit(1)


def _require_existing(store: str, *, new: bool) -> bool:
    """Raise UsageError for a path that does not exist; return True for a database that can be created."""
    from branchline.stores import is_address, is_server_address

    if is_server_address(store) or os.path.exists(path := os.path.expanduser(store)):
        return False
    if is_address(store) and new and os.path.isdir(os.path.dirname(os.path.abspath(path))):
        return True
    raise click.UsageError(f"no such store: {store}; create the directory first, or mount it")


def _print(out: Output, one: SyncedSession) -> None:
    words = [f"{one.key}: {one.action}"]
    if one.to_first:
        words.append(f"{format_size(one.to_first)} to the first store")
    if one.to_second:
        words.append(f"{format_size(one.to_second)} to the second store")
    if files := one.files_to_first + one.files_to_second:
        words.append(f"{count(files, 'file')} of its folder")
    if one.note is not None:
        words.append(one.note)
    out.line(", ".join(words))
