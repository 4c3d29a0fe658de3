"""Make tools from plain functions, and call them for a model."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec

from branchline.entries import Content, Image, Text, ToolCall, ToolResult, UnknownBlock, as_blocks
from branchline.models.protocol import Tool

__all__ = ["COUNT_WORDS", "call_tool", "count_words", "tool"]


def tool(function: Callable[..., Any], *, name: str = "", description: str = "") -> Tool:
    """Make a tool from a function: its name, its docstring, and a schema from its parameter types.

    Parameter types must be representable in JSON; the model's arguments are validated against them.
    """
    name = name or function.__name__
    shape = _shape(function, name)
    return Tool(
        name=name,
        description=description or inspect.getdoc(function) or "",
        parameters=_schema(shape),
        function=_checked(function, shape),
    )


async def call_tool(tool: Tool | None, call: ToolCall) -> ToolResult:
    """Run a tool call. Errors become results too, so that the model can react to them.

    A plain function runs in a thread: cancellation stops the wait, but not the thread.
    """
    if tool is None:
        return _result(call, f"Unknown tool: {call.name}.", is_error=True)
    try:
        if inspect.iscoroutinefunction(inspect.unwrap(tool.function)):
            value = await tool.function(**call.arguments)
        else:
            value = await asyncio.to_thread(tool.function, **call.arguments)
            if inspect.isawaitable(value):
                value = await value
        return _result(call, _content(value), is_error=False)
    except Exception as problem:  # noqa: BLE001 - a tool may raise anything; the model gets the error
        return _result(call, f"{type(problem).__name__}: {problem}", is_error=True)


def count_words(text: str) -> dict[str, int]:
    """Count the words, lines and characters of a text."""
    return {"words": len(text.split()), "lines": text.count("\n") + 1, "characters": len(text)}


def _result(call: ToolCall, content: Content, *, is_error: bool) -> ToolResult:
    blocks = as_blocks(content)
    return ToolResult(tool_call_id=call.id, tool_name=call.name, content=blocks, is_error=is_error)


def _content(value: Any) -> Content:
    match value:
        case str():
            return value
        case Text() | Image():
            return (value,)
        case list() | tuple() if value and all(
            isinstance(item, Text | Image | UnknownBlock) for item in value
        ):
            return tuple(value)
        case None:
            return "(no output)"
        case _:
            return json.dumps(msgspec.to_builtins(value), ensure_ascii=False)


def _shape(function: Callable[..., Any], name: str) -> type[msgspec.Struct]:
    hints = get_type_hints(function)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"the parameters of tool {name} must have names; {parameter} has none")
        kind = hints.get(parameter.name, Any)
        if parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            fields.append((parameter.name, kind | msgspec.UnsetType, msgspec.UNSET))
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def _schema(shape: type[msgspec.Struct]) -> dict[str, Any]:
    (own,), others = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    schema = others.pop(own["$ref"].removeprefix("#/$defs/"))
    schema.pop("title", None)
    return {**schema, "$defs": others} if others else schema


def _checked(function: Callable[..., Any], shape: type[msgspec.Struct]) -> Callable[..., Any]:
    def validate(arguments: dict[str, Any]) -> dict[str, Any]:
        checked = msgspec.convert(arguments, shape)
        values = {field: getattr(checked, field) for field in shape.__struct_fields__}
        return {field: value for field, value in values.items() if value is not msgspec.UNSET}

    async def call_async(**arguments: Any) -> Any:
        return await function(**validate(arguments))

    def call_sync(**arguments: Any) -> Any:
        return function(**validate(arguments))

    return call_async if inspect.iscoroutinefunction(function) else call_sync


COUNT_WORDS = tool(count_words)
"""A tool without side effects, for demos and tests."""
