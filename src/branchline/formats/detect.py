"""Detects which agent wrote a file from its first bytes.

Most files are pi's or branchline's own, which the first line shows; then no other format is loaded. The
others are tried in turn, the easily recognized ones first. :mod:`branchline.plugins.formats` adds further
ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TypeGuard

import msgspec

from branchline._arguments import require_text
from branchline.entries import CONVERSATION_TYPES, SIDE_TYPES, json_codec
from branchline.errors import NotASession
from branchline.formats.pi import PI
from branchline.formats.pi.format import is_damaged_session
from branchline.formats.protocol import Format

__all__ = [
    "BUILTIN_FORMATS",
    "RETIRED_STORES",
    "BuiltinFormat",
    "agent_name",
    "builtin_format",
    "builtin_formats",
    "detect",
    "is_retired_store",
    "recognize",
    "unrecognized",
    "unsupported_program",
]


class BuiltinFormat(msgspec.Struct, frozen=True):
    """A built-in format, as far as it is known without loading it."""

    name: str
    folders: tuple[str, ...]
    """Folders below home; if none of them exists, the agent has stored nothing."""
    variables: tuple[str, ...] = ()
    """Environment variables that name other locations."""
    begins: bytes = b""
    """The unique start of most of its files, for which this format is tried first."""
    database_table: str = ""
    """A table that its SQLite databases have, if it stores sessions in databases."""
    documents: tuple[tuple[str, str], ...] = ()
    """What paths of sessions stored as documents contain, and how they end; other paths may match too."""
    document_keys: frozenset[bytes] = frozenset()
    """The first keys of documents that are recognized by their content, whatever their path is."""

    def load(self) -> Format:
        module = self.name.replace("-", "_")
        found = getattr(import_module(f"branchline.formats.{module}"), module.upper())
        assert isinstance(found, Format)
        return found


BUILTIN_FORMATS = (
    BuiltinFormat(
        "induscode",
        (".pindusagi",),
        ("INDUSAGI_CODING_AGENT_DIR", "INDUSAGI_HOME"),
        begins=b'{"schema":"indus/transcript@',
    ),
    BuiltinFormat("operator", (".operator",)),
    BuiltinFormat(
        "oh-my-pi",
        (".omp",),
        ("PI_CODING_AGENT_DIR", "PI_CONFIG_DIR", "OMP_PROFILE", "PI_PROFILE", "XDG_DATA_HOME"),
        begins=b'{"type":"title","v":',
    ),
    BuiltinFormat("piglet", (".config/piglet",), ("XDG_CONFIG_HOME",), begins=b'{"type":"meta","ts":'),
    BuiltinFormat(
        "zot",
        (".local/state/zot", "Library/Application Support/zot"),
        ("ZOT_HOME", "XDG_STATE_HOME", "LOCALAPPDATA"),
        begins=b'{"type":"meta","meta":{',
    ),
    BuiltinFormat("codex", (".codex",), ("CODEX_HOME",), begins=b'{"timestamp":"'),
    BuiltinFormat("copilot", (".copilot",), ("COPILOT_HOME",), begins=b'{"type":"session.start","data":{'),
    BuiltinFormat(
        "cline",
        (
            ".cline",
            ".config/Code",
            ".config/Code - Insiders",
            ".config/Cursor",
            ".config/Windsurf",
            ".config/VSCodium",
            "Library/Application Support/Code",
            "Library/Application Support/Code - Insiders",
            "Library/Application Support/Cursor",
            "Library/Application Support/Windsurf",
            "Library/Application Support/VSCodium",
            ".vscode-server",
        ),
        ("CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR", "APPDATA"),
        begins=b'{"cline":"',
        documents=(("sessions", ".json"), ("tasks", "api_conversation_history.json")),
    ),
    BuiltinFormat(
        "gemini",
        (".gemini",),
        ("GEMINI_CLI_HOME",),
        begins=b'{"sessionId":"',
        documents=(("chats", ".json"),),
        document_keys=frozenset(
            {b"sessionId", b"projectHash", b"startTime", b"lastUpdated", b"messages", b"kind", b"summary"}
        ),
    ),
    BuiltinFormat(
        "kimi", (".kimi-code",), ("KIMI_CODE_HOME",), begins=b'{"type":"metadata","protocol_version":'
    ),
    BuiltinFormat(
        "vibe",
        (".vibe",),
        ("VIBE_HOME",),
        begins=b'{"vibe":"',
        documents=(("unified", "CURRENT"),),
    ),
    BuiltinFormat("qwen", (".qwen",), begins=b'{"uuid":"'),
    BuiltinFormat("claude-code", (".claude",), ("CLAUDE_CONFIG_DIR",), begins=b'{"parentUuid":'),
    BuiltinFormat(
        "opencode",
        (".local/share/opencode",),
        ("XDG_DATA_HOME", "OPENCODE_DB"),
        begins=b'{"type":"session","version":3,"agent":"opencode",',
        database_table="part",
        document_keys=frozenset({b"info"}),
    ),
    BuiltinFormat(
        "llm",
        (".config/io.datasette.llm", "Library/Application Support/io.datasette.llm"),
        ("LLM_USER_PATH", "XDG_CONFIG_HOME"),
        begins=b'{"type":"session","version":3,"agent":"llm",',
        database_table="_llm_migrations",
    ),
    BuiltinFormat(
        "goose",
        (".local/share/goose",),
        ("GOOSE_PATH_ROOT", "XDG_DATA_HOME"),
        begins=b'{"type":"session","version":3,"agent":"goose",',
        database_table="schema_version",
        documents=(("/goose/sessions/", ".jsonl"),),
    ),
)

RETIRED_STORES = "a store of pi's library 0.84 to 0.87, whose format was withdrawn; it is not supported"
_AIDER = rb"(?:\xef\xbb\xbf)?\s*# aider chat started at "
_GIVEN_UP = rb'(?:\xef\xbb\xbf)?\s*\{\s*"v"\s*:\s*4\s*,\s*"kind"\s*:\s*"header"'

_HEAD_BYTES = 8192
_BOM = b"\xef\xbb\xbf"
_FIRST_LINES = 64
_DOCUMENT = rb"(?:\xef\xbb\xbf)?\s*[\[{][^\n]*[\[{,][ \t\r]*\n|(?:\xef\xbb\xbf)?\s*[\[{][ \t\r]*\n"
"""How one JSON document on many lines begins: its first line is open at the end."""
_DAMAGED_LINES = 4
_FIRST_TYPES = SIDE_TYPES | CONVERSATION_TYPES
_FIRST_TYPES |= {
    "session",
    "session_header",
    "title",
    "meta",
    "session_meta",
    "turn_context",
    "response_item",
    "event_msg",
}
_FIRST_TYPES |= {"user", "assistant", "system", "summary", "attachment", "file-history-snapshot"}
"""Types of the first line of a session; any other type belongs to another agent."""
_TEXT = rb'"[^"\\]*"'
_STRING = rb'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+(?:"|\\|(?=\n)|\Z)'
_SPACED = rb"(?:\A|\n)[ \t\r]*\{(?:[ \t\r]|%b(?:[ \t\r]|:[ \t\r]))" % _STRING
"""A line that another writer may have spelled with white space after its first brace, key or colon."""
_SPACES = (b'": ', b'" :', b"{ ", b'":\t', b'"\t:', b"{\t")
"""What is in such a line; finding one of these is much faster than the pattern."""
_SPACE = rb"(%b)|[ \t\r]+" % _STRING
_PROGRAM_TYPE = r"[A-Za-z_][A-Za-z0-9_.:/-]{0,63}"
_NATIVE_HEADER = (
    rb'\{"type":"session","version":[23],"id":%b,"timestamp":%b,"cwd":%b(?:,"parentSession":%b)?\}\r?\n'
    % (_TEXT, _TEXT, _TEXT, _TEXT)
)
# Descendants of pi keep its header and add lines of other types, early or never. A type that is truncated at
# the end of the head is ignored: trying all formats would load them all.
_A_CHILD_OF_PI = (
    rb'\n\{"type":"(?!message"|label"|leaf"|usage"|custom"|custom_message"|compaction"|branch_summary"|'
    rb'session_info"|thinking_level_change"|context_edit"|model_change"[^\n]*"modelId")[^"\n]*"'
    rb'|\n\{"id":"[^"\n]*","timestamp":-?\d'
)


@cache
def _loaded(program: BuiltinFormat) -> Format:
    return program.load()


def builtin_formats() -> Iterator[Format]:
    """Yield the built-in formats in the order in which they are tried; loaded on demand."""
    yield from map(_loaded, BUILTIN_FORMATS)
    yield PI


AGENT_ALIASES: Mapping[str, str] = {
    "claude": "claude-code",
    "claudecode": "claude-code",
    "omp": "oh-my-pi",
    "ohmypi": "oh-my-pi",
    "indus": "induscode",
    "native": "branchline",
}
"""Aliases of agents. Output uses the name on the right."""


def agent_name(name: str) -> str:
    """Return the canonical name of an agent, for a name or alias."""
    require_text("the name of an agent", name, empty=True)
    lowered = name.strip().lower()
    return AGENT_ALIASES.get(lowered.replace("_", "-"), lowered if lowered in builtin_agents() else name)


def builtin_agents() -> frozenset[str]:
    """Return the names of the agents whose sessions are read without plugins."""
    return frozenset({PI.name, "branchline", *(program.name for program in BUILTIN_FORMATS)})


def builtin_format(name: str) -> Format | None:
    """Return the built-in format of this name."""
    if name == PI.name:
        return PI
    return next((_loaded(program) for program in BUILTIN_FORMATS if program.name == name), None)


def recognize(head: bytes, path: str, *, expected: Format | None = None) -> Format | None:
    """Return the built-in format of a file that begins with these bytes, or None.

    ``expected`` is tried first: the format of the agent whose folder contains the file. A first line of JSON
    with damaged values is not conclusive: the next one decides. White space between the tokens of a line
    means nothing.
    """
    rest = head
    for _ in range(_DAMAGED_LINES):
        if (found := _recognize(rest, path, expected)) is not None:
            return found
        if (following := _after_damaged_line(rest)) is None:
            break
        rest = following
    return None


def _recognize(head: bytes, path: str, expected: Format | None) -> Format | None:
    if expected is not None and expected.reader.sniff(head, path):
        return expected
    if _is_surely_native(head[:_HEAD_BYTES], path):
        return PI
    for program in BUILTIN_FORMATS:
        if program.begins and head.startswith(program.begins) and _loaded(program).reader.sniff(head, path):
            return _loaded(program)
    if any(sign in head for sign in _SPACES) and re.search(_SPACED, head) is not None:
        head = re.sub(_SPACE, rb"\1", head)
    return next((format_ for format_ in builtin_formats() if format_.reader.sniff(head, path)), None)


def detect(head: bytes, path: str) -> Format:
    """Return the built-in format of a file with this beginning. Raises NotASession if there is none."""
    found = recognize(head, path)
    if found is None:
        raise unrecognized(head, path, tried=builtin_formats())
    return found


def unrecognized(head: bytes, path: str, *, tried: Iterable[Format], broken: str = "") -> NotASession:
    """Return the exception for a file that none of these formats recognizes."""
    if not head:
        return NotASession(f"{path} is empty, not a session")
    if is_retired_store(head):
        return NotASession(f"{path} is {RETIRED_STORES}")
    if (program := unsupported_program(head)) is not None:
        return NotASession(f"{path} is {program}, which branchline does not read")
    names = ", ".join(format_.name for format_ in tried)
    return NotASession(f"{path} is not a session of any known agent (tried: {names}{broken})")


def unsupported_program(head: bytes) -> str | None:
    """Describe the file of an unsupported agent; None if nothing indicates one.

    The first line with a type decides: an unknown type belongs to another agent.
    """
    if re.match(_AIDER, head) is not None:
        return (
            "a chat history of aider (its prompts and answers cannot be told apart from aider's own output)"
        )
    if re.match(_DOCUMENT, head) is not None:
        return None  # its lines are parts of one object, not records
    from branchline.formats.lines import head_lines  # noqa: PLC0415  not needed for known files

    for line in head_lines(head, _FIRST_LINES):
        fields = json_codec.loads_object(line)
        kind = None if fields is None else fields.get("type")
        if fields is None or not _names_a_type(kind) or is_damaged_session(kind):
            continue
        if kind not in _FIRST_TYPES:
            return f"a file of another program (its first line is of type {kind[:40]!r})"
        if kind == "session" and "timestamp" not in fields:
            return "a file of another program (its header is not one of pi's)"
        return None
    return None


def _after_damaged_line(head: bytes) -> bytes | None:
    """Return what follows a first line of unrecognized JSON; None if that line identifies an agent."""
    line, newline, rest = head.removeprefix(_BOM).lstrip(b"\r\n\t ").partition(b"\n")
    if not newline or not rest or is_retired_store(head):
        return None
    try:
        fields = json_codec.loads(line)
    except ValueError:
        return None  # every format skips it
    kind = fields.get("type") if isinstance(fields, dict) else None
    return None if _names_a_type(kind) and kind not in _FIRST_TYPES else rest


def _names_a_type(kind: object) -> TypeGuard[str]:
    """Return whether a program can have given this type to a line; any other value is damage."""
    return isinstance(kind, str) and re.fullmatch(_PROGRAM_TYPE, kind) is not None


def is_retired_store(head: bytes) -> bool:
    """Return whether a file that begins like this is a store that pi no longer supports."""
    return re.match(_GIVEN_UP, head) is not None


def _is_surely_native(head: bytes, path: str) -> bool:
    return (
        re.match(_NATIVE_HEADER, head) is not None
        and re.search(_A_CHILD_OF_PI, head) is None
        and "/.omp/" not in path
        and "/omp/" not in path
    )
