"""Session service for Google's Agent Development Kit (extra ``adk``)::

    from branchline.integrations.adk import BranchlineSessionService
    service = BranchlineSessionService("app.db")               # or a directory, or postgresql://…
    runner = Runner(agent=agent, app_name="shop", session_service=service)
    await service.create_session(app_name="shop", user_id="ada", session_id="s1")
    await service.fork_session(app_name="shop", user_id="ada", session_id="s1", at=event_id)

An event is stored as an entry with the id of the event. The state of a session follows its path, so going
back to an entry also restores the state at that entry. Two processes can append to one session without losing
events; ``on_conflict`` controls where they are appended.
"""

from __future__ import annotations

import base64
import os
import uuid
from typing import Any

import msgspec

from branchline._version import install_extra

try:
    from google.adk.errors._stale_session_error import StaleSessionError
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import (
        BaseSessionService,
        GetSessionConfig,
        ListSessionsResponse,
    )
    from google.adk.sessions.session import Session as AdkSession
    from google.adk.sessions.state import State
    from pydantic_core import to_jsonable_python
except ImportError as problem:  # pragma: no cover  a test replaces the module
    raise ImportError(f"the session service for ADK needs it: {install_extra('adk')}") from problem

from branchline.entries import CustomMessage
from branchline.errors import InvalidArgument
from branchline.integrations.event_messages import (
    assistant_message,
    native_entries,
    native_forms,
    new_entries,
    tool_result,
)
from branchline.integrations.open_sessions import OpenSessions, Slot
from branchline.integrations.threads import LibraryAdapter, run_to_end
from branchline.library import SessionLibrary
from branchline.session import NewEntry, OnConflict, Session
from branchline.stores import Store, key_for, parts_of, trash_of

__all__ = ["BranchlineSessionService"]

_FORMAT = "adk.event"
_STATE = "adk.state"
_SPACE = "adk"
Fields = dict[str, Any]


