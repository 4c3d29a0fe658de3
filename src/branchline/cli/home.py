"""``branchline`` without a command: where one stands, and what to do next."""

from __future__ import annotations

from branchline.cli.listing import list_all, list_here, print_rows
from branchline.cli.output import Output

__all__ = ["show_home"]

_SHOWN = 20
_WELCOME = """\
No sessions yet. branchline keeps conversations with AI agents as trees.

  branchline new --title "My first one"     begin a session here; prints its id
  branchline append @last "Hello"           say something in it
  branchline tree @last                     see its branches
  branchline import FILE                    bring in a session of pi or another agent
  branchline ls --dir DIR                   look at a directory of session files
  branchline --help                         everything else"""


def show_home(out: Output) -> None:
    """The sessions of this directory; where there are none, of all; else a welcome and the demo."""
    listing = list_here()
    elsewhere = not listing.seen
    if elsewhere:
        listing = list_all()
    if out.json or listing.seen:
        print_rows(out, listing, listing.rows[:_SHOWN], with_directory=elsewhere)
    else:
        from branchline.cli.demonstrating import show_demo

        out.text(_WELCOME)
        show_demo(out)
