"""The output of ``branchline`` without a command."""

from __future__ import annotations

from branchline.cli.commands.ls import list_newest, print_rows
from branchline.cli.output import Output

__all__ = ["show_home"]

_SHOWN = 20
_WELCOME = """\
No sessions yet. branchline keeps conversations with AI agents as trees.

  branchline chat                           chat with a model; the session is saved
  branchline new --title "My first one"     start a session here; prints its id
  branchline append @last "Hello"           append a message
  branchline tree @last                     show its branches
  branchline ls --all                       the sessions of pi, Claude Code, Codex and others
  branchline import FILE                    import a session file
  branchline ls --dir DIR                   list a directory of session files
  branchline --help                         everything else"""


def show_home(out: Output) -> None:
    """List the sessions of this directory, else of all directories, else a welcome and the demo."""
    listing = list_newest(_SHOWN)
    elsewhere = not listing.rows
    if elsewhere:
        listing = list_newest(_SHOWN, everywhere=True)
    if out.json or listing.seen:
        print_rows(out, listing, listing.rows, with_directory=elsewhere)
    else:
        from branchline.cli.commands.demo import show_demo

        out.text(_WELCOME)
        show_demo(out)
