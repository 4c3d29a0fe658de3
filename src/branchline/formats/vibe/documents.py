"""Joins the files of a session into lines: the session metadata, each message, and the totals.

``CURRENT`` names a generation, whose manifest names its documents and the chunks that hold the messages. The
names come from files, so each must have the form that Mistral Vibe uses; other names are ignored.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from branchline.entries import json_codec
from branchline.errors import NotASession
from branchline.formats.common.json_documents import BytesContent, item_lines
from branchline.formats.json_values import dict_of, list_of, text_of
from branchline.formats.protocol import Content, DocumentFiles

__all__ = ["NEWEST_MINOR", "VibeDocuments", "session_of"]

STORE_FORMAT = "mistral.vibe.unified-session-store/v1"
NEWEST_MINOR = 10
"""The newest store revision that is supported. Mistral Vibe raises it only for incompatible changes."""

_PATH = re.compile(r"[/\\]unified[/\\]([^/\\]+)[/\\]CURRENT$")
_GENERATION = re.compile(r"[0-9]{16}", re.ASCII)
_CHUNK = re.compile(r"[0-9a-f]{64}", re.ASCII)
_FILE = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]*\.json", re.ASCII)
_LARGEST_POINTER = 1 << 20


def session_of(path: str) -> str | None:
    """Return the session whose folder contains a ``CURRENT`` file."""
    found = _PATH.search(path)
    return None if found is None else found[1]


class VibeDocuments(DocumentFiles):
    """Joins the files of a session."""

    def recognizes(self, path: str) -> bool:
        return _PATH.search(path) is not None

    def companions(self, path: str) -> Sequence[str]:
        """Return ``meta.json``; files of a generation never change."""
        return [posixpath.join(posixpath.dirname(path), "meta.json")]

    def lines(self, content: Content, path: str, companion: Callable[[str], bytes | None]) -> Iterator[bytes]:
        folder = posixpath.dirname(path)
        pointer = _pointer(content.read(0, min(content.size(), _LARGEST_POINTER)), path)
        generation = posixpath.join(folder, "generations", pointer)

        def document(place: str) -> dict[str, Any]:
            data = companion(place)
            found = None if data is None else json_codec.loads_object(data)
            return {} if found is None else found

        manifest = document(posixpath.join(generation, "manifest.json"))
        if not manifest:
            raise NotASession(f"{path} names generation {pointer}, whose manifest is missing or damaged")

        def recorded(name: str) -> dict[str, Any]:
            file = text_of(dict_of(manifest.get(name)).get("path"))
            return document(posixpath.join(generation, file)) if _FILE.fullmatch(file) else {}

        about = document(posixpath.join(folder, "meta.json"))
        shown = dict_of(dict_of(recorded("projection_state").get("snapshot")).get("session"))
        identity = dict_of(recorded("runtime_state").get("identity"))
        yield _header_line(session_of(path) or "", about, identity)
        chunks = dict_of(manifest.get("checkpoint")).get("chunks")
        if isinstance(chunks, list):
            # Each chunk once: a small manifest must not expand one chunk to a huge session.
            for chunk in dict.fromkeys(map(text_of, chunks)):
                yield from _chunk_lines(chunk, folder, companion)
        else:
            for message in list_of(dict_of(recorded("checkpoint").get("context")).get("messages")):
                yield json_codec.dumps(message) + b"\n"
        yield _facts_line(about, shown)


def _pointer(data: bytes, path: str) -> str:
    """Return the generation that ``CURRENT`` names."""
    fields = json_codec.loads_object(data)
    if fields is None:
        raise NotASession(f"{path} is incomplete or damaged")
    if fields.get("store_format") != STORE_FORMAT:
        raise NotASession(f"{path} is not part of a Mistral Vibe session, or has an unsupported format")
    minor = fields.get("store_format_minor", 1)
    if isinstance(minor, int) and minor > NEWEST_MINOR:
        raise NotASession(
            f"{path} was written by a newer Mistral Vibe: its format has revision {str(minor)[:20]}, "
            f"and branchline reads up to {NEWEST_MINOR}"
        )
    generation = text_of(fields.get("generation"))
    if _GENERATION.fullmatch(generation) is None:
        raise NotASession(f"{path} does not name a generation")
    return generation


def _chunk_lines(name: str, folder: str, companion: Callable[[str], bytes | None]) -> Iterator[bytes]:
    """Yield the messages of a chunk, one line each; for an unreadable chunk, a line that reports it."""
    data = companion(posixpath.join(folder, "chunks", f"{name}.json")) if _CHUNK.fullmatch(name) else None
    if data is None:
        yield _line({"missing": name[:64]})
        return
    try:
        yield from item_lines(BytesContent(data), name)
    except NotASession:
        yield _line({"damaged": name})


def _header_line(session: str, about: dict[str, Any], identity: dict[str, Any]) -> bytes:
    kind = text_of(identity.get("kind"))
    return _line(
        {
            "vibe": "session",
            "id": session,
            "parent": text_of(about.get("parent_session_id"))
            or text_of(identity.get("parent_session_id"))
            or None,
            "kind": kind if kind in {"fork", "subagent"} else None,
            "cwd": text_of(dict_of(about.get("environment")).get("working_directory")) or None,
            "time": text_of(about.get("start_time")) or None,
            "branch": text_of(about.get("git_branch")) or None,
        }
    )


def _facts_line(about: dict[str, Any], shown: dict[str, Any]) -> bytes:
    usage, settings = dict_of(shown.get("tokenUsage")), dict_of(about.get("config"))
    counted = {
        name: usage[name] for name in ("inputTokens", "outputTokens", "cachedInputTokens") if name in usage
    }
    facts = {
        "title": text_of(about.get("title")) or text_of(shown.get("title")) or None,
        "ended": _milliseconds(about.get("end_time")),
        "usage": counted or None,
        "model": text_of(settings.get("model_name")) or text_of(settings.get("active_model")) or None,
    }
    return _line({"facts": {name: value for name, value in facts.items() if value is not None}})


def _milliseconds(time: Any) -> int | None:
    try:
        return int(datetime.fromisoformat(text_of(time)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _line(fields: dict[str, Any]) -> bytes:
    return json_codec.dumps({name: value for name, value in fields.items() if value is not None}) + b"\n"
