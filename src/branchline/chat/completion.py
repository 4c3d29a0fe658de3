"""Completions for typed text: commands, entries and labels, sessions, files, models, levels."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

import msgspec

from branchline.chat import session_commands
from branchline.chat.permissions import Permission
from branchline.library.turns import prior_turns
from branchline.models import THINKING_LEVELS
from branchline.views.entry_rows import RowTexts
from branchline.views.file_mentions import mention_text
from branchline.views.text import cut, one_line

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["Suggestion", "suggestions"]

_OFFERED = 50
_WORDS = 60


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A completion: ``text`` replaces the last ``replaces`` characters."""

    text: str
    replaces: int
    about: str = ""


def suggestions(chat: Chat, written: str) -> Iterator[Suggestion]:
    """Return the completions for a partly typed command, or for a path after ``@`` in a prompt."""
    if not written.startswith("/"):
        if (typed := _typed_mention(written)) is not None:
            for path, about in itertools.islice(paths(chat.directory, typed), _OFFERED):
                text = mention_text(path)
                yield Suggestion(text=text, replaces=len(typed) + 1, about=about)
        return
    name, blank, words = written[1:].partition(" ")
    if not blank:
        for one in chat.commands:
            if one.name.startswith(name):
                yield Suggestion(text=f"/{one.name}", replaces=len(written), about=one.help)
        return
    command = chat.command(name)
    if command is None or command.completes is None:
        return
    for text, about in itertools.islice(_offers(chat, command.completes, words), _OFFERED):
        yield Suggestion(text=text, replaces=len(words), about=cut(one_line(about), _WORDS))


def _offers(chat: Chat, kind: str, typed: str) -> Iterator[tuple[str, str]]:
    match kind:
        case "entry":
            yield from _entries(chat, typed)
        case "turn":
            for turn in reversed(list(prior_turns(chat.conductor.session))):
                if turn.id.startswith(typed):
                    yield turn.id, turn.preview
        case "branch":
            for branch in chat.conductor.session.named_branches():
                if branch.name.startswith(typed):
                    yield branch.name, branch.tip
        case "file":
            last = typed.rpartition(" ")[2]
            for path, about in paths(chat.directory, last):
                yield typed[: len(typed) - len(last)] + shlex.quote(path), about
        case "session":
            for row in chat.services.sessions():
                about = row.title or row.first_prompt or ""
                if row.id.startswith(typed):
                    yield row.id, about
                elif row.title and row.title.lower().startswith(typed.lower()):
                    yield row.title, row.id
        case "operation":
            yield from ((name, "") for name in session_commands.OPERATIONS if name.startswith(typed))
        case "model":
            for one in chat.services.models.statuses():
                for model in one.models if one.ready else ():
                    if (name := f"{one.name}:{model}").startswith(typed):
                        yield name, one.base_url or ""
        case "thinking":
            yield from ((level, "") for level in THINKING_LEVELS if level.startswith(typed))
        case "tool":
            for verb in get_args(Permission):
                for tool in chat.tools:
                    if (text := f"{verb} {one_line(tool.full_name)}").startswith(typed):
                        yield text, tool.description
        case "command":
            yield from ((one.name, one.help) for one in chat.commands if one.name.startswith(typed))


def _typed_mention(written: str) -> str | None:
    """Return the text after ``@`` in the last word; None if the word does not begin with it."""
    word = re.split(r"\s", written)[-1]
    return word[1:] if word.startswith("@") else None


def paths(directory: str, typed: str) -> Iterator[tuple[str, str]]:
    """Yield the files and directories that begin with the typed path; hidden ones after a dot."""
    folder, name = os.path.split(typed)
    place = os.path.join(directory, os.path.expanduser(folder))
    try:
        with os.scandir(place) as found:
            names = sorted(found, key=lambda entry: (not entry.is_dir(), entry.name.lower()))
    except OSError:
        return
    for entry in names:
        if not entry.name.lower().startswith(name.lower()) or not entry.name.isprintable():
            continue
        if entry.name.startswith(".") and not name.startswith("."):
            continue
        path = os.path.join(folder, entry.name)
        yield (path + "/", "directory") if entry.is_dir() else (path, "")


def _entries(chat: Chat, typed: str) -> Iterator[tuple[str, str]]:
    """Yield labels first, then the entries of the path from its end."""
    session = chat.conductor.session
    texts = RowTexts(session.transcript)
    for entry, label in session.labels.items():
        if label.lower().startswith(typed.lower()) and one_line(label) == label:
            yield label, texts(session.index.position(entry))
    for entry in reversed(session.path()):
        if entry.startswith(typed):
            yield entry, texts(session.index.position(entry))
