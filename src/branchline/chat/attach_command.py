"""``/attach``: files that go with the next prompt."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from branchline.views.spans import Span

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["attach"]


async def attach(chat: Chat, words: str) -> None:
    """Add files to the next prompt, list them, or remove them."""
    if words == "--clear":
        chat.attached.clear()
        chat.front.notice("attachments removed")
        return
    for path in _paths(words):
        try:
            chat.attach(path)
        except ValueError as problem:
            chat.front.notice(str(problem))
    for one in chat.attached:
        chat.front.line(Span(one.path, "path"), Span(f"  {one.about}", "dim"))
    if not words and not chat.attached:
        chat.front.notice("nothing attached; /attach PATH, or @PATH in a prompt, sends a file or an image")


def _paths(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError:
        raise ValueError(f"cannot attach {words}: a quotation mark is not closed") from None
