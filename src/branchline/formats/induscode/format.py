"""induscode's session format: detection, reading and writing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from branchline.context import ContextMessage, ContextRules, milliseconds
from branchline.entries import BashExecution, Damaged, Entry, Header, UnknownMessage, json_codec, splice
from branchline.formats.entry_log import EntryLog
from branchline.formats.induscode.home import InduscodeHome
from branchline.formats.induscode.log_index import InduscodeLogIndex
from branchline.formats.induscode.reader import FAMILY, ORIGIN, InduscodeReader
from branchline.formats.induscode.records import to_entry
from branchline.formats.induscode.writer import InduscodeWriter
from branchline.formats.lines import head_lines
from branchline.formats.protocol import Format, FormatReader, FormatTraits, FormatWriter, LinkFields
from branchline.formats.suffixes import NDJSON

__all__ = ["INDUSCODE"]

_BOM = b"\xef\xbb\xbf"
_HEAD_LINES = 8  # lines that may be damaged before the first conclusive one
_START = re.compile(rb'\s*\{"schema":"indus/transcript@')
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def _as_sent(messages: list[ContextMessage]) -> list[ContextMessage]:
    return [
        item
        for item in messages
        if not isinstance(message := item.message, UnknownMessage)
        and not (isinstance(message, BashExecution) and message.exclude_from_context)
    ]


TRAITS = FormatTraits(
    name="induscode",
    suffix=NDJSON,
    file_patterns=("*/*.ndjson",),
    links=LinkFields("prev", "", ""),
    compaction_embeds_tail=True,
    unsupported={
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
    },
)


class InduscodeFormatReader(FormatReader[InduscodeLogIndex]):
    """Reads induscode sessions."""

    log_reader = InduscodeReader
    context_rules = ContextRules(finish=_as_sent)
    """Messages of other roles, and shell commands excluded from the context, are omitted."""

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize the schema that every line names; an empty file is recognized by its name."""
        data = head.removeprefix(_BOM)
        if not data or data.isspace():
            return path.endswith(NDJSON)
        for line in head_lines(head, _HEAD_LINES):
            if _START.match(line):
                return True
            if fields := json_codec.loads_object(line):
                schema = fields.get("schema")
                return isinstance(schema, str) and (schema == ORIGIN or schema.startswith(FAMILY))
        return False

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """Return the header implied by the file name; only the parent of a fork made here is in the file."""
        del whole
        reader = self.log_reader(path)
        line = head.partition(b"\n")[0]
        if ORIGIN.encode() in line:
            reader.feed(line + b"\n", len(line) + 1)
        return reader.reading.header

    def decode(self, line: bytes, index: InduscodeLogIndex, position: int) -> Entry:
        tree = index.tree
        key = tree.keys[position]
        parent = tree.parent(key)
        if position in tree.placeholders:
            return Damaged(id=key, parent=parent, text=line.decode("utf-8", "replace"))
        return to_entry(line, key, parent)


class InduscodeFormatWriter(FormatWriter[InduscodeLogIndex]):
    """Appends to induscode sessions without rewriting them."""

    def session_id(self, fresh: str, timestamp: str) -> str:
        """Return the time and eight pseudo-random digits in base 36; it is also the file name."""
        digest = hashlib.sha256(fresh.encode("utf-8", "surrogatepass")).digest()
        chance = int.from_bytes(digest[:8], "big") % 36**8
        return f"s_{_base36(milliseconds(timestamp) or 0)}_{_base36(chance):0>8}"

    def encode_header(self, header: Header) -> bytes:
        """Return nothing, or a line that names the parent: an induscode session begins with its first entry.

        induscode skips lines of another schema, and drops them when it branches.
        """
        if header.parent_session is None:
            return b""
        return json_codec.dumps({"schema": ORIGIN, "parent": header.parent_session}) + b"\n"

    def encode(self, entries: Sequence[Entry], index: InduscodeLogIndex) -> bytes:
        return InduscodeWriter(index, TRAITS.unsupported_error).encode(entries)

    def fork(self, transcript: EntryLog[InduscodeLogIndex], leaf: int, header: Header) -> bytes:
        """Return the entries of the path, without a head line."""
        return b"".join([self.encode_header(header), *_path_lines(transcript, leaf)])

    def copy(self, transcript: EntryLog[InduscodeLogIndex], header: Header) -> bytes:
        reading = transcript.reading
        start = reading.header_end + 1 if reading.header_line else 0
        data = self.encode_header(header) + transcript.bytes_between(start, None)
        return data if data.endswith(b"\n") or not data else data + b"\n"


INDUSCODE = Format(
    traits=TRAITS, reader=InduscodeFormatReader(), writer=InduscodeFormatWriter(), home=InduscodeHome()
)


def _path_lines(transcript: EntryLog, leaf: int) -> Iterator[bytes]:
    """Yield the lines of a path, relinked where one is unreadable or two share an id."""
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
