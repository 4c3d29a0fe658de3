"""``rm``, ``restore`` and ``prune``: move sessions to the trash, and restore them."""

from __future__ import annotations

import os
import shlex
import time
from typing import TYPE_CHECKING, Any

import click

from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, paint, remark
from branchline.cli.resolver import resolve_path
from branchline.views.humanize import age, count, format_size

if TYPE_CHECKING:
    from branchline.actions.remove import RemovedSession, TrashedSession

__all__ = ["prune_command", "restore_command", "rm_command"]


@command("rm", examples="branchline rm 01a1ddf5\nbranchline restore            restores it")
@session_argument(many=True)
@directory_option
def rm_command(out: Output, sessions: tuple[str, ...], directory: str | None) -> None:
    """Move sessions to the trash; `branchline restore` restores them.

    Name another agent's session, or an archived copy, by its path.
    """
    from branchline.actions.remove import remove

    # All names are resolved before the first file moves: a typo removes nothing.
    removed = remove([resolve_path(session, directory, ours=True) for session in sessions])
    if out.json:
        fields = [{"path": item.path, "key": item.key, "token": item.token} for item in removed]
        out.result("rm", {"removed": fields})
        return
    for item in removed:
        out.line(f"moved {item.key} to the trash; undo: ", paint("title", _undo(item)))


def _undo(item: RemovedSession) -> str:
    """The command that restores a session, with its directory if that is not one of ours."""
    from branchline import places
    from branchline.stores import address_in

    address = address_in(item.path)
    folder = os.path.dirname(item.path) if address is None else address.file
    ours = address is None and os.path.dirname(folder) == places.sessions_root()
    option = "--dir" if address is None else "--store"
    return f"branchline restore {item.token}" + ("" if ours else f" {option} {shlex.quote(folder)}")


@command(
    "restore",
    examples="""
    branchline restore                            the last one deleted
    branchline restore 20261115T064625-1a2b3c4d
    branchline restore --list
    """,
)
@click.argument("name", metavar="[TOKEN|ID]", required=False)
@click.option("--list", "listed", is_flag=True, help="List the trash.")
@directory_option
def restore_command(out: Output, name: str | None, listed: bool, directory: str | None) -> None:  # noqa: FBT001
    """Restore a session from the trash: the last one deleted, or the one named."""
    if listed:
        if name is not None:
            raise click.UsageError("--list takes no name")
        _list_trash(out, directory)
        return
    from branchline.actions.remove import restore

    done = restore(name, directory=directory)
    if out.json:
        out.result("restore", {"key": done.key, "path": done.path})
    else:
        out.line(f"restored {done.key}: {done.path}")


def _list_trash(out: Output, directory: str | None) -> None:
    from branchline.actions.remove import trash

    items = trash(directory=directory)
    if out.json:
        out.result("restore", {"trash": [_trash_fields(trashed) for trashed in items]})
        return
    for item in (trashed.item for trashed in items):
        facts = f"  {age(item.removed * 1000, time.time()):>4}  {format_size(item.size):>10}  "
        out.line(paint("id", item.token), paint("dim", facts), item.key)
    remark(f"{count(len(items), 'session')} in the trash")


def _trash_fields(trashed: TrashedSession) -> dict[str, Any]:
    item = trashed.item
    return {
        "token": item.token,
        "key": item.key,
        "size": item.size,
        "removed_ms": round(item.removed * 1000),
        "draft": item.draft,
        "directory": trashed.library,
    }


@command(
    "prune", examples="branchline prune               lists what it would delete\nbranchline prune --yes"
)
@click.option("--all", "everywhere", is_flag=True, help="Include all working directories.")
@click.option("--yes", is_flag=True, help="Move them; without it, only list them.")
@directory_option
def prune_command(out: Output, everywhere: bool, yes: bool, directory: str | None) -> None:  # noqa: FBT001
    """Move sessions without messages to the trash. Without --yes, only list them."""
    from branchline.actions.remove import prune

    if everywhere and directory is not None:
        raise click.UsageError("use either --all or --dir, not both")
    found = prune(directory=directory, everywhere=everywhere, dry_run=not yes)
    if out.json:
        import msgspec

        fields = [msgspec.to_builtins(pruned) for pruned in found]
        out.result("prune", {"dry_run": not yes, "sessions": fields})
        return
    for pruned in found:
        row = pruned.row
        done = f"moved to the trash as {pruned.token}" if pruned.removed else "would be moved to the trash"
        out.line(
            paint("id", row.id),
            paint("time", f"  {age(row.active_ms, time.time()):>4}  "),
            row.title or "",
            f"  {done}",
        )
    empty = count(len(found), "empty session")
    if not found:
        remark("no empty sessions")
    else:
        remark(f"{empty}; `branchline restore` restores them" if yes else f"{empty}; --yes moves them")
