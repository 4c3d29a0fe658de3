"""Chat history for the Microsoft Agent Framework (extra ``agent-framework``)::

    from branchline.integrations.agent_framework import BranchlineHistory
    history = BranchlineHistory("app.db")                      # or a directory, or postgresql://…
    agent = Agent(client=client, context_providers=[history])
    session = agent.create_session(session_id="user:42")
    await agent.run("hello", session=session)                  # and in a shell: branchline show …

Loaded messages equal the saved ones. Saving the whole history again appends only the new messages.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from branchline._version import install_extra

try:
    from agent_framework import HistoryProvider, Message
except ImportError as problem:  # pragma: no cover  a test replaces the module
    raise ImportError(
        f"the history for the Agent Framework needs it: {install_extra('agent-framework')}"
    ) from problem

from branchline.errors import InvalidArgument
from branchline.integrations.event_messages import assistant_message, native_forms, new_entries, tool_result
from branchline.integrations.open_sessions import OpenSessions
from branchline.integrations.threads import LibraryAdapter, run_to_end
from branchline.library import SessionLibrary
from branchline.session import NewEntry, OnConflict, Session
from branchline.stores import Store

__all__ = ["BranchlineHistory"]

_FORMAT = "maf.message"
Fields = dict[str, Any]


class BranchlineHistory(HistoryProvider, LibraryAdapter):  # type: ignore[misc]  # not in the locked environment
    """The history of every session id, each a session of one store.

    ``on_conflict`` is as for sessions: if another process has saved messages, new ones are appended after
    them (``"append"``) or after the last message read here (``"branch"``), or SessionMoved is raised
    (``"raise"``). Further options are those of ``HistoryProvider``.
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | Store | SessionLibrary,
        source_id: str = "branchline",
        *,
        on_conflict: OnConflict = "append",
        **options: Any,
    ) -> None:
        super().__init__(source_id, **options)
        self._open_library(where)
        self._on_conflict: OnConflict = on_conflict
        self._sessions: OpenSessions[str] = OpenSessions()

    async def get_messages(
        self, session_id: str | None, *, state: Fields | None = None, **_more: Any
    ) -> list[Message]:
        """Return the messages of the active path, oldest first."""
        del state
        return await run_to_end(lambda: [Message.from_dict(one) for one in self._stored(session_id)])

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: Fields | None = None,
        **_more: Any,
    ) -> None:
        """Append messages in one write."""
        del state
        given = [json.loads(message.to_json()) for message in messages]

        def build(session: Session) -> list[NewEntry]:
            fresh = _without_replay(given, _decoded(session))
            return [
                entry
                for message in fresh
                for entry in new_entries(_messages(message), {"format": _FORMAT, "v": 1, "message": message})
            ]

        if given:
            await run_to_end(lambda: self._write(session_id, build))

    def _close_sessions(self) -> None:
        self._sessions.close()

    @contextmanager
    def _session(self, session_id: str | None) -> Iterator[Session]:
        if not session_id:
            raise InvalidArgument("a history needs a session with an id: agent.create_session(session_id=…)")
        with self._sessions.hold(session_id) as slot:
            if slot.session is None:
                slot.session = self._library.get_or_create(session_id, on_conflict=self._on_conflict)
            yield slot.session

    def _write(self, session_id: str | None, build: Callable[[Session], Sequence[NewEntry]]) -> None:
        with self._session(session_id) as session:
            session.write(build)

    def _stored(self, session_id: str | None) -> list[Fields]:
        with self._session(session_id) as session:
            if self._on_conflict == "branch":
                session.refresh_log()
            else:
                session.refresh()
            return _decoded(session)


def _decoded(session: Session) -> list[Fields]:
    return [msgspec.json.decode(native.message) for native in native_forms(session, _FORMAT)]


def _without_replay(given: list[Fields], stored: list[Fields]) -> list[Fields]:
    """Drop the stored history from the start of the messages, unless it could be a repetition without ids."""
    size = len(stored)
    if not size or given[:size] != stored:
        return given
    named = all(message.get("message_id") for message in given)
    return given[size:] if len(given) > size or named else given


def _messages(message: Fields) -> list[Fields]:
    """Convert a message to messages for display and for other models."""
    role = message.get("role")
    converted: list[Fields] = []
    blocks: list[Fields] = []
    for content in message.get("contents") or ():
        kind = content.get("type")
        if kind == "function_result":
            failed = bool(content.get("exception"))
            converted.append(tool_result(str(content.get("call_id")), "", _text(content), failed=failed))
        elif kind == "text":
            blocks.append({"type": "text", "text": content.get("text") or ""})
        elif kind == "text_reasoning":
            blocks.append({"type": "thinking", "thinking": content.get("text") or ""})
        elif kind == "function_call":
            blocks.append(_call(content))
        else:
            blocks.append({"type": "text", "text": f"[{kind}]"})
    if role == "assistant":
        converted.append(assistant_message(blocks))
    elif blocks or not converted:
        texts = [block for block in blocks if block["type"] == "text"]
        converted.append({"role": "developer" if role == "system" else "user", "content": texts})
    return converted


def _call(content: Fields) -> Fields:
    arguments = content.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = {"input": arguments}
    return {
        "type": "toolCall",
        "id": str(content.get("call_id")),
        "name": str(content.get("name")),
        "arguments": arguments if isinstance(arguments, dict) else {},
    }


def _text(content: Fields) -> str:
    result = content.get("result")
    if isinstance(result, str):
        return result
    return str(content.get("exception") or json.dumps(result, ensure_ascii=False))
