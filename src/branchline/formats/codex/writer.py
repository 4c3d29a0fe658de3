"""Encodes entries as lines of a rollout that Codex can resume, in the mode without page numbers.

A prompt starts a turn: every turn has a start event, the prompt as an event (for session lists) and as an
item (for the model), and an end event. Thinking is omitted: encrypted reasoning is valid only for the model
that made it. An entry whose parent is not the last one is preceded by a rollback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from branchline.context import labelled_summary
from branchline.context.tool_pairs import NO_RESULT, told_result
from branchline.entries import (
    AssistantMessage,
    Block,
    Compaction,
    Content,
    CustomMessage,
    Entry,
    Header,
    Image,
    Leaf,
    Message,
    MessageEntry,
    ModelChange,
    SessionInfo,
    Text,
    Thinking,
    ThinkingLevelChange,
    ToolCall,
    ToolResult,
    UserMessage,
    blocks_text,
    json_codec,
)
from branchline.errors import NotSupported
from branchline.formats.api_limits import IMAGE_TYPES, api_tool_name
from branchline.formats.codex.log_index import CodexLogIndex
from branchline.formats.codex.rows import PROVENANCE, is_context
from branchline.formats.derived_ids import call_ids, uuid4_from
from branchline.formats.entry_times import NO_TIME, entry_time, usual_time
from branchline.formats.extra_fields import typed_message
from branchline.tree import ROOT

__all__ = ["VERSION", "RolloutWriter", "header_lines"]

VERSION = "0.166.0"
"""The Codex version named in the first line."""

_CALL = "call_"
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})

Item = dict[str, Any]


def header_lines(header: Header) -> bytes:
    """Return the first lines of a rollout: what Codex needs, and the origin of the conversation."""
    time = usual_time(header.timestamp) or NO_TIME
    meta = {
        "id": header.id,
        "session_id": header.id,
        "timestamp": time,
        "cwd": header.cwd,
        "originator": "branchline",
        "cli_version": VERSION,
        "source": "cli",
        "history_mode": "legacy",
    }
    if provider := (header.metadata or {}).get("model_provider"):
        meta["model_provider"] = provider
    lines = json_codec.dumps(_line("session_meta", meta, time), surrogates="replace") + b"\n"
    if header.parent_session is not None:
        lines += json_codec.dumps(_line(PROVENANCE, {"from": header.parent_session}, time)) + b"\n"
    return lines


class RolloutWriter:
    """Encodes lines for appending. ``refuse`` makes the exception for anything a rollout cannot store."""

    def __init__(self, reading: CodexLogIndex, refuse: Callable[[str], NotSupported]) -> None:
        self._reading = reading
        self._refuse = refuse
        self._tip = reading.leaf
        self._written: set[str] = set()  # ids of entries written by this writer
        self._waiting = self._unanswered(reading.leaf)
        self._turn = reading.open_turn
        self._last_text = ""
        if (
            reading.last_answer is not None
            and reading.turns
            and reading.last_answer[0] > reading.turns[-1][0]
        ):
            self._last_text = reading.last_answer[1]
        self._calls: set[str] = set()
        self._time = NO_TIME if reading.header is None else reading.header.timestamp
        if len(reading.tree):
            self._time = reading.tree.times[-1] or self._time
        self._lines: list[bytes] = []

    def write(self, entries: Sequence[Entry]) -> bytes:
        """Return the lines for these entries; raises an error unless all of them can be written."""
        for entry in entries:
            if entry.type not in _ABOUT_THE_SESSION:
                self._time = entry_time(entry) or self._time
            self._write(entry)
            self._written.add(entry.id)
        return b"".join(self._lines)

    def _write(self, entry: Entry) -> None:
        match entry:
            case SessionInfo():
                if not entry.name.strip():
                    raise self._refuse("untitle")
                self._add(PROVENANCE, {"title": entry.name})
            case Leaf():
                self._go_to(entry.target)
                self._close_calls()
                self._end_turn()
            case MessageEntry():
                self._write_message(entry, typed_message(entry.message))
            case CustomMessage():
                self._write_context(entry)
            case Compaction():
                self._write_compaction(entry)
            case ModelChange():
                self._go_to(entry.parent)
                self._add(PROVENANCE, {"provider": entry.provider, "model": entry.model_id})
            case ThinkingLevelChange():
                self._go_to(entry.parent)
                self._add(PROVENANCE, {"effort": entry.thinking_level})
            case _:
                raise self._refuse(entry.type)

    # -- messages -------------------------------------------------------------------------------------

    def _write_message(self, entry: MessageEntry, message: Message) -> None:
        match message:
            case UserMessage():
                content = self._user_content(message.content)
                self._go_to(entry.parent)
                self._close_calls()
                self._end_turn()
                self._start_turn(entry)
                text = blocks_text(message.content, "\n")
                images = [part["image_url"] for part in content if part["type"] == "input_image"]
                self._event(
                    type="user_message", message=text, images=images, local_images=[], text_elements=[]
                )
                self._item({"type": "message", "role": "user", "content": content})
            case AssistantMessage():
                items = self._answer_items(message.content)
                self._go_to(entry.parent)
                self._close_calls()
                self._start_turn(entry)
                for item in items:
                    self._item(item)
                    if item["type"] == "message":
                        self._last_text = item["content"][0]["text"]
                        self._event(type="agent_message", message=self._last_text)
                self._waiting = tuple(item["call_id"] for item in items if item["type"] == "function_call")
            case ToolResult():
                output = self._output(message.content)
                self._go_to(entry.parent)
                call = self._call_named(message.tool_call_id, self._waiting)
                if call is None:
                    raise self._refuse("result")
                self._item({"type": "function_call_output", "call_id": call, "output": output})
                self._waiting = tuple(other for other in self._waiting if other != call)
            case _:
                raise self._refuse("message")

    def _write_context(self, entry: CustomMessage) -> None:
        """Write context that Codex itself injects, in Codex's form."""
        text = blocks_text(entry.content, "\n")
        role = "developer" if entry.custom_type == "developer" else "user"
        if role == "user" and (entry.custom_type != "context" or not is_context(text)):
            raise self._refuse("custom_message")
        content = self._user_content(entry.content)
        self._go_to(entry.parent)
        self._close_calls()
        self._start_turn(entry)
        self._item({"type": "message", "role": role, "content": content})

    def _write_compaction(self, entry: Compaction) -> None:
        if entry.retained_tail is None and entry.first_kept not in (None, entry.id):
            raise self._refuse("kept messages")
        kept, waiting = self._history(entry.retained_tail or ())
        summary = labelled_summary(entry.summary)
        summary_item = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": summary}],
        }
        self._go_to(entry.parent)
        self._close_calls()
        self._end_turn()
        self._start_turn(entry)
        has_summary = bool(entry.summary.strip())
        history = [summary_item, *kept] if has_summary else kept
        self._add("compacted", {"message": summary if has_summary else "", "replacement_history": history})
        self._end_turn()
        self._waiting = waiting

    def _history(self, messages: Iterable[Message]) -> tuple[list[Item], tuple[str, ...]]:
        """Return the messages that a compaction keeps, as items, and their calls without a result."""
        items: list[Item] = []
        waiting: tuple[str, ...] = ()
        for message in map(typed_message, messages):
            if not isinstance(message, ToolResult):
                items += [_output_item(call, NO_RESULT) for call in waiting]
                waiting = ()
            match message:
                case UserMessage():
                    content = self._user_content(message.content)
                    items.append({"type": "message", "role": "user", "content": content})
                case AssistantMessage():
                    made = self._answer_items(message.content, empty=True)
                    waiting = tuple(item["call_id"] for item in made if item["type"] == "function_call")
                    items += made
                case ToolResult():
                    call = self._call_named(message.tool_call_id, waiting)
                    if call is None:
                        content = self._user_content(told_result(message).content)
                        items.append({"type": "message", "role": "user", "content": content})
                        continue
                    items.append(_output_item(call, self._output(message.content)))
                    waiting = tuple(other for other in waiting if other != call)
                case _:
                    raise self._refuse("message")
        return items, waiting

    # -- calls ----------------------------------------------------------------------------------------

    def _close_calls(self) -> None:
        for call in self._waiting:
            self._item(_output_item(call, NO_RESULT))
        self._waiting = ()

    def _call_named(self, wanted: str, waiting: tuple[str, ...]) -> str | None:
        """Return the id written for a call; a reused id has a number appended."""
        if wanted in waiting:
            return wanted
        for name in call_ids(_CALL, wanted):
            if name in waiting:
                return name
            if not self._is_taken(name):
                return None
        return None

    def _is_taken(self, call: str) -> bool:
        return call in self._reading.tool_names or call in self._calls

    def _unanswered(self, position: int) -> tuple[str, ...]:
        """Return the calls at the end of the path to an entry that have no result."""
        reading = self._reading
        answered: set[str] = set()
        waiting: list[str] = []
        while position != ROOT:
            role = reading.tree.roles[position]
            if reading.tree.types[position] == "compaction" and not waiting:
                return tuple(call for call in self._open_calls(position) if call not in answered)
            if role == "user" or reading.tree.types[position] in ("compaction", "custom_message"):
                break
            if role in ("assistant", "toolResult"):
                item = self._payload(position)
                call = item.get("call_id")
                if item.get("type") in _OUTPUTS:
                    if waiting:
                        break  # an earlier answer; all of its calls have results
                    answered.add(str(call))
                elif isinstance(call, str) and call not in answered:
                    waiting.insert(0, call)
            position = reading.tree.parents[position]
        return tuple(waiting)

    def _open_calls(self, position: int) -> list[str]:
        """Return the calls at the end of what a compaction keeps that have no result in it."""
        items = self._payload(position).get("replacement_history")
        found: dict[str, None] = {}
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and isinstance(call := item.get("call_id"), str):
                if item.get("type") in _OUTPUTS:
                    found.pop(call, None)
                else:
                    found[call] = None
        return list(found)

    def _payload(self, position: int) -> dict[str, Any]:
        fields = json_codec.loads_object(self._reading.read(*self._reading.span(position))) or {}
        payload = fields.get("payload")
        return payload if isinstance(payload, dict) else fields

    # -- branches -------------------------------------------------------------------------------------

    def _is_tip(self, key: str | None) -> bool:
        """Return whether an entry is the end of the conversation."""
        if self._lines or key in self._written:
            return key is not None and key in self._written
        return self._conversation_at(key) == self._conversation(self._tip)

    def _go_to(self, parent: str | None) -> None:
        """Roll back the turns after an entry, unless it is the last one."""
        if self._written or self._is_tip(parent):
            return
        tree, wanted = self._reading.tree, self._conversation_at(parent)
        turns, here, first = 0, self._tip, ROOT
        while here not in (wanted, ROOT):
            if tree.types[here] == "compaction":
                raise self._refuse("elsewhere")
            if tree.types[here] not in _ASIDE:
                first = here
            turns += tree.types[here] == "message" and tree.roles[here] == "user"
            here = tree.parents[here]
        is_context = wanted != ROOT and tree.types[wanted] == "custom_message"
        if here != wanted or first == ROOT or tree.roles[first] != "user" or is_context:
            raise self._refuse("elsewhere")
        self._close_calls()
        self._end_turn()
        self._event(type="thread_rolled_back", num_turns=turns)
        self._waiting = self._unanswered(wanted)

    def _conversation_at(self, key: str | None) -> int:
        return self._conversation(ROOT if key is None else self._reading.tree.positions.get(key, ROOT))

    def _conversation(self, position: int) -> int:
        """Return the nearest entry at or above a position that the model sees."""
        tree = self._reading.tree
        while position != ROOT and tree.types[position] in _ASIDE:
            position = tree.parents[position]
        return position

    # -- turns ----------------------------------------------------------------------------------------

    def _start_turn(self, entry: Entry) -> None:
        """Start a turn: an item between two turns would be rolled back with the first."""
        if self._turn:
            return
        self._turn = uuid4_from(f"{self._reading.thread} turn {entry.id}")
        self._event(type="task_started", turn_id=self._turn)

    def _end_turn(self) -> None:
        if self._turn:
            self._event(type="task_complete", turn_id=self._turn, last_agent_message=self._last_text or None)
        self._turn, self._last_text = "", ""

    # -- content --------------------------------------------------------------------------------------

    def _user_content(self, content: Content) -> list[Item]:
        blocks = (Text(text=content),) if isinstance(content, str) else content
        parts = [part for block in blocks if (part := self._part(block)) is not None]
        if not parts:
            raise self._refuse("empty")
        return parts

    def _part(self, block: Block) -> Item | None:
        match block:
            case Text():
                return {"type": "input_text", "text": block.text} if block.text.strip() else None
            case Image() if block.data and block.mime_type in IMAGE_TYPES:
                return {"type": "input_image", "image_url": f"data:{block.mime_type};base64,{block.data}"}
            case _:
                raise self._refuse("block")

    def _output(self, content: Content) -> str | list[Item]:
        if isinstance(content, str):
            return content
        if len(content) == 1 and isinstance(content[0], Text):
            return content[0].text
        return [part for block in content if (part := self._part(block)) is not None] or ""

    def _answer_items(self, content: Content, *, empty: bool = False) -> list[Item]:
        items: list[Item] = []
        calls: list[str] = []
        for block in (Text(text=content),) if isinstance(content, str) else content:
            match block:
                case Text():
                    if block.text.strip():
                        part = {"type": "output_text", "text": block.text}
                        items.append({"type": "message", "role": "assistant", "content": [part]})
                case ToolCall():
                    call = next(name for name in call_ids(_CALL, block.id) if not self._is_taken(name))
                    self._calls.add(call)
                    calls.append(call)
                    arguments = json_codec.dumps(block.arguments).decode("utf-8", "surrogatepass")
                    name = api_tool_name(block.name)
                    items.append(
                        {"type": "function_call", "name": name, "arguments": arguments, "call_id": call}
                    )
                case Thinking():
                    continue
                case _:
                    raise self._refuse("block")
        if not items and not empty:
            raise self._refuse("empty")
        return items

    # -- lines ----------------------------------------------------------------------------------------

    def _item(self, item: Item) -> None:
        self._add("response_item", item)

    def _event(self, **fields: Any) -> None:
        self._add("event_msg", fields)

    def _add(self, type: str, payload: dict[str, Any]) -> None:  # noqa: A002
        line = _line(type, payload, self._time)
        if type == PROVENANCE:
            self._lines.append(json_codec.dumps(line) + b"\n")
            return
        try:
            self._lines.append(json_codec.dumps(line, surrogates="strict") + b"\n")
        except UnicodeEncodeError:
            raise self._refuse("half character") from None


_ABOUT_THE_SESSION = frozenset({"leaf", "session_info"})
_ASIDE = frozenset({"custom", "usage", "leaf", "session_info", "model_change", "thinking_level_change"})


def _output_item(call: str, output: str | list[Item]) -> Item:
    return {"type": "function_call_output", "call_id": call, "output": output}


def _line(type: str, payload: dict[str, Any], time: str) -> dict[str, Any]:  # noqa: A002
    return {"timestamp": time, "type": type, "payload": payload}