class BranchlineSessionService(BaseSessionService, LibraryAdapter):  # type: ignore[misc]  # not in the locked environment
    """The sessions of one store, for any number of apps and users.

    ``on_conflict`` applies to events of a session object that is older than the store: ``"append"`` appends
    after the stored events, ``"branch"`` continues from the last event the object has seen, on its own
    branch, and ``"raise"`` raises StaleSessionError.
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | Store | SessionLibrary,
        *,
        on_conflict: OnConflict = "append",
    ) -> None:
        super().__init__()
        self._open_library(where)
        self._on_conflict: OnConflict = on_conflict
        self._sessions: OpenSessions[tuple[str, ...]] = OpenSessions()

    # -- ADK's interface --------------------------------------------------------------------------------

    async def create_session(
        self, *, app_name: str, user_id: str, state: Fields | None = None, session_id: str | None = None
    ) -> AdkSession:
        """Create a session. Raises AlreadyExistsError if its id is taken."""
        name = (session_id or "").strip() or str(uuid.uuid4())
        app, user, own = _scopes(state or {})

        def create() -> AdkSession:
            parts = _parts(app_name, user_id, name)
            with self._sessions.hold(parts) as slot:
                try:
                    made = Session.create(
                        store=self._store, key=key_for(*parts), metadata={"name": [*parts]}, persist="always"
                    )
                except FileExistsError:
                    raise AlreadyExistsError(f"Session with id {name} already exists.") from None
                slot.close()
                slot.session = made
                made.on_conflict = "append"
                if own:
                    _write_state(made, own)
                self._change_shared(app_name, user_id, app, user)
                return self._read(app_name, user_id, name, made, None)

        return await run_to_end(create)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> AdkSession | None:
        """Return the session with the events of its active path; None if there is none."""
        name = session_id.strip()

        def read() -> AdkSession | None:
            parts = _parts(app_name, user_id, name)
            with self._sessions.hold(parts) as slot:
                session = self._opened(slot, parts)
                if session is None:
                    return None
                session.refresh()
                return self._read(app_name, user_id, name, session, config)

        return await run_to_end(read)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """List the sessions of an app or user, oldest change first, without events and state."""
        begin = (_SPACE, app_name) if user_id is None else (_SPACE, app_name, user_id)

        def read() -> list[AdkSession]:
            logs = self._store.scan(prefix=key_for(*begin) + "~").found
            return [
                AdkSession(app_name=app_name, user_id=user, id=name, last_update_time=log.modified)
                for log in reversed(logs)
                for _space, _app, user, name in [parts_of(log.key)]
                if name
            ]

        return ListSessionsResponse(sessions=await run_to_end(read))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Move a session to the trash of the store."""
        parts = _parts(app_name, user_id, session_id.strip())

        def remove() -> None:
            with self._sessions.hold(parts) as slot:
                slot.close()
                trash_of(self._store).remove(key_for(*parts))

        await run_to_end(remove)

    async def get_user_state(self, *, app_name: str, user_id: str) -> Fields:
        """Return the state shared by all sessions of a user, without the prefix ``user:``."""
        return await run_to_end(lambda: self._shared(_parts(app_name, user_id, "")))

    async def append_event(self, session: AdkSession, event: Event) -> Event:
        """Append an event in one write and apply its state changes. Appending it again changes nothing."""
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        leaf = await run_to_end(lambda: self._append(session, event))
        if leaf is None:
            return event
        self._commit_event_to_session(session, event)
        session.last_update_time = event.timestamp
        session._storage_update_marker = leaf  # noqa: SLF001  the newest event it has seen
        return event

    # -- beyond ADK's interface -------------------------------------------------------------------------

    async def fork_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        at: str | None = None,
        new_session_id: str | None = None,
    ) -> AdkSession:
        """Create a session with the events up to ``at`` (default: all), linked to its parent session.

        Raises SessionNotFoundError if there is no such session, EntryNotFound if the event is not in it, and
        AlreadyExistsError if the new id is taken.
        """
        name = new_session_id or str(uuid.uuid4())

        def fork() -> AdkSession:
            source, parts = _parts(app_name, user_id, session_id.strip()), _parts(app_name, user_id, name)
            with self._sessions.hold(source) as slot:
                session = self._opened(slot, source)
                if session is None:
                    raise SessionNotFoundError(f"Session {session_id} not found.")
                session.refresh()
                try:
                    made = session.fork(at, key=key_for(*parts), store=self._store)
                except FileExistsError:
                    raise AlreadyExistsError(f"Session with id {name} already exists.") from None
            with made:
                return self._read(app_name, user_id, name, made, None)

        return await run_to_end(fork)

    # -- inside, in a thread ----------------------------------------------------------------------------

    def _close_sessions(self) -> None:
        self._sessions.close()

    def _opened(self, slot: Slot, parts: tuple[str, ...]) -> Session | None:
        """Return the session of these parts, without refreshing it; None if there is none."""
        if self._store.stat(key_for(*parts)) is None:
            slot.close()
        elif slot.session is None:
            slot.session = self._library.get(*parts, on_conflict="append")
        return slot.session

    def _read(
        self, app: str, user: str, name: str, session: Session, config: GetSessionConfig | None
    ) -> AdkSession:
        limit = None if config is None else config.num_recent_events
        events = [
            Event.model_validate_json(bytes(form.event))
            for form in native_forms(session, _FORMAT, limit=limit)
        ]
        if config is not None and config.after_timestamp is not None:
            events = [event for event in events if event.timestamp >= config.after_timestamp]
        state = _state_of(session)
        for prefix, parts in (
            (State.APP_PREFIX, _parts(app, "", "")),
            (State.USER_PREFIX, _parts(app, user, "")),
        ):
            state |= {prefix + key: value for key, value in self._shared(parts).items()}
        stored = self._store.stat(session.key)
        changed = events[-1].timestamp if events else 0.0 if stored is None else stored.modified
        found = AdkSession(
            app_name=app, user_id=user, id=name, state=state, events=events, last_update_time=changed
        )
        found._storage_update_marker = session.leaf or ""  # noqa: SLF001  the newest event it has seen
        return found

    def _append(self, seen: AdkSession, event: Event) -> str | None:
        """Append an event and return its entry; None if the store has it already."""
        parts = _parts(seen.app_name, seen.user_id, seen.id)
        data = event.model_dump_json(exclude_none=True).encode()
        marker = seen._storage_update_marker  # noqa: SLF001

        def build(current: Session) -> list[NewEntry]:
            identity: str | None = event.id or None
            if identity is not None and identity in current:
                if _is_same(current, identity, data):
                    return []
                identity = None  # another event with the same id
            options: Fields = {"id": identity}
            if marker is not None and (current.leaf or "") != marker:
                if self._on_conflict == "raise":
                    raise StaleSessionError(f"Session {seen.id} was changed in the store since it was read.")
                if self._on_conflict == "branch":
                    options["parent"] = marker or None
            native = {"format": _FORMAT, "v": 1, "event": msgspec.Raw(data)}
            return new_entries(_messages(event), native, **options)

        with self._sessions.hold(parts) as slot:
            session = self._opened(slot, parts)
            if session is None:
                raise SessionNotFoundError(f"Session {seen.id} not found.")
            made = session.write(build)
        if not made:
            return None
        app, user, _own = _scopes(event.actions.state_delta if event.actions else {})
        self._change_shared(seen.app_name, seen.user_id, app, user)
        return made[-1]

    def _shared(self, parts: tuple[str, ...]) -> Fields:
        with self._sessions.hold(parts) as slot:
            session = self._opened(slot, parts)
            if session is None:
                return {}
            session.refresh()
            return _state_of(session)

    def _change_shared(self, app_name: str, user_id: str, app: Fields, user: Fields) -> None:
        for parts, delta in ((_parts(app_name, "", ""), app), (_parts(app_name, user_id, ""), user)):
            if delta:
                with self._sessions.hold(parts) as slot:
                    if self._opened(slot, parts) is None:
                        slot.session = self._library.get_or_create(
                            *parts, title="State of ADK", on_conflict="append"
                        )
                    assert slot.session is not None
                    _write_state(slot.session, delta)


