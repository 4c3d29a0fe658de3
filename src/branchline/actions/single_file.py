"""A session as one HTML file, and the scan of the finished file."""

from __future__ import annotations

import contextlib
import hashlib
import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import NamedTuple

import msgspec

from branchline import settings
from branchline._version import __version__
from branchline.actions.page_assets import page_assets, require_html
from branchline.actions.redactor import LOCAL_NAMES, FoundSecret, Redactor
from branchline.clock import SystemClock, iso
from branchline.context import totals
from branchline.conversion import branch_tips
from branchline.errors import NotSaved
from branchline.formats import EntryLog
from branchline.formats.entry_log import whole_lines
from branchline.log import Spool
from branchline.plugins.formats import detect_in
from branchline.session import Session
from branchline.tree import ROOT
from branchline.views.call_results import CallPairs, PathCalls
from branchline.views.cards import Card, cards
from branchline.views.entry_rows import copy_text
from branchline.views.figures import cost_of, is_usage_known, messages_on
from branchline.views.html.pieces import PieceOptions
from branchline.views.html.single_page import Provenance, packed_file, packed_frames, single_page
from branchline.views.humanize import count
from branchline.views.markdown import markdown
from branchline.views.text import one_line, safe

__all__ = ["SinglePage", "file_key", "left_in_page", "page_of", "page_parts", "require_same_tree"]

_LONGEST_TITLE = 90
_MARKDOWN_ENTRIES, _MARKDOWN_SIZE = 400, 20_000
_SCANNED = 1 << 22
_SUMMED = 32 << 20
"""Sessions up to this size, in bytes, show their cost on the page."""


class SinglePage(NamedTuple):
    """A page as lazily rendered chunks, with its provenance."""

    pieces: Iterator[bytes]
    provenance: Provenance


def page_of(
    session: Session,
    lines: Iterable[bytes] | None,
    redactor: Redactor,
    *,
    options: PieceOptions,
    left_out: tuple[str, ...] = (),
    whole: bool = True,
    files: Mapping[str, bytes] | None = None,
) -> SinglePage:
    """Render the page of a session.

    ``lines`` is the content of a session file in blocks of whole lines; None means the file of the session
    itself, byte for byte. ``whole`` says that they have all entries of the session. ``files`` are the
    documents that the session is kept in, which the page gives back. Raises NotSaved if redaction would
    change the tree, NotSupported if the extra ``html`` is not installed.
    """
    require_html()
    if lines is None:
        content = session.transcript
    else:
        if not whole:
            redactor.learn(session.transcript.blocks())
        spool = Spool(redactor.lines(block) for block in lines)
        if redactor.known_values:  # the last line may tell what is secret in the first
            spool = Spool(redactor.known_in_lines(block) for block in whole_lines(spool.read))
        name = session.transcript.name
        content = EntryLog(detect_in(spool.read, name), spool.read, name)
    replaced = redactor.found()
    counts = {each.kind: each.count for each in replaced or ()}
    masked = {kind: number for kind, number in counts.items() if kind in LOCAL_NAMES}
    secrets = {kind: number for kind, number in counts.items() if kind not in LOCAL_NAMES}
    if lines is not None and whole and replaced:
        require_same_tree(session, session.transcript, content)
    leaf = session.leaf if session.leaf in content.tree else content.leaf
    path = content.tree.conversation_path(leaf)
    size, digest = _digest(content)
    title = redactor.text(_title(session, content, path))
    provenance = Provenance(
        branchline=__version__,
        format=session.format,
        session=session.id,
        key=file_key(session, redactor),
        title=title,
        created=session.header.timestamp,
        exported=iso(SystemClock().now()),
        entries=len(content.tree),
        branches=max(1, len(branch_tips(content))),
        left_out=left_out,
        redacted=None if redactor.off and not secrets else secrets,
        masked=masked if redactor.portable else None,
        size=size,
        sha256=digest,
        files=tuple(packed_file(name, content) for name, content in (files or {}).items()),
    )
    pieces = single_page(
        content,
        provenance,
        leaf=leaf,
        facts=[redactor.text(fact) for fact in _facts(session, content, path, provenance)],
        markdown=_as_markdown(content, path, title, redactor),
        static=page_assets(),
        options=options,
        files=(files or {}).values(),
    )
    return SinglePage(pieces, provenance)


def left_in_page(path: str, redactor: Redactor) -> list[FoundSecret]:
    """Return the secrets in a finished page, including its packed parts."""
    with open(path, "rb") as file:

        def read(offset: int, size: int) -> bytes:
            file.seek(offset)
            return file.read(size)

        return redactor.left_in(page_parts(read))


