"""The document that ``opencode export`` prints and ``opencode import`` takes: a session with its messages.

Messages are made of native entries here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from branchline._sha256 import sha256
from branchline.context import milliseconds
from branchline.entries import (
    AssistantMessage,
    Compaction,
    CustomMessage,
    Entry,
    Header,
    Image,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    decode_entry,
    json_codec,
)
from branchline.entries.codec import decode_header
from branchline.errors import NotASession, NotSupported
from branchline.formats.api_limits import api_tool_name
from branchline.formats.derived_ids import api_call_ids
from branchline.formats.opencode.log_index import ORIGIN

__all__ = ["ascending_id", "document_of", "parts_of", "result_state", "session_id"]

VERSION = "1.18.33"
"""The version of opencode whose documents we write."""
_FINISHES = {"stop": "stop", "toolUse": "tool-calls", "length": "length"}
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_IMAGE_TYPE = re.compile(r"image/[A-Za-z0-9.+-]+")
_RANDOM = 14
_LONGEST_TITLE = 100
_TIME_BITS = 48


def ascending_id(prefix: str, ms: int, number: int, seed: str) -> str:
    """An id as opencode makes them: a time, a counter, and letters; later ones sort behind earlier ones."""
    moment = (ms * 0x1000 + number) & ((1 << _TIME_BITS) - 1)
    return f"{prefix}_{moment:012x}{_letters(f'{seed} {prefix} {number}')}"


def session_id(fresh: str, ms: int) -> str:
    """The id of a session: later ones sort before earlier ones."""
    moment = ~(ms * 0x1000 + 1) & ((1 << _TIME_BITS) - 1)
    return f"ses_{moment:012x}{_letters(fresh)}"


def _letters(seed: str) -> str:
    number = int.from_bytes(sha256(seed.encode("utf-8", "surrogatepass")).digest(), "big")
    found = []
    for _ in range(_RANDOM):
        number, place = divmod(number, len(_ALPHABET))
        found.append(_ALPHABET[place])
    return "".join(found)


# -- entries into parts -----------------------------------------------------------------------------------


def parts_of(entry: Entry) -> list[dict[str, Any]]:
    """The parts of the message that an entry becomes. NotSupported for what a message cannot hold."""
    match entry:
        case MessageEntry(message=UserMessage(content=content)):
            return [_prompt_part(block) for block in _blocks(content)]
        case MessageEntry(message=AssistantMessage(content=content) as answer):
            parts = [_answer_part(block) for block in _blocks(content)]
            finish: dict[str, Any] = {"type": "step-finish", "reason": _finish(answer) or "stop"}
            return [
                {"type": "step-start"},
                *parts,
                {**finish, "cost": cost_of(answer.usage), "tokens": tokens_of(answer.usage)},
            ]
        case CustomMessage(role="user", display=False, content=content):
            return [{**_synthetic_part(block), "synthetic": True} for block in _blocks(content)]
        case Compaction(summary=summary):
            return [{"type": "step-start"}, {"type": "text", "text": summary}]
        case _:
            raise NotSupported(f"opencode has no message for a {entry.type} entry")


def _blocks(content: Any) -> Sequence[Any]:
    return (Text(text=content),) if isinstance(content, str) else content


def _prompt_part(block: Any) -> dict[str, Any]:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Image():
            return {"type": "file", "filename": "image", **_file(block)}
        case _:
            raise NotSupported("opencode prompts hold only text and images")


def _synthetic_part(block: Any) -> dict[str, Any]:
    if not isinstance(block, Text):
        raise NotSupported("opencode hides only texts")
    return _prompt_part(block)


def _file(image: Image) -> dict[str, Any]:
    mime = image.mime_type or "image/png"
    if _IMAGE_TYPE.fullmatch(mime) is None:
        raise NotSupported("opencode takes only images whose type says so")
    return {"mime": mime, "url": f"data:{mime};base64,{image.data}"}


def _answer_part(block: Any) -> dict[str, Any]:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thinking(thinking=text):
            return {"type": "reasoning", "text": text, "time": {"start": 0, "end": 0}}
        case ToolCall(id=call, name=name, arguments=arguments):
            state = {"status": "pending", "input": arguments, "raw": ""}
            return {"type": "tool", "callID": call, "tool": api_tool_name(name), "state": state}
        case _:
            raise NotSupported("opencode answers hold only text, thoughts and tool calls")


def result_state(result: ToolResult, arguments: Any) -> dict[str, Any]:
    """The state of a call that has a result."""
    texts, files = [], []
    for block in _blocks(result.content):
        match block:
            case Text(text=text):
                texts.append(text)
            case Image():
                files.append({"type": "file", **_file(block)})
            case _:
                raise NotSupported("opencode tool results hold only text and images")
    time = {"start": 0, "end": 0}
    if result.is_error is True and not files:
        return {"status": "error", "input": arguments, "error": "\n".join(texts), "time": time}
    told = result.details if isinstance(result.details, dict) else {}
    title, metadata = told.get("title"), told.get("metadata")
    state = {
        "status": "completed",
        "input": arguments,
        "output": "\n".join(texts),
        "title": title if isinstance(title, str) else "",
        "metadata": metadata if isinstance(metadata, dict) else {},
        "time": time,
    }
    return {**state, "attachments": files} if files else state


def tokens_of(usage: Usage | None) -> dict[str, Any]:
    """Tokens as opencode counts them: thoughts apart from the rest of the output."""
    spent = Usage() if usage is None else usage
    reasoning = spent.reasoning if isinstance(spent.reasoning, int | float) else 0
    return {
        "input": spent.input,
        "output": max(0, spent.output - reasoning),
        "reasoning": reasoning,
        "cache": {"read": spent.cache_read, "write": spent.cache_write},
    }


def cost_of(usage: Usage | None) -> float:
    return 0 if usage is None else usage.cost.total


def _finish(answer: AssistantMessage) -> str | None:
    return _FINISHES.get(answer.stop_reason or "stop")


def error_of(answer: AssistantMessage) -> dict[str, Any] | None:
    """How opencode records an answer that failed; None for one that did not.

    opencode sends what an aborted answer said to the model, but not what an answer with another error said.
    """
    if answer.stop_reason not in ("error", "aborted"):
        return None
    is_abort = answer.stop_reason == "aborted" or any(map(_says_something, _blocks(answer.content)))
    name = "MessageAbortedError" if is_abort else "UnknownError"
    return {"name": name, "data": {"message": answer.error_message or answer.stop_reason}}


def _says_something(block: Any) -> bool:
    return isinstance(block, ToolCall) or (isinstance(block, Text) and bool(block.text))


# -- a document out of lines ------------------------------------------------------------------------------


def document_of(lines: bytes) -> bytes:
    """The document of a session that :class:`~branchline.formats.opencode.writer.OpencodeWriter` wrote."""
    head, *rest = lines.splitlines() if b"\r" not in lines else lines.split(b"\n")
    header = decode_header(head)
    if header is None:
        raise NotASession("cannot make a document: there is no header")
    builder = _Builder(header)
    for line in rest:
        if line:
            builder.take(decode_entry(line))
    return json_codec.dumps(builder.document()) + b"\n"


class _Builder:
    """Gives messages and parts their ids, in the order of the talk."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._time = milliseconds(header.timestamp) or 0
        self._begun = self._time
        self._number = 0
        self._messages: list[dict[str, Any]] = []
        self._prompt = ""
        self._open: dict[str, dict[str, Any]] = {}  # the last call with each id of the source
        self._calls: set[str] = set()
        self._names: dict[str, str] = {}  # the message of each entry
        self._title = ""
        self._unnamed: list[dict[str, Any]] = []  # prompts before the first answer, which names the model
        told = header.metadata or {}
        self._model = (_text(told.get("provider")), _text(told.get("model")))

    def take(self, entry: Entry) -> None:
        if entry.type == "session_info":
            self._title = getattr(entry, "name", "")
            return
        if self._messages:
            self._time = max(self._time, milliseconds(entry.timestamp) or 0)
        else:
            self._time = self._begun = milliseconds(entry.timestamp) or self._time
        match entry:
            case MessageEntry(message=ToolResult() as result):
                part = self._open.get(result.tool_call_id)
                if part is None:
                    raise NotSupported("an opencode tool result is part of the answer with its call")
                part["state"] = result_state(result, part["state"]["input"])
                self._stamp_files(part)
            case MessageEntry(message=AssistantMessage() as answer):
                self._answer(entry, answer)
            case Compaction():
                self._compaction(entry)
            case _:
                self._prompt = self._add(self._user_info(), parts_of(entry))
                self._names[entry.id] = self._prompt

    def _user_info(self) -> dict[str, Any]:
        info = {
            "role": "user",
            "time": {"created": self._time},
            "agent": "build",
            "model": {"providerID": self._model[0], "modelID": self._model[1]},
        }
        self._unnamed.append(info)
        return info

    def _answer(self, entry: Entry, answer: AssistantMessage) -> None:
        self._name_model(answer.provider or "", answer.model or "")
        info = self._answer_info(answer.usage)
        info |= {"modelID": answer.model or "", "providerID": answer.provider or ""}
        if (error := error_of(answer)) is not None:
            info["error"] = error
        elif (finish := _finish(answer)) is not None:
            info["finish"] = finish
        parts = parts_of(entry)
        self._names[entry.id] = self._add(info, parts)
        for part in parts:
            if part["type"] == "tool":
                self._open[part["callID"]] = part
                part["callID"] = self._new_call(part["callID"])

    def _new_call(self, call: str) -> str:
        """Return an unused id that model APIs accept: opencode sends it as it is."""
        name = next(name for name in api_call_ids(call) if name not in self._calls)
        self._calls.add(name)
        return name

    def _name_model(self, provider: str, model: str) -> None:
        if model:
            self._model = (provider, model)
        for info in self._unnamed:
            info["model"] = {"providerID": self._model[0], "modelID": self._model[1]}
        self._unnamed = []

    def _answer_info(self, usage: Usage | None) -> dict[str, Any]:
        return {
            "role": "assistant",
            "time": {"created": self._time, "completed": self._time},
            "parentID": self._prompt or ascending_id("msg", self._begun, 0, self._header.id),
            "mode": "build",
            "agent": "build",
            "path": {"cwd": self._header.cwd, "root": self._header.cwd},
            "cost": cost_of(usage),
            "tokens": tokens_of(usage),
            "modelID": self._model[1],
            "providerID": self._model[0],
        }

    def _compaction(self, entry: Compaction) -> None:
        asked: dict[str, Any] = {"type": "compaction", "auto": False}
        if entry.first_kept not in (None, entry.id):
            asked["tail_start_id"] = self._names[entry.first_kept or ""]
        self._prompt = self._add(self._user_info(), [asked])
        info = {**self._answer_info(entry.usage), "mode": "compaction", "agent": "compaction"}
        self._names[entry.id] = self._add({**info, "summary": True, "finish": "stop"}, parts_of(entry))

    def _add(self, info: dict[str, Any], parts: list[dict[str, Any]]) -> str:
        name = self._next("msg")
        info["id"], info["sessionID"] = name, self._header.id
        for part in parts:
            part |= {"id": self._next("prt"), "sessionID": self._header.id, "messageID": name}
            if part["type"] == "reasoning":
                part["time"] = {"start": self._time, "end": self._time}
        self._messages.append({"info": info, "parts": parts})
        return name

    def _stamp_files(self, part: dict[str, Any]) -> None:
        part["state"]["time"] = {"start": self._time, "end": self._time}
        for file in part["state"].get("attachments", ()):
            file |= {"id": self._next("prt"), "sessionID": part["sessionID"], "messageID": part["messageID"]}

    def _next(self, prefix: str) -> str:
        self._number += 1
        return ascending_id(prefix, self._begun, self._number, self._header.id)

    def document(self) -> dict[str, Any]:
        header = self._header
        self._name_model("", "")
        info: dict[str, Any] = {
            "id": header.id,
            "slug": header.id.removeprefix("ses_").lower(),
            "projectID": "global",
            "directory": header.cwd,
            "title": self._title or self._first_words() or "New session",
            "version": VERSION,
            "time": {"created": self._begun, "updated": self._time},
        }
        if header.parent_session is not None:  # not parentID, which makes a sub-agent
            info["metadata"] = {ORIGIN: {"from": header.parent_session, "at": header.timestamp}}
        return {"info": info, "messages": self._messages}

    def _first_words(self) -> str:
        """The beginning of the first prompt: opencode names sessions only when it answers their first one."""
        texts = (
            " ".join(part["text"].split())
            for message in self._messages
            if message["info"]["role"] == "user"
            for part in message["parts"]
            if part["type"] == "text" and not part.get("synthetic")
        )
        words = next(filter(None, texts), "")
        return words if len(words) <= _LONGEST_TITLE else f"{words[: _LONGEST_TITLE - 1]}…"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
