"""The text of a prompt, returned for editing when the user goes back to before it."""

from __future__ import annotations

import msgspec

from branchline.entries import (
    Content,
    CustomMessage,
    Entry,
    Image,
    MessageEntry,
    UserMessage,
    blocks_text,
)

__all__ = ["EditablePrompt", "editable_prompt"]


class EditablePrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The text and images of a prompt."""

    text: str
    images: tuple[Image, ...] = ()


def editable_prompt(entry: Entry, *, custom: bool = True) -> EditablePrompt | None:
    """Return the text of a prompt or an extension's message; None for other entries."""
    match entry:
        case MessageEntry(message=UserMessage(content=content)):
            return _from_content(content)
        case CustomMessage(content=content) if custom:
            return _from_content(content)
        case _:
            return None


def _from_content(content: Content) -> EditablePrompt:
    images = () if isinstance(content, str) else tuple(b for b in content if isinstance(b, Image))
    return EditablePrompt(text=blocks_text(content), images=images)
