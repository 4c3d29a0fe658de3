"""The settings there are: names, types, defaults, and a sentence about each.

This record is the only list. The file, the environment, ``branchline config`` and the documentation are read
from it or checked against it.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec

__all__ = ["Settings", "describe_setting", "names", "parse_value", "template", "toml_text"]


def _says(sentence: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=sentence, **limits)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a person prefers. Every field has a default that works without a file."""

    theme: Annotated[
        Literal["auto", "dark", "light"],
        _says("Colours for a dark or a light terminal; auto asks the terminal."),
    ] = "auto"
    color: Annotated[
        Literal["auto", "always", "never"],
        _says("Colours: auto means on a terminal, unless NO_COLOR is set."),
    ] = "auto"
    plain: Annotated[
        bool, _says("Plain text everywhere: no colours, no plots, no cut lines; for screen readers.")
    ] = False
    ascii: Annotated[bool, _says("Draw plots and trees with ASCII characters alone.")] = False
    mouse: Annotated[bool, _says("The full-screen browser listens to the mouse.")] = True
    scope: Annotated[
        Literal["here", "all"], _says("What the browser shows first: the sessions of this directory, or all.")
    ] = "here"
    sort: Annotated[
        Literal["recent", "threaded", "relevance"],
        _says("How the browser sorts: by time, by forks, by match."),
    ] = "recent"
    filter: Annotated[
        Literal["default", "no-tools", "user-only", "labeled-only", "all"],
        _says("Which entries a tree shows first."),
    ] = "default"
    double_escape: Annotated[
        Literal["tree", "turns"], _says("What Escape, pressed twice in a chat, opens: the tree or the turns.")
    ] = "tree"
    model: Annotated[str | None, _says("The model of new chats, as provider:model.")] = None
    base_url: Annotated[str | None, _says("Where a model server of one's own listens.")] = None
    allow_tools: Annotated[
        tuple[str, ...], _says("MCP tools that a chat calls without asking, as server.tool.")
    ] = ()
    keep_recent_tokens: Annotated[
        int, _says("How much of a conversation's end a compaction leaves as it is, in tokens.", ge=0)
    ] = 20_000
    reserve_tokens: Annotated[
        int, _says("How much room a compaction leaves for the next answer, in tokens.", ge=0)
    ] = 16_384
    max_unpacked: Annotated[
        int, _says("How much a compressed session may unpack to, in MiB; protects memory and disk.", ge=0)
    ] = 2048
    index: Annotated[
        bool, _says("Keep an index of all sessions in the cache directory, for lists and searches.")
    ] = True
    index_exclude: Annotated[
        tuple[str, ...], _says("Session files that the index leaves out, as patterns such as /work/secret/*.")
    ] = ()
    prices: Annotated[
        tuple[str, ...],
        _says(
            "Prices of your own: provider/model=input:output:cache_read:cache_write, $ per million tokens."
        ),
    ] = ()
    pins: Annotated[tuple[str, ...], _says("Ids of the sessions that the browser shows at the top.")] = ()


_FIELDS = {field.name: field for field in msgspec.structs.fields(Settings)}
_DEFAULTS = Settings()


def names() -> tuple[str, ...]:
    """The names of all settings, in the order in which they are shown."""
    return tuple(_FIELDS)


def describe_setting(name: str) -> str:
    """The sentence about a setting."""
    return str(_meta(name).description)


def _meta(name: str) -> msgspec.Meta:
    (meta,) = [part for part in _FIELDS[name].type.__metadata__ if isinstance(part, msgspec.Meta)]
    return meta


def validate(name: str, value: Any) -> Any:
    """The value of a setting, if it can have this one; ValueError says what it can be."""
    if value == "" and _FIELDS[name].default is None:
        return None  # TOML has no word for nothing
    try:
        return msgspec.convert(value, _FIELDS[name].type, strict=True)
    except msgspec.ValidationError:
        raise ValueError(f"{name} must be {describe_type(name)}, not {format_value(value)}") from None


def describe_type(name: str) -> str:
    """What a setting can be, in words."""
    kind = _FIELDS[name].type.__origin__
    choices = getattr(kind, "__args__", ())
    if kind is bool:
        return "true or false"
    if kind is int:
        return "a whole number of at least 0"
    if all(isinstance(choice, str) for choice in choices) and choices:
        return f"{', '.join(choices[:-1])} or {choices[-1]}"
    return "a list of texts" if kind == tuple[str, ...] else "a text"


def format_value(value: Any) -> str:
    """A value as messages quote it: short, whatever it is."""
    text = toml_text(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def parse_value(name: str, words: str) -> Any:
    """The value that a person wrote on a command line or in the environment; ValueError for a wrong one."""
    kind = _FIELDS[name].type.__origin__
    if kind is bool:
        known = {"true": True, "yes": True, "on": True, "1": True}
        known |= {"false": False, "no": False, "off": False, "0": False}
        return validate(name, known.get(words.strip().lower(), words))
    if kind is int:
        digits = words.strip().replace("_", "")
        return validate(name, int(digits) if digits.isdecimal() and len(digits) < 19 else words)
    if kind == tuple[str, ...]:
        return validate(name, [part for part in words.replace(",", " ").split() if part])
    return validate(name, words)


def toml_text(value: Any) -> str:
    """A value as TOML writes it; what TOML has no word for is an empty text."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case list() | tuple():
            return f"[{', '.join(toml_text(item) for item in value)}]"
        case None:
            return '""'
        case _:
            # The escapes of JSON are escapes of TOML, but for one character that JSON leaves as it is.
            text = json.dumps(value if isinstance(value, str) else str(value), ensure_ascii=False)
            return "".join(
                char
                if (char >= " " and char != "\x7f" and not "\ud800" <= char <= "\udfff")
                else f"\\u{ord(char):04X}"
                for char in text
            )


def template() -> str:
    """A file with every setting in it, each switched off and explained."""
    parts = ["# Settings of branchline. A line without # in front is in force.\n"]
    for name in _FIELDS:
        default = getattr(_DEFAULTS, name)
        parts.append(f"\n# {describe_setting(name)}\n# {name} = {toml_text(default)}\n")
    return "".join(parts)
