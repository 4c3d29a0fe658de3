"""``store``: create or upgrade the tables of a database, and show what a store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from branchline.cli.options import command, group
from branchline.cli.output import Output, remark
from branchline.views.humanize import count, format_size

if TYPE_CHECKING:
    from branchline.actions.stores import StoreStatus

__all__ = ["store_command"]


@group(
    "store",
    examples="""
    branchline store init postgresql://localhost/work
    branchline store upgrade postgresql://localhost/work
    branchline store status sessions.db
    """,
)
def store_command(out: Output) -> None:
    """Prepare a database for sessions, and show what a store holds.

    A store is a directory, a SQLite file (sessions.db) or a server (postgresql://…). Directories and files
    need no preparation.
    """
    del out
    context = click.get_current_context()
    click.echo(context.get_help())


@command("init", below=store_command, examples="branchline store init postgresql://localhost/work")
@click.argument("store", metavar="STORE")
def init_command(out: Output, store: str) -> None:
    """Create the tables of branchline in a database. Existing tables stay as they are."""
    _prepare(out, store)


@command("upgrade", below=store_command, examples="branchline store upgrade postgresql://localhost/work")
@click.argument("store", metavar="STORE")
def upgrade_command(out: Output, store: str) -> None:
    """Bring the tables of a database to the version that this branchline needs."""
    _prepare(out, store)


@command(
    "status",
    below=store_command,
    examples="""
    branchline store status sessions.db
    branchline store status postgresql://localhost/work --json
    """,
)
@click.argument("store", metavar="STORE")
def status_command(out: Output, store: str) -> None:
    """Show what a store holds. Exits with 1 if its tables must be created or upgraded first."""
    from branchline.actions.names import existing_store
    from branchline.actions.stores import store_status

    found = store_status(existing_store(store))
    _print(out, found)
    if not found.is_ready:
        raise click.exceptions.Exit(1)


def _prepare(out: Output, store: str) -> None:
    from branchline.actions.stores import prepare_store

    _print(out, prepare_store(store))


def _print(out: Output, found: StoreStatus) -> None:
    import msgspec

    if out.json:
        fields = msgspec.to_builtins(found) | {"ready": found.is_ready}
        if found.server is None:
            del fields["warnings"]  # they are about roles, which only servers have
        out.result("store", fields)
        return
    rows = [("store", found.name)]
    if found.server is not None:
        rows.append(("server", f"PostgreSQL {found.server}"))
    if found.version is not None:
        rows.append(("tables", _version(found.version, found.needed)))
    if found.is_ready:
        rows.append(("sessions", f"{count(found.sessions, 'session')}, {format_size(found.bytes)}"))
        rows.append(("drafts", str(found.drafts)))
        rows.append(("trash", str(found.trash)))
    if found.stored_bytes:
        rows.append(("on disk", format_size(found.stored_bytes)))
    out.table(rows)
    for warning in found.warnings:
        remark(f"warning: {warning}")


def _version(version: int, needed: int | None) -> str:
    if version == needed:
        return f"version {version}, up to date"
    if not version:
        return "none; `branchline store init` creates them"
    if needed is not None and version > needed:
        return f"version {version}, newer than this branchline knows ({needed})"
    return f"version {version}; `branchline store upgrade` brings them to {needed}"
