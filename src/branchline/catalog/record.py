"""Facts about one session file, in the form that the catalog stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from branchline.stores import FileStamp, Read
from branchline.views.session_row import SessionRow

if TYPE_CHECKING:
    from branchline.catalog.documents import Document, Spending
    from branchline.tree import Tree

__all__ = [
    "CatalogFile",
    "FileRecord",
    "FileUpdate",
    "TextUpdate",
    "decode_record",
    "record_fields",
    "shape_hash",
    "tail_hash",
]


class FileRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The facts in a file, without those that only its location tells: the agent, a title elsewhere."""

    row: SessionRow
    format: str
    starter: str | None = None
    """For the session of a sub-agent: the session that started it."""
    has_header: bool = True
    deep: bool = True
    """Whether the whole file was read, or only its header."""


class CatalogFile(msgspec.Struct, frozen=True):
    """The entry of a file in the catalog."""

    id: int
    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    checked_ns: int
    """When the file was read, by the clock that stamps files."""
    consumed: int
    """Where the last whole line ended."""
    tail: bytes
    """A hash of the last bytes before that; empty where growth cannot be told from a rewrite."""
    indexed: int
    """Up to where the text is in the index; -1 where none of it is."""
    entries: int
    """How many entries of the tree were looked at for the index."""
    shape: bytes
    """A hash of the names of these entries."""
    record: bytes

    @property
    def stamp(self) -> FileStamp:
        """The state of the file when it was read."""
        return FileStamp(self.device, self.inode, self.size, self.modified_ns, self.changed_ns)

    def is_current(self, stamp: FileStamp | None) -> bool:
        """Return whether the file with this stamp is the one that was read.

        A file that changed less than two seconds before it was read may have changed again without a new
        time, so it is read once more.
        """
        return self.stamp == stamp and self.changed_ns + _RACE_NS < self.checked_ns

    @property
    def is_indexed(self) -> bool:
        """Whether all text of the record is in the index."""
        return self.indexed == self.consumed

    def is_extended_by(self, read: Read, stamp: FileStamp) -> bool:
        """Return whether the file is the same, or only grew, since it was read.

        Another stamp without growth is that of a file that may have been edited in place.
        """
        grew = stamp.size > self.size or stamp == self.stamp
        return grew and self.tail != b"" and tail_hash(read, self.consumed) == self.tail

    def decoded(self) -> FileRecord:
        """Return the record."""
        return decode_record(self.record)


class TextUpdate(msgspec.Struct, frozen=True):
    """The text of a file from one entry on, for the index."""

    start: int
    """The first entry that is new; 0 replaces all text of the file."""
    entries: int
    consumed: int
    """The bytes of the log whose text is in the index then: not all of them before the last part."""
    shape: bytes
    documents: list[Document]
    off_path: list[int] | None
    """The entries before ``start`` that are not on the active path; None if that has not changed."""
    spending: dict[int, Spending | None]
    """What entries shortly before ``start`` spent, where later lines may have changed that."""
    labels: dict[str, str]
    git_branch: str | None
    traits: frozenset[str]
    is_copy: bool = False
    """Whether it begins with entries of another session."""


class FileUpdate(msgspec.Struct, frozen=True):
    """The new catalog entry of a file that was read."""

    path: str
    stamp: FileStamp
    checked_ns: int
    consumed: int
    tail: bytes
    leaf: str | None
    record: FileRecord
    agent: str | None = None
    title: str | None = None
    """As lists show it, wherever it is kept."""
    base: int = -1
    """The id of the file that this one only extends; -1 where it was rewritten or is new."""
    text: TextUpdate | None = None
    reading: bytes | None = None
    """The index of the log (:meth:`EntryLog.save`), so that only the tail of a file that grows is read."""

    @property
    def settled(self) -> bytes | None:
        """The packed stamp; None if the file may have changed since without a new one."""
        if self.stamp.changed_ns + _RACE_NS >= self.checked_ns:
            return None
        return self.stamp.packed or None


def shape_hash(tree: Tree, end: int) -> bytes:
    """Return a hash of the ids and types of the first entries of a tree."""
    import hashlib  # noqa: PLC0415  who only asks needs none

    found = hashlib.blake2b(digest_size=16)
    between = ""
    for names in (tree.keys, tree.types):
        for start in range(0, end, _AT_ONCE):  # the names of a long session take much memory
            text = between + "\n".join(names[start : min(end, start + _AT_ONCE)])
            found.update(text.encode("utf-8", "surrogatepass"))
            between = "\n"
    return found.digest()


def tail_hash(read: Read, end: int) -> bytes:
    """Return a hash of the last bytes before an offset."""
    import hashlib  # noqa: PLC0415  as above

    size = min(end, _TAIL)
    return hashlib.blake2b(read(end - size, size), digest_size=16).digest()


_AT_ONCE = 4096
_TAIL = 1024
_RACE_NS = 2_000_000_000
decode_record = msgspec.msgpack.Decoder(FileRecord).decode
"""``decode_record(data)``: a record as the catalog keeps it, from :func:`record_fields` in MessagePack."""
_NAMES = SessionRow.__struct_fields__
_OF_PLACES = frozenset({"agent", "expires_ms"})
"""Fields that the place of a file decides, whenever it is listed."""
_NO_DEFAULT = object()
_DEFAULTS = (
    *[_NO_DEFAULT] * (len(_NAMES) - len(SessionRow.__struct_defaults__)),
    *SessionRow.__struct_defaults__,
)


def record_fields(record: FileRecord) -> dict[str, Any]:
    """Return a record as plain values, without defaults, which take time to decode."""
    values = zip(_NAMES, msgspec.structs.astuple(record.row), _DEFAULTS, strict=True)
    row = {name: value for name, value, default in values if value != default and name not in _OF_PLACES}
    return msgspec.structs.asdict(record) | {"row": row}
