"""``web``: show sessions in a web browser."""

from __future__ import annotations

import sys
from functools import partial

import click

from branchline._version import install_extra
from branchline.cli import end_at_once
from branchline.cli.options import command, store_option
from branchline.cli.output import Output, remark
from branchline.cli.resolver import chosen_library

__all__ = ["web_command"]


@command(
    "web",
    plain=False,
    examples="""
    branchline web
    branchline web --store ~/sessions
    branchline web --no-open --port 8123
    """,
)
@click.option("--port", type=click.IntRange(1, 65535), help="Use this port; a free one by default.")
@click.option("--open/--no-open", "open_browser", default=True, help="Open the address in a web browser.")
@click.option("--write", "writable", is_flag=True, help="Allow titles, tags, labels, branches and forks.")
@store_option("Show the sessions in STORE, of any agent.")
def web_command(
    out: Output,
    port: int | None,
    open_browser: bool,  # noqa: FBT001
    writable: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Show sessions in a web browser.

    The viewer is reachable only from this machine, at an address that works once, until you press Ctrl-C.
    Enter makes another address. It changes nothing unless --write is given.
    """
    from branchline.actions.index import index_behind

    try:
        from branchline.web.server import serve
    except ImportError as problem:
        raise click.ClickException(f"the web viewer needs {problem.name}: {install_extra('web')}") from None
    library = chosen_library(directory, everywhere=True, subagents=False)

    def told(address: str) -> None:
        if out.json:
            out.result("web", {"address": address, "writable": writable})
            return
        out.line(address)
        remark(f"Ctrl-C stops the viewer; the address works once{more}")

    again = sys.stdin.fileno() if not out.json and sys.stdin is not None and sys.stdin.isatty() else None
    more = "" if again is None else ", Enter makes another"

    end_at_once()
    try:
        serve(
            library,
            port=port or 0,
            writable=writable,
            open_browser=open_browser,
            on_address=told,
            again=again,
            index=partial(index_behind, directory),
        )
    except OSError as problem:
        raise click.ClickException(f"cannot listen on port {port}: {problem.strerror}") from None
