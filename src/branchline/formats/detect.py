"""Which program wrote a file, told from its first bytes.

Most files are pi's or our own and say so in their first line; then no other format is even loaded. All others
are asked in turn, those that are easily told first.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

from branchline.errors import NotASession
from branchline.formats.base import Format
from branchline.formats.pi import PI

__all__ = ["detect", "formats"]

OTHERS = (
    ("induscode", "INDUSCODE"),
    ("operator", "OPERATOR"),
    ("oh_my_pi", "OH_MY_PI"),
    ("piglet", "PIGLET"),
    ("zot", "ZOT"),
    ("codex", "CODEX"),
    ("claude_code", "CLAUDE_CODE"),
)

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


def formats() -> tuple[Format, ...]:
    """Every format that is known, in the order in which they are asked."""
    return (*(_loaded(module, name) for module, name in OTHERS), PI)


@cache
def _loaded(module: str, name: str) -> Format:
    format_: Format = getattr(import_module(f"branchline.formats.{module}"), name)
    return format_


def detect(head: bytes, path: str) -> Format:
    """The format of a file that begins with these bytes. NotASession when no format knows it, and why."""
    if _is_surely_native(head[:_LOOKED_AT], path):
        return PI
    for module, name in OTHERS:  # none is loaded before it is asked
        if (format_ := _loaded(module, name)).sniff(head, path):
            return format_
    if PI.sniff(head, path):
        return PI
    if not head:
        raise NotASession(f"{path} is empty: there is no session in it")
    if _GIVEN_UP.match(head):
        raise NotASession(
            f"{path} is a store of pi's library 0.84 to 0.87, whose format was withdrawn; it is not supported"
        )
    tried = ", ".join(format_.name for format_ in formats())
    raise NotASession(f"{path} is not a session of any known program (tried: {tried})")


def _is_surely_native(head: bytes, path: str) -> bool:
    return (
        _NATIVE_HEADER.match(head) is not None
        and _A_CHILD_OF_PI.search(head) is None
        and "/.omp/" not in path
        and "/omp/" not in path
    )
