"""``/attach``: files that go with the next prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from branchline.chat.arguments import split_words
from branchline.views.spans import Span

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["attach"]


async def attach(chat: Chat, words: str) -> None:
    """Send files or images with the next prompt; @PATH in a prompt does it too."""
    if words == "--clear":
        chat.attached.clear()
        chat.front.notice("attachments removed")
        return
    for path in split_words(words):
        try:
            chat.attach(path)
        except ValueError as problem:
            chat.front.notice(str(problem))
    for one in chat.attached:
        chat.front.line(Span(one.path, "path"), Span(f"  {one.about}", "dim"))
    if not words and not chat.attached:
        chat.front.notice("nothing attached; /attach PATH, or @PATH in a prompt, sends a file or an image")
