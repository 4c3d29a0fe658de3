"""induscode's session format: where its files lie, how they are told apart, what can be written."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from branchline.context import ContextMessage, ContextRules, milliseconds
from branchline.entries import BashExecution, Damaged, Entry, Header, UnknownMessage, json_codec, splice
from branchline.formats.entry_log import EntryLog
from branchline.formats.induscode.log_index import InduscodeLogIndex
from branchline.formats.induscode.reader import FAMILY, ORIGIN, InduscodeReader
from branchline.formats.induscode.records import to_entry
from branchline.formats.induscode.writer import InduscodeWriter
from branchline.formats.lines import head_lines
from branchline.formats.protocol import Format, LinkFields, LogIndex
from branchline.formats.suffixes import NDJSON
from branchline.tree import ROOT

__all__ = ["INDUSCODE", "InduscodeFormat"]

_BOM = b"\xef\xbb\xbf"
_LOOKED_AT = 8  # lines that may be damaged before the first one that says whose file it is
_START = re.compile(rb'\s*\{"schema":"indus/transcript@')
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class InduscodeFormat(Format):
    """Sessions of induscode, appended to without ever rewriting one."""

    name = "induscode"
    suffix = NDJSON
    writable = True
    file_patterns = ("*/*.ndjson",)
    records_cwd = False
    links = LinkFields("prev", "", "")
    compaction_embeds_tail = True
    unsupported = {  # noqa: RUF012
        "label": "there are no labels",
        "session_info": "there is no title; the first prompt is shown instead",
        "model_change": "the model is named by each answer and nowhere else",
        "thinking_level_change": "the thinking level is not recorded",
        "custom": "the format has no place for extension data",
        "usage": "tokens are recorded only inside an answer",
        "context_edit": "messages cannot be edited for the model afterwards",
        "system": "the system prompt is not recorded",
        "kept entries": "a compaction starts a new root and must contain the kept messages",
        "half character": "a lone surrogate in a text makes induscode lose the file",
        "repeated id": "a later entry has the same id and hides this one",
    }

    # -- reading --------------------------------------------------------------------------------------

    def sniff(self, head: bytes, path: str) -> bool:
        """Every line names its schema; an empty file is known by its name."""
        data = head.removeprefix(_BOM)
        if not data or data.isspace():
            return path.endswith(NDJSON)
        for line in head_lines(head, _LOOKED_AT):
            if _START.match(line):
                return True
            try:
                fields = json_codec.loads(line)
            except ValueError:
                continue
            if isinstance(fields, dict) and fields:
                schema = fields.get("schema")
                return isinstance(schema, str) and (schema == ORIGIN or schema.startswith(FAMILY))
        return False

    def reader(self, path: str = "") -> InduscodeReader:
        return InduscodeReader(path)

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """The name of the file says all that a header would, but where a fork of ours comes from."""
        del whole
        reader = self.reader(path)
        line = head.partition(b"\n")[0]
        if ORIGIN.encode() in line:
            reader.feed(line + b"\n", len(line) + 1)
        return reader.reading.header

    def decode(self, line: bytes, reading: LogIndex, position: int) -> Entry:
        tree = reading.tree
        key = tree.keys[position]
        parent = None if tree.parents[position] == ROOT else tree.keys[tree.parents[position]]
        if position in tree.placeholders:
            return Damaged(id=key, parent=parent, text=line.decode("utf-8", "replace"))
        return to_entry(line, key, parent)

    def context_rules(self) -> ContextRules:
        """Messages of other roles, and commands that are not for the model, are left out."""
        return _RULES

    # -- writing --------------------------------------------------------------------------------------

    def encode(self, entries: Sequence[Entry], reading: LogIndex) -> bytes:
        assert isinstance(reading, InduscodeLogIndex)
        return InduscodeWriter(reading, self.unsupported_error).encode(entries)

    def encode_header(self, header: Header) -> bytes:
        """Nothing: a session begins with its first entry; or a line of our own that names its parent.

        induscode passes over lines of another schema, and loses them when it branches.
        """
        if header.parent_session is None:
            return b""
        return json_codec.dumps({"schema": ORIGIN, "parent": header.parent_session}) + b"\n"

    def fork(self, transcript: EntryLog, leaf: int, header: Header) -> bytes:
        """The entries of the path and no head."""
        return b"".join([self.encode_header(header), *_path_lines(transcript, leaf)])

    def copy(self, transcript: EntryLog, header: Header) -> bytes:
        reading = transcript.reading
        start = reading.header_end + 1 if reading.header_line else 0
        data = self.encode_header(header) + transcript.bytes_between(start, None)
        return data if data.endswith(b"\n") or not data else data + b"\n"

    # -- places ---------------------------------------------------------------------------------------

    def session_id(self, fresh: str, timestamp: str) -> str:
        """The time and eight digits of chance, to the base 36; it is also the name of the file."""
        digest = hashlib.sha256(fresh.encode("utf-8", "surrogatepass")).digest()
        chance = int.from_bytes(digest[:8], "big") % 36**8
        return f"s_{_base36(milliseconds(timestamp) or 0)}_{_base36(chance):0>8}"

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        return [os.path.join(_profile(environment, home), "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """Named after the working directory; different ones may share it."""
        slug = re.sub("[^A-Za-z0-9]+", "-", cwd).strip("-")
        return os.path.join(_profile(environment, home), "sessions", f"--{slug}--")


def _heard(messages: list[ContextMessage]) -> list[ContextMessage]:
    return [
        item
        for item in messages
        if not isinstance(said := item.message, UnknownMessage)
        and not (isinstance(said, BashExecution) and said.exclude_from_context)
    ]


_RULES = ContextRules(finish=_heard)

INDUSCODE = InduscodeFormat()


def _profile(environment: Mapping[str, str], home: str) -> str:
    for name in ("INDUSAGI_CODING_AGENT_DIR", "INDUSAGI_HOME"):
        if path := environment.get(name, "").strip():
            if path == "~" or path.startswith("~/"):
                path = home + path[1:]
            return os.path.abspath(path)
    return os.path.join(home, ".pindusagi")


def _path_lines(transcript: EntryLog, leaf: int) -> Iterator[bytes]:
    """The lines of a path as they are, re-chained where one could not be read or two share an id."""
    tree = transcript.tree
    previous: str | None = None
    for position in tree.path_positions(leaf):
        if position in tree.placeholders:
            continue
        line = transcript.raw(position)
        fields = json_codec.loads(line)
        wanted = {"id": tree.keys[position], "prev": previous}
        changes = {name: value for name, value in wanted.items() if fields.get(name) != value}
        yield (splice.set_fields(line, changes) if changes else line.rstrip(b"\r")) + b"\n"
        previous = tree.keys[position]


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
