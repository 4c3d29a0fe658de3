"""Files in prompts: ``@path`` as the user types it, and the text of the file as the model reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

__all__ = ["file_block", "mention_text", "mentions", "with_mentions", "without_files"]

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+?)(?=[.,;:!?)\]]*(?:\s|\Z)))')
_SENT = re.compile(r'<file path="([^"\n]*)">')
_SENT_BY_ANY = re.compile(r'<file (?:path|name)="([^"\n]*)">')  # pi writes "name"
_CLOSING = "</file>"


def mentions(prompt: str) -> Iterator[str]:
    """Yield the paths that a prompt mentions as ``@path`` or ``@"a path"``, each once."""
    yield from dict.fromkeys(quoted or plain for quoted, plain in _MENTION.findall(prompt))


def mention_text(path: str) -> str:
    """Return a path as a prompt mentions it."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def file_block(path: str, text: str) -> str:
    """Return the text of a file as it is sent with a prompt."""
    name = path.replace('"', "'").replace("\n", " ")
    end = "" if text.endswith("\n") else "\n"
    return f'<file path="{name}">\n{text}{end}{_CLOSING}'


def without_files(text: str) -> str:
    """Return a prompt without the files inside it."""
    return _replaced(text, _SENT_BY_ANY, lambda _path: "")


def with_mentions(text: str) -> str:
    """Return a prompt with the files inside it as mentions again, for editing and for previews."""
    if _CLOSING not in text:
        return text
    seen = set(mentions(without_files(text)))
    return _replaced(text, _SENT, lambda path: "" if path in seen else f" {mention_text(path)}")


def _replaced(text: str, opening: re.Pattern[str], replacement: Callable[[str], str]) -> str:
    pieces: list[str] = []
    at = 0
    for found in opening.finditer(text):
        if found.start() < at:
            continue  # inside a file
        end = text.find(_CLOSING, found.end())
        if end < 0:
            break
        pieces += [text[at : found.start()], replacement(found[1])]
        at = end + len(_CLOSING)
    return "".join([*pieces, text[at:]]).strip() if pieces else text
