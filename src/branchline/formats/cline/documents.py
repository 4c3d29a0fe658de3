"""Joins the documents of a session into lines: the session metadata, then each message.

Cline itself stores a manifest, a document of messages, and another for each sub-agent. Editor extensions
store a folder for each task, with the messages in one document and the usage in another.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from branchline.entries import json_codec
from branchline.errors import NotASession
from branchline.formats.common.json_documents import BytesContent, document_in, item_lines
from branchline.formats.json_values import dict_of, list_of, text_of
from branchline.formats.protocol import Content, DocumentFiles

__all__ = ["ClineDocuments", "session_of"]

_PATH = re.compile(
    r"[/\\]sessions[/\\]([^/\\]+)[/\\](?:\1(?:\.messages)?|agent_[^/\\]+\.messages)\.json$"
    r"|[/\\]tasks[/\\]([^/\\]+)[/\\]api_conversation_history\.json$"
)
_WORKSPACE = re.compile(r"# Current (?:Working|Workspace) Directory \(([^)\n]+)\)")


@lru_cache(maxsize=64)  # opening a document asks several times
def session_of(path: str) -> str | None:
    """Return the session or task whose folder contains a document."""
    found = _PATH.search(path)
    return None if found is None else found[1] or found[2]


class ClineDocuments(DocumentFiles):
    """Joins the documents of a session."""

    def recognizes(self, path: str) -> bool:
        return session_of(path) is not None

    def companions(self, path: str) -> Sequence[str]:
        folder, name = posixpath.split(path)
        session = session_of(path) or ""
        if name == "api_conversation_history.json":
            names = ["ui_messages.json", "task_metadata.json", "history_item.json"]
        else:
            names = [f"{session}.json", f"{session}.messages.json"]
        return [posixpath.join(folder, one) for one in names if one != name]

    def shared_file(self, path: str) -> str | None:
        """Return the list of tasks that Cline keeps for all of them beside their folder."""
        folder, name = posixpath.split(path)
        if name != "api_conversation_history.json":
            return None
        return posixpath.join(posixpath.dirname(posixpath.dirname(folder)), "state", "taskHistory.json")

    def own_part(self, shared: bytes, path: str) -> bytes:
        item = _tasks(shared).get(session_of(path) or "")
        return json_codec.dumps([] if item is None else [item])

    def lines(self, content: Content, path: str, companion: Callable[[str], bytes | None]) -> Iterator[bytes]:
        folder, name = posixpath.split(path)
        session = session_of(path) or ""

        def beside(one: str) -> bytes | None:
            return companion(posixpath.join(folder, one))

        if name == "api_conversation_history.json":
            shared = self.shared_file(path)
            item = dict_of(_companion(beside("history_item.json")))
            listed = _tasks(b"" if shared is None else companion(shared) or b"").get(session)
            return _task_lines(content, session, path, beside, {**(listed or {}), **item})
        manifest: bytes | None
        messages: Content | None
        if name == f"{session}.json":
            manifest, beside_it = content.read(0, content.size()), beside(f"{session}.messages.json")
            messages = None if beside_it is None else BytesContent(beside_it)
            path = path if beside_it is None else posixpath.join(folder, f"{session}.messages.json")
        else:
            manifest, messages = beside(f"{session}.json"), content
        agent = name.removesuffix(".messages.json") if name.startswith("agent_") else ""
        return _session_lines(manifest, messages, session, agent, path)


def _session_lines(
    manifest: bytes | None, messages: Content | None, session: str, agent: str, path: str
) -> Iterator[bytes]:
    about = dict_of(_companion(manifest))
    if manifest is not None and messages is None:
        document_in(manifest, path)
    facts = dict_of(about.get("metadata"))
    forked = text_of(dict_of(facts.get("fork")).get("forkedFromSessionId"))
    yield _line(
        {
            "cline": "session",
            "id": f"{session}__{agent}" if agent else session,
            "parent": session if agent else forked or None,
            "agent": agent or None,
            "cwd": text_of(about.get("cwd")) or text_of(about.get("workspace_root")),
            "time": None if agent else about.get("started_at"),
            "title": None if agent else facts.get("title"),
            "branch": dict_of(facts.get("git")).get("branch"),
        }
    )
    if manifest is not None and not about:
        yield _line({"damaged": f"{session}.json"})
    if messages is not None:
        yield from item_lines(messages, path, "messages")
    cost = facts.get("totalCost")
    if not agent and isinstance(cost, int | float) and cost > 0:
        yield _line({"spent": {"cost": cost}})


def _task_lines(
    content: Content, task: str, path: str, beside: Callable[[str], bytes | None], item: dict[str, Any]
) -> Iterator[bytes]:
    """Yield the lines of an extension's task; ``item`` is what its list of tasks says about it."""
    cwd = text_of(item.get("workspace")) or text_of(item.get("cwdOnTaskInitialization"))
    messages = item_lines(content, path)
    first = next(messages, b"")
    told = _WORKSPACE.search(first.partition(b"\n")[0].decode("utf-8", "replace"))
    yield _line(
        {
            "cline": "task",
            "id": task,
            "parent": text_of(item.get("parentTaskId")) or None,
            "cwd": cwd or ("" if told is None else told[1]),
            "time": int(task) if task.isdigit() and len(task) < 16 else item.get("ts"),
            "title": item.get("task"),
            "model": item.get("modelId"),
        }
    )
    yield first
    yield from messages
    for shown in map(dict_of, list_of(_companion(beside("ui_messages.json")))):
        if shown.get("say") == "api_req_started":
            spent = json_codec.loads_object(text_of(shown.get("text")).encode("utf-8", "surrogatepass")) or {}
            names = {"tokensIn", "tokensOut", "cacheReads", "cacheWrites", "cost"}
            numbers = {name: value for name, value in spent.items() if name in names}
            if numbers:
                model = dict_of(shown.get("modelInfo")) or None
                yield _line({"spent": numbers, "ts": shown.get("ts"), "modelInfo": model})


@lru_cache(maxsize=2)  # it is the same for all tasks of an extension
def _tasks(data: bytes) -> dict[str, dict[str, Any]]:
    """Return the tasks in a list of tasks by id; none if it is damaged."""
    items = map(dict_of, list_of(_companion(data)))
    return {str(item.get("id")): item for item in items}


def _companion(data: bytes | None) -> Any:
    """Return a document beside the messages; None if it is missing or damaged."""
    try:
        return None if data is None else document_in(data, "")
    except NotASession:
        return None


def _line(fields: dict[str, Any]) -> bytes:
    return json_codec.dumps({name: value for name, value in fields.items() if value is not None}) + b"\n"
