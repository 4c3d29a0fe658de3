"""``/find``: search all sessions and open the entry that is picked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from branchline.chat.frontend import Picker, PickerOption
from branchline.chat.session_commands import switch_to
from branchline.chat.tree_commands import go_to
from branchline.views.hit_lines import hit_line
from branchline.views.hits import Hit, Hits
from branchline.views.humanize import count

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["find"]


async def find(chat: Chat, words: str) -> None:
    """Search all sessions and go to a match."""
    if not words:
        raise ValueError(
            "what are you looking for? Write /find WORDS; agent:codex, after:7d and others narrow it"
        )
    hits = chat.services.search(words)
    if not hits:
        chat.front.notice(hits.coverage)
    for note in hits.remarks:
        chat.front.notice(note)
    if hits.unindexed:
        chat.front.notice(
            f"{count(hits.unindexed, 'session')} not indexed yet; that happens in the background"
        )
    if not hits:
        return
    chosen = await chat.front.pick(_picker(hits))
    if chosen is None:
        chat.front.notice("nothing selected; position unchanged")
        return
    hit = hits[int(chosen) - 1]
    if _is_here(chat, hit):
        await go_to(chat, hit.entry)
    else:
        await switch_to(chat, hit.row.path or hit.row.key, entry=hit.entry)


def _picker(hits: Hits) -> Picker:
    now = time.time()
    options = [
        PickerOption(key=str(number), line=hit_line(hit, now=now)) for number, hit in enumerate(hits, 1)
    ]
    more = f" of {hits.total}{' or more' if hits.at_least else ''}" if hits.total > len(hits) else ""
    return Picker(question=f"Go to which of {len(hits)}{more} matches?", options=options)


def _is_here(chat: Chat, hit: Hit) -> bool:
    session = chat.conductor.session
    return session.file is not None and hit.row.path == session.file and hit.entry in session.index
