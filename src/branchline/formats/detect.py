"""Which program wrote a file, told from its first bytes.

Most files are pi's or our own and say so in their first line; then no other format is even loaded. All others
are asked in turn, those that are easily told first. Formats of other packages are asked, and even looked for,
only when none of ours knows a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

from branchline.errors import NotASession
from branchline.formats.installed import detects, installed_formats
from branchline.formats.pi import PI
from branchline.formats.protocol import Format

__all__ = [
    "BUILTIN_FORMATS",
    "RETIRED_STORES",
    "BuiltinFormat",
    "builtin_formats",
    "detect",
    "format_named",
    "formats",
    "is_retired_store",
]


class BuiltinFormat(NamedTuple):
    """A program whose format comes with branchline, as much as is known of it without loading the format."""

    name: str
    module: str
    constant: str
    folders: tuple[str, ...]
    """Below home; where none of these is there, the program has kept nothing."""
    variables: tuple[str, ...] = ()
    """Those that say where else it keeps things."""
    begins: bytes = b""
    """How most of its files begin, and none of the others': then it is asked before them."""

    def load(self) -> Format:
        found = getattr(import_module(f"branchline.formats.{self.module}"), self.constant)
        assert isinstance(found, Format)
        return found


BUILTIN_FORMATS = (
    BuiltinFormat(
        "induscode",
        "induscode",
        "INDUSCODE",
        (".pindusagi",),
        ("INDUSAGI_CODING_AGENT_DIR", "INDUSAGI_HOME"),
        begins=b'{"schema":"indus/transcript@',
    ),
    BuiltinFormat("operator", "operator", "OPERATOR", (".operator",)),
    BuiltinFormat(
        "oh-my-pi",
        "oh_my_pi",
        "OH_MY_PI",
        (".omp",),
        ("PI_CODING_AGENT_DIR", "PI_CONFIG_DIR", "OMP_PROFILE", "PI_PROFILE", "XDG_DATA_HOME"),
        begins=b'{"type":"title","v":',
    ),
    BuiltinFormat(
        "piglet",
        "piglet",
        "PIGLET",
        (".config/piglet",),
        ("XDG_CONFIG_HOME",),
        begins=b'{"type":"meta","ts":',
    ),
    BuiltinFormat(
        "zot",
        "zot",
        "ZOT",
        (".local/state/zot", "Library/Application Support/zot"),
        ("ZOT_HOME", "XDG_STATE_HOME", "LOCALAPPDATA"),
        begins=b'{"type":"meta","meta":{',
    ),
    BuiltinFormat("codex", "codex", "CODEX", (".codex",), ("CODEX_HOME",), begins=b'{"timestamp":"'),
    BuiltinFormat(
        "claude-code",
        "claude_code",
        "CLAUDE_CODE",
        (".claude",),
        ("CLAUDE_CONFIG_DIR",),
        begins=b'{"parentUuid":',
    ),
)

RETIRED_STORES = "a store of pi's library 0.84 to 0.87, whose format was withdrawn; it is not supported"
_GIVEN_UP = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"v"\s*:\s*4\s*,\s*"kind"\s*:\s*"header"')

_LOOKED_AT = 8192
_TEXT = rb'"[^"\\]*"'
_NATIVE_HEADER = re.compile(
    rb'\{"type":"session","version":[23],"id":%b,"timestamp":%b,"cwd":%b(?:,"parentSession":%b)?\}\r?\n'
    % (_TEXT, _TEXT, _TEXT, _TEXT)
)
# Children of pi keep its header. What they add to it stands in lines that begin otherwise, early or never. A
# type that is cut off where looking ends tells nothing: asking all formats would load them all.
_A_CHILD_OF_PI = re.compile(
    rb'\n\{"type":"(?!message"|label"|leaf"|usage"|custom"|custom_message"|compaction"|branch_summary"|'
    rb'session_info"|thinking_level_change"|context_edit"|model_change"[^\n]*"modelId")[^"\n]*"'
)


@cache
def _loaded(program: BuiltinFormat) -> Format:
    return program.load()


def builtin_formats() -> Iterator[Format]:
    """The formats that come with branchline, in the order in which they are asked; none is loaded before."""
    yield from map(_loaded, BUILTIN_FORMATS)
    yield PI


def formats() -> tuple[Format, ...]:
    """Every format that is known: those that come with branchline, then those of installed packages."""
    return (*builtin_formats(), *installed_formats().formats)


def format_named(name: str) -> Format:
    """The format of this name. ValueError, with the names there are, when it is none."""
    if name == PI.name:
        return PI
    for program in BUILTIN_FORMATS:
        if program.name == name:
            return program.load()
    for format_ in installed_formats().formats:
        if format_.name == name:
            return format_
    names = ", ".join(sorted(format_.name for format_ in formats()))
    raise ValueError(f"there is no format {name!r}; known are {names}")


def detect(head: bytes, path: str, *, expected: Format | None = None) -> Format:
    """The format of a file that begins with these bytes. NotASession when no format knows it, and why.

    ``expected`` is asked first: the format of the program in whose folder the file lies.
    """
    if expected is not None and expected.sniff(head, path):
        return expected
    if _is_surely_native(head[:_LOOKED_AT], path):
        return PI
    for program in BUILTIN_FORMATS:
        if program.begins and head.startswith(program.begins) and _loaded(program).sniff(head, path):
            return _loaded(program)
    for format_ in builtin_formats():
        if format_.sniff(head, path):
            return format_
    for format_ in installed_formats().formats:
        if detects(format_, head, path):
            return format_
    if not head:
        raise NotASession(f"{path} is empty, not a session")
    if is_retired_store(head):
        raise NotASession(f"{path} is {RETIRED_STORES}")
    tried = ", ".join(format_.name for format_ in formats())
    broken = "".join(
        f"; the format {one.name!r} is broken: {one.reason}" for one in installed_formats().broken
    )
    raise NotASession(f"{path} is not a session of any known program (tried: {tried}{broken})")


def is_retired_store(head: bytes) -> bool:
    """Whether a file that begins like this is a store of which pi itself has let go."""
    return _GIVEN_UP.match(head) is not None


def _is_surely_native(head: bytes, path: str) -> bool:
    return (
        _NATIVE_HEADER.match(head) is not None
        and _A_CHILD_OF_PI.search(head) is None
        and "/.omp/" not in path
        and "/omp/" not in path
    )
