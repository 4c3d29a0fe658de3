"""The settings there are: names, types, defaults, and a sentence about each.

This record is the only list. The file, the environment, ``branchline config`` and the documentation are read
from it or checked against it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

import msgspec

__all__ = [
    "McpServerSettings",
    "ProviderApi",
    "ProviderSettings",
    "Settings",
    "describe_setting",
    "names",
    "parse_value",
    "template",
    "toml_text",
]

ProviderApi = Literal["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"]
"""The protocols that a provider of one's own can speak, by the names that sessions give them."""

_TABLE_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_RESERVED = frozenset({"offline", "openai-compatible"})


def _says(sentence: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=sentence, **limits)


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model server that a person has named: ``[providers.NAME]`` in the file.

    ``api_key_env`` is the environment variable that holds its key; without one no key is sent. ``models``
    are those that lists and pickers offer; others can be named too.
    """

    base_url: str
    api_key_env: str | None = None
    models: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    api: ProviderApi = "openai-completions"


class McpServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An MCP server whose tools chats offer to the model: ``[mcp_servers.NAME]`` in the file.

    It is started by ``command`` and ``args``, or reached at ``url``. ``${NAME}`` in a value of ``env`` or
    ``headers`` is the environment variable of that name. ``allow`` and ``deny`` name tools of the server that
    are called without a question, and tools that are not offered.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a person prefers. Every field has a default that works without a file."""

    theme: Annotated[
        Literal["auto", "dark", "light"],
        _says("Colour theme; auto asks the terminal."),
    ] = "auto"
    color: Annotated[
        Literal["auto", "always", "never"],
        _says("Use colours; auto means on a terminal unless NO_COLOR is set."),
    ] = "auto"
    plain: Annotated[
        bool, _says("Plain text everywhere: no colours, plots or truncation; for screen readers.")
    ] = False
    ascii: Annotated[bool, _says("Draw plots and trees with ASCII characters only.")] = False
    pager: Annotated[
        str, _says("What shows long output on a terminal: auto ($PAGER, else less), never, or a command.")
    ] = "auto"
    mouse: Annotated[bool, _says("Enable the mouse in the browser.")] = True
    scope: Annotated[
        Literal["here", "all"],
        _says("Sessions that the browser shows first: of this directory, or all."),
    ] = "here"
    sort: Annotated[
        Literal["recent", "created", "threaded", "relevance"],
        _says("Sort order of the browser."),
    ] = "recent"
    keys: Annotated[
        Literal["search", "letters"],
        _says("What a letter does in the browser: it is searched for, or it acts and / begins a search."),
    ] = "search"
    rows: Annotated[
        Literal["one", "two"],
        _says("Lines of a session in the browser; two add directory, git branch, model and first prompt."),
    ] = "one"
    hide: Annotated[
        Literal["nothing", "empty", "one-shot"],
        _says("Sessions that the browser leaves out: none, empty ones, or also those of a single prompt."),
    ] = "empty"
    filter: Annotated[
        Literal["default", "no-tools", "user-only", "labeled-only", "all"],
        _says("Entries that a tree shows first."),
    ] = "default"
    double_escape: Annotated[
        Literal["tree", "turns"], _says("What pressing Escape twice in a chat opens: the tree or the turns.")
    ] = "tree"
    input_history: Annotated[
        bool, _says("Keep what is typed in chats, for the arrow keys of the next chat.")
    ] = True
    model: Annotated[str | None, _says("Model of new chats, as provider:model.")] = None
    base_url: Annotated[str | None, _says("Base URL of an OpenAI-compatible server.")] = None
    api_key_env: Annotated[str | None, _says("Environment variable with the API key for base_url.")] = None
    providers: Annotated[
        dict[str, ProviderSettings], _says("Model servers of your own, each as a table [providers.NAME].")
    ] = {}
    system_prompt: Annotated[str | None, _says("System prompt of chats.")] = None
    instructions: Annotated[
        tuple[str, ...],
        _says("Instruction files of chats, looked for in the working directory and the directories above."),
    ] = ("AGENTS.md",)
    file_tools: Annotated[
        Literal["ask", "allow", "off"],
        _says("Let the model of a chat list, read and search files below the working directory."),
    ] = "ask"
    mcp_servers: Annotated[
        dict[str, McpServerSettings], _says("MCP servers of chats, each as a table [mcp_servers.NAME].")
    ] = {}
    allow_tools: Annotated[
        tuple[str, ...], _says("MCP tools that a chat calls without asking, as server.tool.")
    ] = ()
    keep_recent_tokens: Annotated[int, _says("Recent tokens that a compaction keeps verbatim.", ge=0)] = (
        20_000
    )
    reserve_tokens: Annotated[int, _says("Tokens that a compaction reserves for the next answer.", ge=0)] = (
        16_384
    )
    max_unpacked: Annotated[
        int, _says("Largest size of a decompressed session, in MiB; protects memory and disk.", ge=0)
    ] = 2048
    index: Annotated[
        bool, _says("Keep an index of all sessions in the cache directory, for lists and searches.")
    ] = True
    index_exclude: Annotated[
        tuple[str, ...],
        _says("Session files that the index leaves out, as patterns such as /home/me/secret/*."),
    ] = ()
    embedder: Annotated[
        str | None, _says("Installed embedder for a search by meaning; without one there is none.")
    ] = None
    cache: Annotated[
        bool, _says("Keep indexes of large sessions in the cache directory, so that they open at once.")
    ] = True
    prices: Annotated[
        tuple[str, ...],
        _says(
            "Prices of your own: provider/model=input:output:cache_read:cache_write, $ per million tokens."
        ),
    ] = ()
    pins: Annotated[tuple[str, ...], _says("Ids of sessions pinned to the top of the browser.")] = ()


