"""A path written as a Markdown file, new and private."""

from __future__ import annotations

import os

from branchline.session import Session
from branchline.views.cards import cards
from branchline.views.markdown import markdown

__all__ = ["export_path"]


def export_path(session: Session, key: str, path: str, *, home: str = "") -> str:
    """Write the conversation up to an entry; returns the full path. FileExistsError when there is one."""
    deck = cards(session.entries(session.path(key)), labels=session.transcript.reading.labels, home=home)
    text = markdown(deck, title=session.title or "", facts=(f"Session {session.id}", f"Up to entry {key}"))
    target = os.path.abspath(os.path.expanduser(path))
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise FileExistsError(f"there is a file {target} already; choose another name") from None
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return target