_PACKED = b'<script type="application/json" id="provenance">'
_HIDDEN = re.compile(r"<style>.*?</style>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_WITHIN_A_WORD = re.compile(r"</?(?:strong|em|del|mark|b|i|s)>")


def page_parts(read: Callable[[int, int], bytes]) -> Iterator[bytes | str]:
    """Yield all text of a page: what it shows initially, the session lines, and all rendered pieces."""
    head = read(0, _SCANNED).partition(_PACKED)[0].decode("utf-8", "replace")
    yield _text(_HIDDEN.sub("", head))
    lines: list[bytes] = []
    texts: list[str] = []
    held = 0
    for line, piece in packed_frames(read):
        lines.append(line)
        texts.append(_text(piece.decode("utf-8", "replace")))
        held += len(line)
        if held >= _SCANNED and line.endswith(b"\n"):
            yield b"".join(lines)
            yield "\n".join(texts)
            lines, texts, held = [], [], 0
    yield b"".join(lines)
    yield "\n".join(texts)


def _text(markup: str) -> str:
    return html.unescape(_TAG.sub("\n", _WITHIN_A_WORD.sub("", markup)))


def require_same_tree(session: Session, before: EntryLog, after: EntryLog) -> None:
    """Raise NotSaved if redaction changed the tree; entries that never leave their file do not count."""
    if before.leaf != after.leaf or _links(before) != _links(after):
        raise NotSaved(f"cannot export {session.id}: redaction would change its tree; nothing was written")


def _links(log: EntryLog) -> list[tuple[str, str | None]]:
    """The id and the parent of each entry that may leave the file."""
    keys, withheld = log.tree.keys, log.reading.withheld
    return [
        (key, None if parent == ROOT else keys[parent])
        for position, (key, parent) in enumerate(zip(keys, log.tree.parents, strict=True))
        if position not in withheld
    ]


def file_key(session: Session, redactor: Redactor) -> str:
    """Return the name of a session's file, without a secret in it."""
    return session.key if redactor.text(session.key) == session.key else "session"


def _digest(content: EntryLog) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    while block := content.bytes_between(size, size + _SCANNED):
        digest.update(block)
        size += len(block)
    return size, digest.hexdigest()


def _title(session: Session, content: EntryLog, path: list[str]) -> str:
    """The title, or the beginning of the first prompt."""
    if session.title:
        return one_line(session.title)
    tree = content.tree
    first = next((tree.positions[key] for key in path if tree.roles[tree.positions[key]] == "user"), None)
    words = "" if first is None else one_line(copy_text(content.entry(first))[: 4 * _LONGEST_TITLE])
    return words if len(words) <= _LONGEST_TITLE else words[:_LONGEST_TITLE].rsplit(" ", 1)[0] + " …"


def _facts(session: Session, content: EntryLog, path: list[str], known: Provenance) -> Iterator[str]:
    tree = content.tree
    yield session.format
    if days := _days([tree.times[tree.positions[key]] for key in (path[:1] + path[-1:])]):
        yield days
    yield count(messages_on(tree, [tree.positions[key] for key in path]), "message")
    if known.size <= _SUMMED:
        spent = totals(content, prices=settings.price_list()).all
        is_known = is_usage_known(spent, tree.roles.count("assistant"))
        if spent.total.total_tokens or spent.total.cost or not is_known:
            yield cost_of(spent.total, is_known=is_known).words
    parts = [
        f"{count(sum(kinds.values()), 'place')} {what}"
        for what, kinds in (("replaced", known.redacted), ("masked", known.masked))
        if kinds
    ]
    parts += [f"without {what}" for what in known.left_out]
    if parts:
        yield "not the original: " + "; ".join(parts)


def _days(times: Iterable[str]) -> str:
    """``2 March 2026``, ``2 – 6 March 2026``, ``30 March – 2 April 2026``."""
    days = []
    for time in times:
        with contextlib.suppress(ValueError):
            days.append(date.fromisoformat(time[:10]))
    if not days:
        return ""
    first, last = days[0], days[-1]
    end = f"{last.day} {last:%B} {last.year}"
    if first == last:
        return end
    if first.year != last.year:
        return f"{first.day} {first:%B} {first.year} – {end}"
    return f"{first.day} – {end}" if first.month == last.month else f"{first.day} {first:%B} – {end}"


def _as_markdown(content: EntryLog, path: list[str], title: str, redactor: Redactor) -> str:
    """The path as Markdown for readers without JavaScript, with one line per tool call."""
    positions = [content.tree.positions[key] for key in path[:_MARKDOWN_ENTRIES]]
    whole = frozenset(content.tree.positions[key] for key in path)
    calls = PathCalls(CallPairs(content), positions, whole, content.entry)
    deck = cards(content.entries(positions), labels=content.reading.labels, calls=calls)
    text = markdown((_brief(card) for card in deck if card.kind != "thinking"), title=title)
    more = len(path) - len(positions)
    if len(text) > _MARKDOWN_SIZE:
        text = text[:_MARKDOWN_SIZE].rpartition("\n")[0]
        more = max(1, more)
    if more:
        text += "\n\n(There is more: open this page with JavaScript, or with branchline show FILE.)\n"
    return redactor.text(safe(text))


def _brief(card: Card) -> Card:
    if card.kind in ("tool", "bash", "unknown"):
        return msgspec.structs.replace(card, body="", call=None)
    if len(card.body) > _MARKDOWN_SIZE:  # more than the page takes of the whole path
        return msgspec.structs.replace(card, body=card.body[: 2 * _MARKDOWN_SIZE])
    return card
