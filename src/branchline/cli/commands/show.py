"""``show``: print a conversation from the root to the leaf."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from branchline.actions.names import resolve_entry
from branchline.cli.commands.browse import pick_session
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, Piece, StyleRole, paint, remark
from branchline.cli.resolver import resolve_session
from branchline.cli.write_access import position_fields
from branchline.clock import local_time
from branchline.errors import EntryNotFound
from branchline.views.humanize import count, format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from branchline.session import Session
    from branchline.views.cards import Card

__all__ = ["conversation_cards", "print_path_to", "show_command"]

_FOLDED = frozenset({"thinking", "tool", "bash", "system", "unknown", "damage"})
_ROLES: dict[str, StyleRole] = {
    "user": "user",
    "bash": "bash",
    "custom": "custom",
    "compaction": "summary",
    "branch": "summary",
    "damage": "error",
}


@command(
    "show",
    paged=True,
    examples="""
    branchline show @last
    branchline show @last --last 4 --full
    branchline show @last --branch "other parser"
    branchline show 01a1ddf5 --at 3f2a --markdown > talk.md
    """,
)
@session_argument(picked=True)
@click.option("--at", metavar="ENTRY", help="Show the path to ENTRY instead of the leaf.")
@click.option("--branch", metavar="ENTRY", help="Show the branch that ENTRY is on, to its end.")
@click.option("--from", "start", metavar="ENTRY", help="Start at this entry of the path.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Show only the last N entries.")
@click.option("--full", is_flag=True, help="Show tool results, thinking and long prompts in full.")
@click.option("--raw", is_flag=True, help="Print the raw lines of the file.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@directory_option
def show_command(
    out: Output,
    session: str | None,
    at: str | None,
    branch: str | None,
    start: str | None,
    last: int | None,
    full: bool,  # noqa: FBT001
    raw: bool,  # noqa: FBT001
    as_markdown: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Show the path from the root to the leaf. Tool results are shortened to one line each."""
    if raw + as_markdown + out.json > 1:
        raise click.UsageError("choose one of --raw, --markdown and --json")
    if at is not None and branch is not None:
        raise click.UsageError("choose one of --at and --branch")
    with resolve_session(session or pick_session(out, "show", directory), directory) as live:
        path = _stretch(live, _end(live, at, branch), start, last)
        if raw:
            out.data(_lines(live, path))
            return
        deck = conversation_cards(live, path)
        if out.json:
            fields = {**position_fields(live), "title": live.title, "entries": path}
            out.result("show", {**fields, "cards": [_card_fields(card) for card in deck]})
        elif as_markdown:
            from branchline.views.markdown import markdown

            out.text(markdown(deck, title=live.title or "", facts=[f"Session {live.id}"]).rstrip("\n"))
        else:
            from branchline.views.short_ids import short_ids

            ids = short_ids([card.id for card in deck], live.index.keys)
            _print(out, deck, ids, full=full)
            if not path:
                remark(f"{live.id} has nothing to show: it is empty or was reset")


def print_path_to(out: Output, session: Session, entry: str, words: Sequence[str]) -> None:
    """Print the path to an entry that a search found, in full where the words are, with the words marked."""
    from branchline.views.short_ids import short_ids

    deck = conversation_cards(session, session.path(entry))
    ids = short_ids([card.id for card in deck], session.index.keys)
    _print(out, deck, ids, words=words, opened=_card_with(deck, entry, words))


def _card_with(deck: list[Card], entry: str, words: Sequence[str]) -> Card | None:
    """The card of an entry, or of the call that it answers: the last one that contains the words."""
    from branchline.views.hits import matches_all

    def text(card: Card) -> str:
        return "\n".join((card.title, card.body, *(section.text for section in card.sections())))

    for card in reversed(deck):
        if matches_all(text(card), words):
            return card
    return next((card for card in reversed(deck) if card.id == entry), deck[-1] if deck else None)


def _card_fields(card: Card) -> dict[str, Any]:
    """A card as JSON. ``arguments`` repeats those of ``call`` as text, as the schema promises."""
    import msgspec

    from branchline.views.tool_views import json_text

    arguments = "" if card.call is None else json_text(card.call.arguments)
    return {**msgspec.to_builtins(card), "arguments": arguments}


def conversation_cards(session: Session, path: list[str]) -> list[Card]:
    from branchline.views.cards import cards

    labels = session.transcript.reading.labels
    return cards(session.entries(path), labels=labels, home=os.path.expanduser("~"))


def _lines(session: Session, path: list[str]) -> bytes:
    """The raw lines of entries of a path, each line once even if it has several entries."""
    reading, index = session.transcript.reading, session.index
    found = {reading.span(index.position(entry)): entry for entry in path}
    return b"".join(session.raw(entry) + b"\n" for entry in found.values())


