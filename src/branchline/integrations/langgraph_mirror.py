"""Mirrors the messages of LangGraph threads as sessions, which can be shown, searched and exported.

A mirror never affects the graph. Each message of a thread is an entry; a thread that goes back, forks or
rewrites its messages gets a branch. Errors of the mirror are logged and never stop a run.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from branchline.entries import UnknownMessage
from branchline.errors import BranchlineError
from branchline.integrations.event_messages import native_entries, tool_result
from branchline.library import SessionLibrary
from branchline.session import NewEntry, Session
from branchline.stores import key_for, trash_of

__all__ = ["ThreadMirror"]

_FORMAT = "branchline.langgraph"
_SPACE = "langgraph"
_log = logging.getLogger("branchline.integrations.langgraph")

Fields = dict[str, Any]


class _MirroredThread:
    """A session, and its entries by parent entry and message digest."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.known: dict[tuple[str | None, str], str] = {}
        self.entries = -1

    def catch_up(self) -> None:
        self.session.refresh()
        if len(self.session) == self.entries:
            return
        index = self.session.index
        keys = [key for key, kind in zip(index.keys, index.types, strict=True) if kind == "message"]
        for key, form in native_entries(self.session, keys, _FORMAT):
            parent = self.session.index.nearest_conversation_entry(index.parents[index.position(key)])
            above = None if parent < 0 else index.keys[parent]
            self.known[above, json.loads(bytes(form.message))] = key
        self.entries = len(self.session)


class ThreadMirror:
    """The sessions of the threads of one saver."""

    def __init__(self, where: str | os.PathLike[str]) -> None:
        self._library = SessionLibrary(where)
        self._threads: dict[str, _MirroredThread] = {}

    def show(self, thread: str, values: dict[str, Any]) -> None:
        """Update the session of a thread to the messages of a checkpoint. Logs errors instead of raising."""
        messages = values.get("messages")
        if not isinstance(messages, list) or not all(isinstance(one, BaseMessage) for one in messages):
            return
        try:
            self._show(thread, messages)
        except (BranchlineError, OSError, TypeError, ValueError) as problem:
            self._threads.pop(thread, None)
            _log.warning("cannot mirror the LangGraph thread %r: %s", thread, problem)

    def remove(self, thread: str) -> None:
        """Move the session of a thread to the trash."""
        known = self._threads.pop(thread, None)
        if known is not None:
            known.session.close()
        try:
            (store,) = self._library.stores
            trash_of(store).remove(key_for(_SPACE, thread))
        except (BranchlineError, OSError) as problem:
            _log.warning("cannot remove the mirror of the LangGraph thread %r: %s", thread, problem)

    def close(self) -> None:
        while self._threads:
            self._threads.popitem()[1].session.close()
        self._library.close()

    def _show(self, thread: str, messages: list[BaseMessage]) -> None:
        mirrored = self._threads.get(thread)
        if mirrored is None:
            session = self._library.get_or_create(_SPACE, thread, on_conflict="append")
            mirrored = self._threads[thread] = _MirroredThread(session)
        mirrored.catch_up()
        messages_fields = [_canonical(message) for message in messages]
        digests = [
            _digest(message, fields) for message, fields in zip(messages, messages_fields, strict=True)
        ]

        def build(session: Session) -> list[NewEntry]:
            parent: str | None = None
            for number, digest in enumerate(digests):
                known = mirrored.known.get((parent, digest))
                if known is None:
                    return [
                        _entry(messages_fields[at], digests[at], {"parent": parent} if at == number else {})
                        for at in range(number, len(digests))
                    ]
                parent = known
            return [NewEntry.move(parent)] if session.leaf != parent else []

        mirrored.session.write(build)
        mirrored.catch_up()


def _entry(fields: Fields, digest: str, options: Fields) -> NewEntry:
    native = {"format": _FORMAT, "v": 1, "message": digest}
    return NewEntry.message(
        UnknownMessage(role=fields["role"], fields={**fields, "native": native}), **options
    )


def _digest(message: BaseMessage, fields: Fields) -> str:
    """Return a digest of a message, which changes if the message is rewritten."""
    whole = json.dumps([message.id, fields], sort_keys=True, default=str)
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _canonical(message: BaseMessage) -> Fields:
    match message:
        case ToolMessage():
            failed = message.status == "error"
            return tool_result(message.tool_call_id, message.name or "", _text(message), failed=failed)
        case AIMessage():
            blocks: list[Fields] = [{"type": "text", "text": _text(message)}] if _text(message) else []
            blocks += [
                {"type": "toolCall", "id": call["id"] or "", "name": call["name"], "arguments": call["args"]}
                for call in message.tool_calls
            ]
            reason = "toolUse" if message.tool_calls else "stop"
            model = message.response_metadata.get("model_name")
            answer: Fields = {"role": "assistant", "content": blocks, "model": model, "stopReason": reason}
            spent = message.usage_metadata
            if spent is not None:
                answer["usage"] = {
                    "input": spent["input_tokens"],
                    "output": spent["output_tokens"],
                    "totalTokens": spent["total_tokens"],
                }
            return answer
        case SystemMessage():
            return {"role": "developer", "content": _text(message)}
        case _:
            return {"role": "user", "content": _text(message)}


def _text(message: BaseMessage) -> str:
    return str(message.text)  # LangChain returns a subclass of str
