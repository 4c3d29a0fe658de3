"""The settings: names, types, defaults and descriptions.

The :class:`Settings` record is the only list. The file, the environment, ``branchline config`` and the
documentation are generated from it or checked against it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
    "parse_values",
    "template",
    "toml_text",
]

ProviderApi = Literal["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"]
"""The wire protocols of configured providers, by the names that sessions record."""

_TABLE_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_RESERVED = frozenset({"offline", "openai-compatible"})


def _help(sentence: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=sentence, **limits)


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A configured model server: ``[providers.NAME]`` in the file.

    ``api_key_env`` is the environment variable that holds its key; without one no key is sent. ``models``
    are shown in lists and pickers; other models of the server work too.
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
    are called without asking, and tools that are not offered.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """User settings. Every field has a default, so that no file is needed."""

    theme: Annotated[
        Literal["auto", "dark", "light"],
        _help("Colour theme; auto uses COLORFGBG, else dark."),
    ] = "auto"
    color: Annotated[
        Literal["auto", "always", "never"],
        _help("Use colours; auto means on a terminal unless NO_COLOR is set."),
    ] = "auto"
    plain: Annotated[
        bool, _help("Plain text everywhere: no colours, plots or truncation; for screen readers.")
    ] = False
    ascii: Annotated[bool, _help("Draw plots and trees with ASCII characters only.")] = False
    pager: Annotated[
        str,
        _help("What shows long output on a terminal: auto ($PAGER, else less), never, or a command."),
    ] = "auto"
    mouse: Annotated[bool, _help("Enable the mouse in the browser.")] = True
    scope: Annotated[
        Literal["here", "all"],
        _help("Sessions that the browser shows first: of this directory, or all."),
    ] = "here"
    sort: Annotated[
        Literal["recent", "created", "threaded", "relevance"],
        _help("Sort order of the browser."),
    ] = "recent"
    keys: Annotated[
        Literal["search", "letters"],
        _help("What a letter does in the browser: it is searched for, or it acts and / begins a search."),
    ] = "search"
    rows: Annotated[
        Literal["one", "two"],
        _help("Lines of a session in the browser; two add directory, git branch, model and first prompt."),
    ] = "one"
    hide: Annotated[
        Literal["nothing", "empty", "one-shot"],
        _help("Sessions that the browser leaves out: none, empty ones, or also those of a single prompt."),
    ] = "empty"
    filter: Annotated[
        Literal["default", "no-tools", "user-only", "labeled-only", "all"],
        _help("Entries that a tree shows first."),
    ] = "default"
    double_escape: Annotated[
        Literal["tree", "turns"],
        _help("What pressing Escape twice in a chat opens: the tree or the turns."),
    ] = "tree"
    input_history: Annotated[
        bool, _help("Keep what is typed in chats, for the arrow keys of the next chat.")
    ] = True
    model: Annotated[str | None, _help("Model of new chats, as provider:model.")] = None
    base_url: Annotated[str | None, _help("Base URL of an OpenAI-compatible server.")] = None
    api_key_env: Annotated[str | None, _help("Environment variable with the API key for base_url.")] = None
    providers: Annotated[
        dict[str, ProviderSettings],
        _help("Model servers of your own, each as a table [providers.NAME]."),
    ] = {}
    system_prompt: Annotated[str | None, _help("System prompt of chats.")] = None
    instructions: Annotated[
        tuple[str, ...],
        _help("Instruction files of chats, looked for in the working directory and the directories above."),
    ] = ("AGENTS.md",)
    mcp_servers: Annotated[
        dict[str, McpServerSettings], _help("MCP servers of chats, each as a table [mcp_servers.NAME].")
    ] = {}
    allow_tools: Annotated[
        tuple[str, ...], _help("MCP tools that a chat calls without asking, as server.tool.")
    ] = ()
    keep_recent_tokens: Annotated[int, _help("Recent tokens that a compaction keeps verbatim.", ge=0)] = (
        20_000
    )
    reserve_tokens: Annotated[int, _help("Tokens that a compaction reserves for the next answer.", ge=0)] = (
        16_384
    )
    max_unpacked: Annotated[
        int, _help("Largest size of a decompressed session, in MiB; protects memory and disk.", ge=0)
    ] = 2048
    index: Annotated[
        bool, _help("Keep an index of all sessions in the cache directory, for lists and searches.")
    ] = True
    index_exclude: Annotated[
        tuple[str, ...],
        _help("Session files that the index leaves out, as patterns such as /home/me/secret/*."),
    ] = ()
    cache: Annotated[
        bool, _help("Keep indexes of large sessions in the cache directory, so that they open at once.")
    ] = True
    prices: Annotated[
        tuple[str, ...],
        _help(
            "Prices of your own: provider/model=input:output:cache_read:cache_write, $ per million tokens."
        ),
    ] = ()
    pins: Annotated[tuple[str, ...], _help("Ids of sessions pinned to the top of the browser.")] = ()


_DEFAULTS = Settings()
_TABLES: dict[str, type[ProviderSettings | McpServerSettings]] = {
    "providers": ProviderSettings,
    "mcp_servers": McpServerSettings,
}


def names() -> tuple[str, ...]:
    """Return the names of all settings, in display order."""
    return Settings.__struct_fields__


@cache
def _fields() -> dict[str, msgspec.structs.FieldInfo]:
    """Return the settings with their types, cached: evaluating them takes longer than reading a file."""
    return {field.name: field for field in msgspec.structs.fields(Settings)}


def describe_setting(name: str) -> str:
    return str(_meta(name).description)


def _meta(name: str) -> msgspec.Meta:
    (meta,) = [part for part in _fields()[name].type.__metadata__ if isinstance(part, msgspec.Meta)]
    return meta


def validate(name: str, value: Any) -> Any:
    """Return the converted value of a setting. Raises ValueError with the valid values."""
    if value == "" and _fields()[name].default is None:
        return None  # TOML has no null
    if is_table(name) and not isinstance(value, dict):
        raise ValueError(f"{name} must be {describe_type(name)}, not {format_value(value)}")
    try:
        return msgspec.convert(value, _fields()[name].type, strict=True)
    except msgspec.ValidationError:
        raise ValueError(f"{name} must be {describe_type(name)}, not {format_value(value)}") from None


def is_table(name: str) -> bool:
    """Return whether a setting is a table whose items are validated one by one."""
    return name in _TABLES


def validate_table(setting: str, name: str, value: Any) -> ProviderSettings | McpServerSettings:
    """Validate one table of ``providers`` or ``mcp_servers``. Raises ValueError with the reason."""
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


def _plain(text: str, noun: str, kind: type[msgspec.Struct]) -> str:
    """Reword a msgspec error in terms of the settings file."""
    missing = re.fullmatch(r"Object missing required field `(\w+)`", text)
    if missing:
        return f"{missing[1]} is missing"
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL)
    if unknown:
        known = ", ".join(kind.__struct_fields__)
        return f"unknown field {unknown[1]!r}; {noun} has {known}"
    place = re.fullmatch(r"(.*) - at `\$\.(.*)`", text, re.DOTALL)
    return f"{place[2]}: {place[1]}" if place else text


def describe_type(name: str) -> str:
    """Describe the valid values of a setting."""
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
    """Format a value for a message, truncated."""
    text = toml_text(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def parse_value(name: str, text: str) -> Any:
    """Parse a value from the command line or the environment. Raises ValueError if it is invalid."""
    kind = _fields()[name].type.__origin__
    if is_table(name):
        raise ValueError(f"{name} cannot be set in one line; write [{name}.NAME] into the file")
    if kind is bool:
        known = {"true": True, "yes": True, "on": True, "1": True}
        known |= {"false": False, "no": False, "off": False, "0": False}
        return validate(name, known.get(text.strip().lower(), text))
    if kind is int:
        digits = text.strip().replace("_", "")
        return validate(name, int(digits) if digits.isdecimal() and len(digits) < 19 else text)
    if kind == tuple[str, ...]:
        return validate(name, [part for part in text.replace(",", " ").split() if part])
    return validate(name, text)


def parse_values(name: str, texts: Sequence[str]) -> Any:
    """Like :func:`parse_value`, for the words of a command: an item of a list may have blanks."""
    if _fields()[name].type.__origin__ != tuple[str, ...]:
        return parse_value(name, " ".join(texts))
    return validate(name, [part for text in texts for part in map(str.strip, text.split(",")) if part])


def toml_text(value: Any) -> str:
    """Format a value as TOML; None is an empty string."""
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
            # JSON escapes are valid in TOML; only DEL, which JSON does not escape, needs one more.
            import json  # noqa: PLC0415  reading settings needs none

            text = json.dumps(value if isinstance(value, str) else str(value), ensure_ascii=False)
            return "".join(
                char
                if (char >= " " and char != "\x7f" and not "\ud800" <= char <= "\udfff")
                else f"\\u{ord(char):04X}"
                for char in text
            )


def template() -> str:
    """Return a settings file with every setting commented out and described."""
    parts = ["# Settings of branchline. A line without # in front is in force.\n"]
    for name in _fields():
        default = getattr(_DEFAULTS, name)
        parts.append(f"\n# {describe_setting(name)}\n# {name} = {toml_text(default)}\n")
    return "".join(parts)
