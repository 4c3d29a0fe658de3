"""``label`` and ``name``: the label of an entry, and the title of a session."""

from __future__ import annotations

import click

from branchline.actions.names import resolve_entry
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_session
from branchline.cli.write_access import described, open_for_writing, position_fields

__all__ = ["label_command", "name_command"]


@command(
    "label",
    examples="""
    branchline label @last 3f2a "before the rewrite"
    branchline label @last @leaf good
    branchline label @last 3f2a --clear
    branchline label @last 3f2a                 prints the label
    """,
)
@session_argument()
@click.argument("entry")
@click.argument("text", required=False)
@click.option("--clear", is_flag=True, help="Remove the label.")
@directory_option
def label_command(
    out: Output,
    session: str,
    entry: str,
    text: str | None,
    clear: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Label an entry. The leaf does not move."""
    changes = _changes(text, clear=clear, what="TEXT")
    with (open_for_writing if changes else resolve_session)(session, directory) as live:
        target = resolve_entry(live, entry)
        if changes:
            live.append_label(target, text)
        label = live.label(target)
        if out.json:
            out.result("label", {**position_fields(live), "entry": target, "label": label})
        elif changes:
            done = (
                f"removed the label of {target}" if clear else f"labelled {described(live, target)}: {text}"
            )
            out.line(f"{done}; the leaf is still {live.leaf or 'before the first entry'}")
        elif label is None:
            remark(f"{target} has no label")
        else:
            out.line(label)


@command(
    "name",
    examples="""
    branchline name @last "Auth refactor"
    branchline name @last --clear
    branchline name @last                       prints the title
    """,
)
@session_argument()
@click.argument("title", required=False)
@click.option("--clear", is_flag=True, help="Remove the title.")
@directory_option
def name_command(
    out: Output,
    session: str,
    title: str | None,
    clear: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Set the title of a session. The leaf does not move."""
    changes = _changes(title, clear=clear, what="TITLE")
    with (open_for_writing if changes else resolve_session)(session, directory) as live:
        if changes:
            live.set_title(title or "")
        if out.json:
            out.result("name", {**position_fields(live), "title": live.title})
        elif changes:
            done = f"{live.id} has no title now" if clear else f"{live.id} is now called {live.title}"
            out.line(f"{done}; the leaf is still {live.leaf or 'before the first entry'}")
            if not live.is_draft and live.transcript.reading.title_in_agent != live.title:
                out.line(f"{live.format} shows its own title until it is renamed there")
        elif live.title is None:
            remark(f"{live.id} has no title")
        else:
            out.line(live.title)


def _changes(text: str | None, *, clear: bool, what: str) -> bool:
    """Whether the arguments change something, or only print it. Raises UsageError if they contradict."""
    if text is not None and clear:
        raise click.UsageError(f"either {what} or --clear, not both")
    if text is not None and not text.strip():
        raise click.UsageError(f"{what} is empty; --clear removes it")
    return clear or text is not None
