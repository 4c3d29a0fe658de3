"""Shell completion: sessions with their titles, entries with their text.

The user is waiting, so reading stops after a moment, and what was found by then is offered. Errors are
suppressed, because a shell would print them into the command line.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    import click

    from branchline.library import SessionLibrary, SessionRow

    Look = Callable[[], SessionRow | None]

__all__ = ["offers"]

_PATIENCE = 0.25  # seconds for reading files
_LONGEST = 1.0  # seconds for listing files: some formats load slowly
_OFFERED = 60
_PATHS = ("/", ".", "~")


def offers(kind: str, context: click.Context, typed: str) -> list[CompletionItem]:
    """Return the completions for a kind of argument."""
    try:
        match kind:
            case "session":
                return list(_sessions(context, typed))
            case "entry":
                return list(_entries(context, typed))
            case "session_or_entry":
                return [*_entries(context, typed), *_sessions(context, typed)]
            case "directory":
                return [CompletionItem(typed, type="dir")]
            case "file":
                return [CompletionItem(typed, type="file")]
            case "program":
                return list(_programs(typed))
            case "target":
                return list(_targets(typed))
            case "setting":
                return list(_settings(typed))
            case "model":
                return list(_models(context, typed))
            case _:
                return []
    except Exception:  # noqa: BLE001  see above
        return []


def _sessions(context: click.Context, typed: str) -> Iterator[CompletionItem]:
    if "/" in typed or typed.startswith(_PATHS):
        yield CompletionItem(typed, type="file")
        return
    if "@last".startswith(typed):
        yield CompletionItem("@last", help="the session that was used last")
    end = time.monotonic() + _LONGEST
    by_id: dict[str, Look] = {}
    others: list[Look] = []
    for row, read in _rows(context):
        if row.id.startswith(typed) or row.key.startswith(typed):
            by_id.setdefault(row.id, read)
        else:
            others.append(read)
        if len(by_id) >= _OFFERED or time.monotonic() > end:
            break
    end = time.monotonic() + _PATIENCE  # headers have ids; titles need the files
    for session_id, read in by_id.items():
        deep = read() if time.monotonic() < end else None
        yield CompletionItem(
            session_id, help=_short("" if deep is None else deep.title or deep.first_prompt or "")
        )
    for read in others if typed else ():
        if time.monotonic() > end:
            break
        deep = read()
        if deep is not None and deep.title and deep.title.lower().startswith(typed.lower()):
            yield from _words(deep.title, "by its title")


def _rows(context: click.Context) -> Iterator[tuple[SessionRow, Look]]:
    """Yield the sessions of the given store, or of this directory and then all others, newest first.

    Each comes with a function that reads its file.
    """
    from branchline.actions.names import local_library
    from branchline.cli.resolver import everywhere_library

    directory = context.params.get("directory")
    if directory is not None:
        library = local_library(directory)
        for row in library.list():
            yield row, partial(_read, library, row)
        return
    seen: set[str] = set()
    for everywhere in (False, True):
        library = everywhere_library(everywhere=everywhere)
        for row in library.iter_rows():
            if row.path is not None and row.path not in seen:
                seen.add(row.path)
                yield row, partial(_read, library, row)


def _read(library: SessionLibrary, row: SessionRow) -> SessionRow | None:
    try:
        return library.reload(row)
    except Exception:  # noqa: BLE001  listed but unreadable
        return None


def _words(name: str, describe_setting: str) -> Iterator[CompletionItem]:
    """Offer a name of several words, unless it cannot be typed."""
    from branchline.views.text import one_line

    if one_line(name) == name:
        # bash inserts completions verbatim, so special characters are escaped
        bash = os.environ.get("_BRANCHLINE_COMPLETE", "").startswith("bash")
        yield CompletionItem(
            re.sub(r"([^\w@%+=:,./-])", r"\\\1", name) if bash else name, help=describe_setting
        )


def _entries(context: click.Context, typed: str) -> Iterator[CompletionItem]:
    # After an option without its value, click has not assigned the arguments yet.
    name = context.params.get("session") or next(iter(context.args), None)
    if not name:
        return
    from branchline.cli.resolver import resolve_session
    from branchline.views.entry_rows import RowTexts

    if "@leaf".startswith(typed):
        yield CompletionItem("@leaf", help="the parent of the next message")
    if context.command.name == "branch" and typed and "root".startswith(typed):
        yield CompletionItem("root", help="before the first entry")
    with resolve_session(str(name), context.params.get("directory")) as session:
        texts = RowTexts(session.transcript)
        index, labels = session.index, session.labels
        for label in dict.fromkeys(labels.values()):
            if typed and label.lower().startswith(typed.lower()):
                yield from _words(label, "by its label")
        for branch in session.named_branches() if typed else ():
            if branch.name.lower().startswith(typed.lower()):
                yield from _words(branch.name, "end of the branch")
        offered = 0
        # Labelled entries, then the path from its end, then all others, newest first.
        path = [entry for entry in reversed(session.path()) if entry not in labels]
        order: Iterable[str] = dict.fromkeys([*labels, *path, *reversed(index.keys)])
        for entry in order:
            if entry.startswith(typed) and entry in index and offered < _OFFERED:
                text = texts(index.position(entry))
                if text or entry in labels:
                    offered += 1
                    mark = f"[{labels[entry]}] " if entry in labels else ""
                    yield CompletionItem(entry, help=_short(mark + text))


def _programs(typed: str) -> Iterator[CompletionItem]:
    """The agents whose sessions can be listed; after a comma, the next one."""
    from branchline.places import agent_names

    before, comma, begun = typed.rpartition(",")
    for name in agent_names():
        if name.startswith(begun) and name not in before.split(","):
            yield CompletionItem(before + comma + name)


def _targets(typed: str) -> Iterator[CompletionItem]:
    """The agents whose sessions can be written."""
    from branchline.actions.convert import TARGETS

    yield from (CompletionItem(name) for name in TARGETS if name.startswith(typed))


def _settings(typed: str) -> Iterator[CompletionItem]:
    from branchline.settings import describe_setting, names

    for name in names():
        if name.startswith(typed):
            yield CompletionItem(name, help=describe_setting(name))


def _models(context: click.Context, typed: str) -> Iterator[CompletionItem]:
    """The models of the newest sessions in the notation of the command: ``provider:model`` in a chat."""
    end = time.monotonic() + _PATIENCE
    offered: set[str] = set()
    between = ":" if context.command.name in ("chat", "resume") else "/"
    for _row, read in _rows(context):
        if time.monotonic() > end:
            break
        deep = read()
        if deep is not None and deep.model:
            name = f"{deep.provider}{between}{deep.model}"
            if deep.provider and name.startswith(typed) and name not in offered:
                offered.add(name)
                yield CompletionItem(name)


def _short(text: str) -> str:
    from branchline.views.text import cut, one_line

    return cut(one_line(text), 60)
