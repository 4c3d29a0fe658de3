"""``/attach``: files that go with the next prompt."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from branchline.views.spans import Span

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["attach"]


async def attach(chat: Chat, words: str) -> None:
    """Add files to the next prompt, list them, or take them away again."""
    if words == "--clear":
        chat.attached.clear()
        chat.front.notice("the next prompt goes without files")
        return
    for path in shlex.split(words):
        chat.attach(path)
    for one in chat.attached:
        chat.front.line(Span(one.path, "path"), Span(f"  {one.about}", "dim"))
    if not chat.attached:
        chat.front.notice("nothing attached; /attach PATH, or @PATH in a prompt, sends a file or an image")