def _parts(app: str, user: str, name: str) -> tuple[str, ...]:
    parts = (_SPACE, app, user, name)
    if "~~" in key_for(*parts):
        raise InvalidArgument(f"cannot keep the session {name!r}: its app, user and id are too long together")
    return parts


def _scopes(state: Fields) -> tuple[Fields, Fields, Fields]:
    """Split a state change into the parts for app, user and session; temporary keys are dropped."""

    def scope(prefix: str) -> Fields:
        return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}

    prefixes = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)
    own = {key: value for key, value in state.items() if not key.startswith(prefixes)}
    return scope(State.APP_PREFIX), scope(State.USER_PREFIX), own


def _write_state(session: Session, delta: Fields) -> None:
    """Append a state change as an entry on the path, hidden from models."""
    values = to_jsonable_python(delta, fallback=str)
    fields = {"custom_type": _STATE, "content": "", "display": False, "details": {"delta": values}}
    session.write(lambda _session: [NewEntry(kind=CustomMessage, fields=fields)])


class _Actions(msgspec.Struct):
    state_delta: Fields = {}


class _StoredEvent(msgspec.Struct):
    actions: _Actions | None = None


class _Native(msgspec.Struct):
    event: _StoredEvent | None = None


class _Message(msgspec.Struct):
    native: _Native | None = None


class _Details(msgspec.Struct):
    delta: Fields = {}


class _Line(msgspec.Struct):
    customType: str = ""  # noqa: N815  the name in the file
    details: _Details | None = None
    message: _Message | None = None


_decoder = msgspec.json.Decoder(_Line)


def _state_of(session: Session) -> Fields:
    """Return the state of a session at its leaf: all changes on the path, applied in order."""
    state: Fields = {}
    for line in session.raws(session.path()):
        try:
            found = _decoder.decode(line)
        except msgspec.ValidationError:
            continue  # not written by this adapter
        if found.customType == _STATE and found.details is not None:
            state |= found.details.delta
        elif found.message is not None and found.message.native is not None:
            event = found.message.native.event
            if event is not None and event.actions is not None:
                state |= _scopes(event.actions.state_delta)[2]
    return state


def _is_same(session: Session, entry: str, data: bytes) -> bool:
    stored = native_entries(session, [entry], _FORMAT)
    return any(msgspec.json.decode(form.event) == msgspec.json.decode(data) for _id, form in stored)


def _messages(event: Event) -> list[Fields]:
    """Convert an event to messages for display and for other models."""
    converted: list[Fields] = []
    blocks: list[Fields] = []
    for part in (event.content.parts or []) if event.content else []:
        if part.function_response is not None:
            answer = part.function_response
            text = msgspec.json.encode(to_jsonable_python(answer.response, fallback=str)).decode()
            converted.append(tool_result(answer.id or "", answer.name or "", text))
        elif part.function_call is not None:
            call = part.function_call
            arguments = to_jsonable_python(call.args or {}, fallback=str)
            blocks.append(
                {"type": "toolCall", "id": call.id or "", "name": call.name or "", "arguments": arguments}
            )
        elif part.text is not None:
            blocks.append(
                {"type": "thinking", "thinking": part.text}
                if part.thought
                else {"type": "text", "text": part.text}
            )
        elif part.inline_data is not None and (part.inline_data.mime_type or "").startswith("image/"):
            encoded = base64.b64encode(part.inline_data.data or b"").decode()
            blocks.append({"type": "image", "data": encoded, "mimeType": part.inline_data.mime_type})
    if blocks and event.author == "user":
        converted.append({"role": "user", "content": blocks})
    elif blocks:
        converted.append(assistant_message(blocks))
    return converted or [{"role": "custom", "customType": _FORMAT, "content": "", "display": False}]