_DEFAULTS = Settings()
_TABLES: dict[str, type[ProviderSettings | McpServerSettings]] = {
    "providers": ProviderSettings,
    "mcp_servers": McpServerSettings,
}


def names() -> tuple[str, ...]:
    """The names of all settings, in the order in which they are shown."""
    return Settings.__struct_fields__


@cache
def _fields() -> dict[str, msgspec.structs.FieldInfo]:
    """The settings with their types; evaluating these takes longer than reading a file."""
    return {field.name: field for field in msgspec.structs.fields(Settings)}


def describe_setting(name: str) -> str:
    """The sentence about a setting."""
    return str(_meta(name).description)


def _meta(name: str) -> msgspec.Meta:
    (meta,) = [part for part in _fields()[name].type.__metadata__ if isinstance(part, msgspec.Meta)]
    return meta


def validate(name: str, value: Any) -> Any:
    """The value of a setting, if it can have this one; ValueError says what it can be."""
    if value == "" and _fields()[name].default is None:
        return None  # TOML has no word for nothing
    if is_table(name) and not isinstance(value, dict):
        raise ValueError(f"{name} must be {describe_type(name)}, not {format_value(value)}")
    try:
        return msgspec.convert(value, _fields()[name].type, strict=True)
    except msgspec.ValidationError:
        raise ValueError(f"{name} must be {describe_type(name)}, not {format_value(value)}") from None


def is_table(name: str) -> bool:
    """Whether a setting is a table whose items are read one by one."""
    return name in _TABLES


def validate_table(setting: str, name: str, value: Any) -> ProviderSettings | McpServerSettings:
    """One table of ``providers`` or ``mcp_servers``; ValueError says what is wrong with it."""
    where, kind = f"{setting}.{name}", _TABLES[setting]
    noun = "a provider" if kind is ProviderSettings else "an MCP server"
    if not re.fullmatch(_TABLE_NAME, name):
        raise ValueError(f"{where}: {noun}'s name has letters, digits, and . _ - only")
    if kind is ProviderSettings and name in _RESERVED:
        raise ValueError(f"{where}: this name is taken; choose another one")
    try:
        found = msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as problem:
        raise ValueError(f"{where}: {_plain(str(problem), noun, kind)}") from None
    if isinstance(found, McpServerSettings):
        if (found.command is None) == (found.url is None):
            raise ValueError(f"{where}: {noun} has either command or url")
        address, field = found.url, "url"
    else:
        address, field = found.base_url, "base_url"
    if address is not None and not address.startswith(("http://", "https://")):
        raise ValueError(f"{where}: {field} must begin with http:// or https://")
    return found


def _plain(words: str, noun: str, kind: type[msgspec.Struct]) -> str:
    """What msgspec says about a table, in the words of the file."""
    missing = re.fullmatch(r"Object missing required field `(\w+)`", words)
    if missing:
        return f"{missing[1]} is missing"
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", words, re.DOTALL)
    if unknown:
        known = ", ".join(kind.__struct_fields__)
        return f"there is no {unknown[1]!r}; {noun} has {known}"
    place = re.fullmatch(r"(.*) - at `\$\.(.*)`", words, re.DOTALL)
    return f"{place[2]}: {place[1]}" if place else words


def describe_type(name: str) -> str:
    """What a setting can be, in words."""
    kind = _fields()[name].type.__origin__
    if is_table(name):
        return f"a table for each of them, as [{name}.NAME]"
    choices = getattr(kind, "__args__", ())
    if kind is bool:
        return "true or false"
    if kind is int:
        return "a whole number of at least 0"
    if all(isinstance(choice, str) for choice in choices) and choices:
        return f"{', '.join(choices[:-1])} or {choices[-1]}"
    return "a list of strings" if kind == tuple[str, ...] else "a text"


def format_value(value: Any) -> str:
    """A value as messages quote it: short, whatever it is."""
    text = toml_text(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def parse_value(name: str, words: str) -> Any:
    """The value that a person wrote on a command line or in the environment; ValueError for a wrong one."""
    kind = _fields()[name].type.__origin__
    if is_table(name):
        raise ValueError(f"{name} cannot be set in one line; write [{name}.NAME] into the file")
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
        case msgspec.Struct():
            return toml_text({name: kept for name, kept in msgspec.structs.asdict(value).items() if kept})
        case Mapping():
            items = [f"{toml_text(str(key))} = {toml_text(item)}" for key, item in value.items()]
            return f"{{{', '.join(items)}}}"
        case None:
            return '""'
        case _:
            # The escapes of JSON are escapes of TOML, but for one character that JSON leaves as it is.
            import json  # noqa: PLC0415  reading settings needs none

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
    for name in _fields():
        default = getattr(_DEFAULTS, name)
        parts.append(f"\n# {describe_setting(name)}\n# {name} = {toml_text(default)}\n")
    return "".join(parts)