def _end(session: Session, at: str | None, branch: str | None) -> str | None:
    """The last entry of the path; None for the leaf."""
    from branchline.views.browser.conversation import branch_end

    if branch is not None:
        return branch_end(session, resolve_entry(session, branch))
    return None if at is None else resolve_entry(session, at)


def _stretch(session: Session, end: str | None, start: str | None, last: int | None) -> list[str]:
    path = session.path(end)
    if start is not None:
        first = resolve_entry(session, start)
        if first not in path:
            raise EntryNotFound(f"entry {first} is not on this path; --at ENTRY shows another path")
        path = path[path.index(first) :]
    return path if last is None else path[-last:]


def _print(
    out: Output,
    deck: list[Card],
    ids: dict[str, str],
    *,
    full: bool = False,
    words: Sequence[str] = (),
    opened: Card | None = None,
) -> None:
    speaker = ""
    role: StyleRole
    for number, card in enumerate(deck):
        heading = _heading(card)
        if heading is not None and (heading != speaker or card.kind == "user"):
            if number:
                out.line()
            out.line(*_heading_pieces(card, heading, ids[card.id], between=_between(out)))
            speaker = heading
        elif card.label:
            out.line("  ", paint("label", f"[{card.label}]"))
        elif card.kind == "assistant" and deck[number - 1].id != card.id:
            out.line()
        if card.kind in _FOLDED:
            _print_folded(out, card, full=full or card is opened, words=words)
        elif card.kind in ("setting", "note"):
            role = "error" if card.error else "setting"
            out.line("  ", paint(role, card.title if out.plain else f"· {card.title}"))
            if full and card.body.strip():
                out.text(card.body.strip("\n"), indent="    ", role=role)
        elif card.body.strip():
            role = "error" if card.error else "plain"
            out.text(card.body.strip("\n"), indent="  ", role=role, words=words)
        for picture in card.pictures:
            out.line("  ", paint("dim", f"[{picture.mime_type}, {format_size(picture.size)}]"))


def _heading(card: Card) -> str | None:
    """The speaker of a card; None if it belongs to the speaker above."""
    match card.kind:
        case "user":
            return "You"
        case "assistant" | "thinking" | "tool":
            return "Assistant"
        case "setting" | "note":
            return None
        case "bash":
            return "You ran"
        case "damage":
            return "Damaged"
        case _:
            return card.title or card.kind


def _between(out: Output) -> str:
    return ", " if out.plain else " · "


def _heading_pieces(card: Card, heading: str, name: str, *, between: str) -> list[Piece]:
    pieces: list[Piece] = [paint(_ROLES.get(card.kind, "heading"), heading)]
    facts = [local_time(card.timestamp), name, *(() if card.kind in ("bash", "tool") else card.meta)]
    pieces.append(paint("dim", "  " + between.join(filter(None, facts))))
    if card.label:
        pieces.append(paint("label", f"  [{card.label}]"))
    return pieces


def _print_folded(out: Output, card: Card, *, full: bool, words: Sequence[str]) -> None:
    """Print a call, thinking or a system prompt on one line; with ``full``, in full."""
    from branchline.views.call_lines import outcome_of, short_diff
    from branchline.views.call_outcomes import line_count
    from branchline.views.tool_views import diff_runs

    title = "thinking" if card.kind == "thinking" else card.title
    if card.kind == "bash":
        title = f"$ {title}"
    lines = line_count(card.body)
    if card.kind in ("tool", "bash"):
        outcome = outcome_of(card)
        facts = [*outcome.words, *filter(None, (outcome.duration,))]
    else:
        facts = [count(lines, "line")] if lines else []
    role: StyleRole = "error" if card.error else "thinking" if card.kind == "thinking" else "tool"
    mark = "" if out.plain else "▾ " if full else "▸ "
    out.row("  ", paint(role, f"{mark}{title}"), paint("dim", "  " + _between(out).join(facts)))
    for section in card.sections() if full else ():
        if section.title:
            out.line("    ", paint("dim", f"{section.title}:"))
        if section.kind == "diff":
            for lines_of_role, diff_role in diff_runs(section.text):
                out.text(lines_of_role, indent="    ", role=diff_role)
        else:
            out.text(section.text, indent="    ", role="dim", words=words)
    if not full and (diff := short_diff(card)):
        for lines_of_role, diff_role in diff_runs(diff):
            out.text(lines_of_role, indent="    ", role=diff_role)
    if full and lines:
        out.text(card.body.strip("\n"), indent="    ", words=words)
