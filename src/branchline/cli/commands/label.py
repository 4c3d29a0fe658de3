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
    plain=False,
    examples="""
    branchline label @last 3f2a "before the rewrite"
    branchline label @last @leaf good
    branchline label @last 3f2a ""              removes the label
    branchline label @last 3f2a                 prints the label
    """,
)
@session_argument()
@click.argument("entry")
@click.argument("text", required=False)
@directory_option
def label_command(out: Output, session: str, entry: str, text: str | None, directory: str | None) -> None:
    """Label an entry; an empty TEXT removes the label. The leaf does not move."""
    changes = text is not None
    with (open_for_writing if changes else resolve_session)(session, directory) as live:
        target = resolve_entry(live, entry)
        if text is not None:
            live.append_label(target, text if text.strip() else None)
        label = live.label(target)
        if out.json:
            out.result("label", {**position_fields(live), "entry": target, "label": label})
        elif changes:
            done = (
                f"removed the label of {target}"
                if label is None
                else f"labelled {described(live, target)}: {label}"
            )
            out.line(f"{done}; the leaf is still {live.leaf or 'before the first entry'}")
        elif label is None:
            remark(f"{target} has no label")
        else:
            out.line(label)


@command(
    "name",
    plain=False,
    examples="""
    branchline name @last "Auth refactor"
    branchline name @last ""                    removes the title
    branchline name @last                       prints the title
    """,
)
@session_argument()
@click.argument("title", required=False)
@directory_option
def name_command(out: Output, session: str, title: str | None, directory: str | None) -> None:
    """Set the title of a session; an empty TITLE removes it. The leaf does not move."""
    changes = title is not None
    with (open_for_writing if changes else resolve_session)(session, directory) as live:
        if title is not None:
            live.set_title(title)
        if out.json:
            out.result("name", {**position_fields(live), "title": live.title})
        elif changes:
            done = f"{live.id} is now called {live.title}" if live.title else f"{live.id} has no title now"
            out.line(f"{done}; the leaf is still {live.leaf or 'before the first entry'}")
            if not live.is_draft and live.transcript.reading.title_in_agent != live.title:
                out.line(f"{live.format} shows its own title until it is renamed there")
        elif live.title is None:
            remark(f"{live.id} has no title")
        else:
            out.line(live.title)
