"""Conversations of older llm versions as native entries: lists of prompts and responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from branchline.context import milliseconds
from branchline.entries import Header, json_codec
from branchline.formats.common.derived_lines import EntryLines
from branchline.formats.common.tables import columns, tables, text_of
from branchline.formats.json_values import iso_time
from branchline.formats.llm.stored_values import StoredValues
from branchline.formats.llm.values import usage_of
from branchline.formats.protocol import Query

__all__ = ["conversation_lines", "unlisted_usage"]

_COLUMNS = (
    "id",
    "model",
    "resolved_model",
    "prompt",
    "system",
    "response",
    "reasoning",
    "datetime_utc",
    "input_tokens",
    "output_tokens",
    "token_details",
)
_Row = dict[str, Any]


def conversation_lines(query: Query, session_id: str, lines: EntryLines) -> Iterator[bytes]:
    """Yield the lines of a conversation."""
    responses = list(_responses(query, session_id))
    name = next((row[0] for row in query("SELECT name FROM conversations WHERE id = ?", session_id)), None)
    if not responses:
        return
    parts = _Parts(query)
    yield lines.header(Header(id=session_id, version=3, timestamp=_time(responses[0])))
    system = ""
    for row in responses:
        yield from _response_lines(row, parts, lines, system)
        system = parts.system(row) or system
    if name:
        yield lines.title(f"{session_id}/title", _time(responses[-1]), text_of(name))


def unlisted_usage(query: Query, thread_id: str) -> Iterator[dict[str, Any]]:
    """Yield the model calls of a conversation before a newer llm continued it as a thread."""
    turns = {row[0] for row in query("SELECT id FROM turns WHERE thread_id = ?", thread_id)}
    for row in _responses(query, thread_id):
        usage = usage_of(row["input_tokens"], row["output_tokens"], row["token_details"])
        if row["id"] not in turns and usage is not None:
            call_id = f"{text_of(row['id'])}/usage"
            yield {"id": call_id, "time": _time(row), "model": _model(row), "usage": usage}


def _response_lines(row: _Row, parts: _Parts, lines: EntryLines, system: str) -> Iterator[bytes]:
    name, time = text_of(row["id"]), _time(row)
    moment = milliseconds(time)
    system_prompt = parts.system(row)
    if system_prompt and system_prompt != system:
        yield lines.message(
            f"{name}/system", time, {"role": "system", "content": system_prompt, "timestamp": moment}
        )
    results = parts.results(row)
    for number, result in enumerate(results):
        yield lines.message(f"{name}/result-{number}", time, {**result, "timestamp": moment})
    content = parts.prompt(row)
    if content or not results:
        yield lines.message(f"{name}/prompt", time, {"role": "user", "content": content, "timestamp": moment})
    answer: list[dict[str, Any]] = []
    if reasoning := text_of(row["reasoning"]):
        answer.append({"type": "thinking", "thinking": reasoning})
    if response := text_of(row["response"]):
        answer.append({"type": "text", "text": response})
    calls = parts.calls(row)
    fields: dict[str, Any] = {
        "role": "assistant",
        "content": [*answer, *calls],
        "model": _model(row),
        "stopReason": "toolUse" if calls else "stop",
        "timestamp": moment,
    }
    usage = usage_of(row["input_tokens"], row["output_tokens"], row["token_details"])
    if usage is not None:
        fields["usage"] = usage
    yield lines.message(name, time, fields)


def _responses(query: Query, session_id: str) -> Iterator[_Row]:
    known = columns(query, "responses")
    chosen = ", ".join(name if name in known else f"NULL AS {name}" for name in _COLUMNS)
    statement = f"SELECT {chosen} FROM responses WHERE conversation_id = ? ORDER BY id"  # noqa: S608
    return (dict(zip(_COLUMNS, row, strict=True)) for row in query(statement, session_id))


class _Parts:
    """The parts of a response in other tables, some of which older logs lack."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._tables = tables(query)
        self._stored = StoredValues(query)
        self._system: tuple[list[Any], str] = [], ""

    def _rows(self, table: str, statement: str, row: _Row) -> Iterator[tuple[Any, ...]]:
        return self._query(statement, text_of(row["id"])) if table in self._tables else iter(())

    def _fragments(self, table: str, row: _Row) -> list[Any]:
        statement = f"""
            SELECT fragments.id FROM {table} JOIN fragments ON fragments.id = {table}.fragment_id
            WHERE {table}.response_id = ? ORDER BY {table}."order"
        """  # noqa: S608
        return [number for (number,) in self._rows(table, statement, row)]

    def _joined(self, separator: str, fragments: list[Any], text: object) -> str:
        return separator.join(filter(None, (*map(self._stored.fragment, fragments), text_of(text))))

    def system(self, row: _Row) -> str:
        """Return the system prompt of a response, which is usually that of the one before."""
        told = [*self._fragments("system_fragments", row), row["system"]]
        if told != self._system[0]:
            self._system = told, self._joined("\n\n", told[:-1], told[-1])
        return self._system[1]

    def prompt(self, row: _Row) -> list[dict[str, Any]]:
        """Return the content of a prompt."""
        text = self._joined("\n", self._fragments("prompt_fragments", row), row["prompt"])
        statement = """
            SELECT attachments.id FROM prompt_attachments
            JOIN attachments ON attachments.id = prompt_attachments.attachment_id
            WHERE prompt_attachments.response_id = ? ORDER BY prompt_attachments."order"
        """
        names = self._rows("prompt_attachments", statement, row)
        attached = [self._stored.attachment(text_of(name)) for (name,) in names]
        return [*([{"type": "text", "text": text}] if text else ()), *attached]

    def calls(self, row: _Row) -> list[dict[str, Any]]:
        """Return the tool calls of a response."""
        statement = "SELECT name, arguments, tool_call_id FROM tool_calls WHERE response_id = ? ORDER BY id"
        found = []
        for name, given, call_id in self._rows("tool_calls", statement, row):
            arguments = json_codec.loads_object(given) if isinstance(given, bytes) else None
            called = text_of(call_id) or f"call-{text_of(name)}"
            found.append(
                {"type": "toolCall", "id": called, "name": text_of(name), "arguments": arguments or {}}
            )
        return found

    def results(self, row: _Row) -> list[dict[str, Any]]:
        """Return the tool results in a prompt."""
        if "tool_results" not in self._tables:
            return []
        failed = "exception" if "exception" in columns(self._query, "tool_results") else "NULL"
        statement = f"""
            SELECT name, output, tool_call_id, {failed} FROM tool_results WHERE response_id = ? ORDER BY id
        """  # noqa: S608
        return [
            {
                "role": "toolResult",
                "toolCallId": text_of(call_id) or f"call-{text_of(name)}",
                "toolName": text_of(name),
                "content": [{"type": "text", "text": text_of(output)}],
                "isError": exception is not None,
            }
            for name, output, call_id, exception in self._rows("tool_results", statement, row)
        ]


def _model(row: _Row) -> str:
    return text_of(row["resolved_model"]) or text_of(row["model"])


def _time(row: _Row) -> str:
    return iso_time(milliseconds(text_of(row["datetime_utc"])))
