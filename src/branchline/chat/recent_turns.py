"""The last turns of a conversation, shown when it is resumed, and the number of earlier ones."""

from __future__ import annotations

import itertools
import os

import msgspec

from branchline.chat.frontend import Frontend
from branchline.session import Session
from branchline.views.browser.conversation import Conversation
from branchline.views.cards import Card
from branchline.views.humanize import count
from branchline.views.spans import Span

__all__ = ["show_recent_turns"]

_TURNS = 3
_EARLIER_LINES = 8
_LAST_LINES = 60
_LINE = 80
"""Characters of a line on average, for texts without line breaks."""
_SHOWN = frozenset(
    {"user", "assistant", "thinking", "tool", "bash", "compaction", "branch", "note", "damage"}
)


def show_recent_turns(front: Frontend, session: Session) -> None:
    """Show the last turns of the active path: the last one in full, the others in a few lines."""
    talk = Conversation(session, session.leaf, home=os.path.expanduser("~"))
    prompts = list(talk.prompts(len(talk), -1))
    starts = list(itertools.islice(prompts, _TURNS))
    earlier = len(prompts) - len(starts)
    first = starts[-1] if starts else max(0, len(talk) - _TURNS)
    if earlier:
        front.line(Span(f"▸ {count(earlier, 'earlier turn')}, /tree shows all", "dim"))
    last = starts[0] if starts else first
    for part in range(first, len(talk)):
        most = _LAST_LINES if part >= last else _EARLIER_LINES
        for card in talk.cards(part):
            if card.kind in _SHOWN:
                front.card(_shortened(card, most))


def _shortened(card: Card, most: int) -> Card:
    if card.kind in ("tool", "bash"):
        return card
    shown = "\n".join(card.body.split("\n", most)[:most])[: most * _LINE]
    if len(shown) == len(card.body):
        return card
    left_out = count(len(card.body) - len(shown), "more character")
    fence = "\n```" if shown.count("\n```") % 2 else ""  # the rest of a code block is left out with its end
    return msgspec.structs.replace(card, body=f"{shown}{fence}\n\n… {left_out}")
