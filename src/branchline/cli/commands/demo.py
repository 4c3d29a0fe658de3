"""``demo`` and ``--demo``: a demo library."""

from __future__ import annotations

import os
import time

import click

from branchline.cli.options import command
from branchline.cli.output import Output, remark

__all__ = ["demo_command", "enter_demo", "show_demo"]

_TRY = """\
Try:
  branchline --demo tree "Parse the tide tables"    an abandoned branch with its summary
  branchline --demo diff "Summer time"              two answers to one prompt
  branchline --demo show "Is the slipway dry?"      a conversation with a compaction
  branchline --demo forest                          a fork from another program
  branchline --demo stats                           messages, tokens, cost
  branchline --demo check                           one file met the sea"""


@command(
    "demo",
    examples="""
    branchline demo
    branchline --demo tree "Summer time"
    branchline demo --reset
    """,
)
@click.option("--reset", is_flag=True, help="Recreate the demo library and discard your changes to it.")
def demo_command(out: Output, reset: bool) -> None:  # noqa: FBT001
    """Create a demo library of eight sessions, and list it.

    The sessions belong to one small project and come from five agents. Any command
    preceded by --demo uses this library instead of yours; it is a copy, so you can change it.
    """
    from branchline import demo

    if reset:
        demo.delete_copy()
    enter_demo()
    from branchline.cli.commands.ls import print_rows
    from branchline.cli.resolver import everywhere_library

    listing = everywhere_library().list(deep=True)
    print_rows(out, listing, listing.rows, command="demo")
    if not out.json:
        out.line()
        out.text(_TRY)


def enter_demo() -> None:
    """Switch to the demo library and the directory of its project."""
    from branchline import demo, places
    from branchline.settings import settings_path

    os.environ["BRANCHLINE_CONFIG"] = settings_path()  # keep the settings of the user
    made = demo.prepare(now=time.time())
    places.confine(made.home)  # hides the sessions of the user, wherever they are
    os.chdir(made.project)


def show_demo(out: Output) -> None:
    """List the demo sessions of the package."""
    from msgspec.structs import replace

    from branchline import demo
    from branchline.cli.commands.ls import print_rows
    from branchline.formats import PI
    from branchline.library import Listing, SessionLibrary
    from branchline.places import NATIVE_AGENT
    from branchline.views.session_row import latest_first

    out.line()
    out.text("Until then, here is the demo library (use `branchline --demo …` to work with it):")
    out.line()
    later = demo.days_later(time.time()) * 86_400_000
    rows = [
        replace(
            row,
            agent=NATIVE_AGENT if row.format == PI.name else row.format,
            used_ms=row.active_ms + later,
        )
        for row in SessionLibrary(demo.sessions_directory()).list(deep=True).rows
    ]
    rows.sort(key=latest_first)
    print_rows(out, Listing(rows), rows, summary=False)
    remark("no sessions found on this machine; these are the sessions of the demo library")
