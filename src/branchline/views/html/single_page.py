"""A whole session in one HTML file: packing it, and extracting its lines.

The lines of the session are in chunks (gzip, base64) together with the HTML of their entries, each chunk in a
script element that no browser executes. A frame of a chunk is ``LINES LINE PIECE`` and a newline, the lines
up to and including the one of an entry, and the piece of that entry; the numbers say how many bytes the lines
have, where the entry's own line begins in them, and how many bytes the piece has. All lines together are the
session, byte for byte. The page's policy allows its own style and script by their hashes and nothing else.

The last element of a page is the SHA-256 of all bytes before it, except carriage returns, which transfers of
text add and remove. The page computes it as well (``page_check.js``); for that, ``head`` has the bytes before
the first script element once more, without the texts of style and noscript, which a browser keeps unparsed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import ParamSpec

import msgspec

from branchline.entries import json_codec
from branchline.errors import NotASession, TooLarge
from branchline.formats import EntryLog
from branchline.views.html.markup import EMPTY, Html, is_visible, join, template
from branchline.views.html.outline_columns import skeleton_columns
from branchline.views.html.page import bundle, session_body
from branchline.views.html.pieces import PieceOptions, PieceRenderer, day_heading
from branchline.views.humanize import count

__all__ = [
    "PackedFile",
    "Provenance",
    "packed_file",
    "packed_files",
    "packed_frames",
    "packed_lines",
    "page_provenance",
    "require_single_page",
    "single_page",
]

_CHUNK = 1 << 20
"""Bytes of lines in a chunk: few enough to be unpacked while a reader scrolls."""
_FIRST_CHUNK = 128
"""Entries in the first chunk, which a page unpacks before it shows anything."""
_LARGE = 32 << 20
"""Bytes of lines from which speed matters more than compression."""
_FIRST_ROWS, _FIRST_SIZE = 20, 24_000
_PREFIX = 32
_NEWLINE = ord("\n")

Read = Callable[[int, int], bytes]
P = ParamSpec("P")


class PackedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is extracted from a page unchanged."""

    name: str
    """Its path below the import directory."""
    size: int
    sha256: str


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a page; stored in the page."""

    branchline: str
    format: str
    session: str
    key: str
    """The name of the session's file, without its extension."""
    title: str
    created: str
    exported: str
    entries: int
    branches: int
    left_out: tuple[str, ...]
    """The omitted parts: other branches, tools, thinking, images …"""
    redacted: dict[str, int] | None
    """The number of replaced secrets by kind; None if redaction was off."""
    size: int
    sha256: str
    """Of the session's lines in the page."""
    files: tuple[PackedFile, ...] = ()
    """The documents that the lines were made from, if the agent keeps no lines; the session's own first."""
    masked: dict[str, int] | None = None
    """The number of masked local names by kind; None if the page is not portable."""
    digest: bool = False
    """Whether the page ends with a digest of everything that it shows; those of earlier releases do not."""


# -- writing ----------------------------------------------------------------------------------------------


def _with_digest(parts: Callable[P, Iterator[bytes]]) -> Callable[P, Iterator[bytes]]:
    """Let a page end with the digest of all its bytes."""

    @wraps(parts)
    def page(*arguments: P.args, **options: P.kwargs) -> Iterator[bytes]:
        digest = hashlib.sha256()
        for part in parts(*arguments, **options):
            digest.update(part)
            yield part
        yield b"%b%b</script>\n</body></html>\n" % (_DIGEST, digest.hexdigest().encode())

    return page


@_with_digest
def single_page(
    source: EntryLog,
    provenance: Provenance,
    *,
    leaf: str | None,
    facts: Sequence[str],
    markdown: str,
    static: Mapping[str, str],
    options: PieceOptions,
    files: Iterable[bytes] = (),
) -> Iterator[bytes]:
    """Yield the bytes of a page, which ends with their digest.

    ``static`` has the files of the directory ``static``, by name, ``files`` the contents of
    ``provenance.files``.
    """
    provenance = msgspec.structs.replace(provenance, digest=True)
    labels = source.reading.labels
    style, script = static["style.css"], bundle(static, "single.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    first = _first_part(source, leaf, options)

    def head(style: Html, without_script: Html) -> bytes:
        after = join((_provenance_block(provenance), _NOSCRIPT(without_script)))
        body = session_body(title=provenance.title, facts=facts, path=first, after=after)
        return _encoded(_HEAD(provenance.branchline, policy, provenance.title, style, body)).replace(
            b"\r", b""
        )

    yield head(Html(style), _AS_MARKDOWN(markdown))
    yield _data("provenance", json_codec.dumps(provenance, surrogates="replace"), "application/json")
    chunks = _chunks(source)
    yield _data("chunks", msgspec.json.encode([chunk.start for chunk in chunks]), "application/json")
    columns = skeleton_columns(source, leaf, labels=labels, home=options.home)
    level = 1 if provenance.size > _LARGE else 9
    yield _packed("skeleton", json_codec.dumps(columns, surrogates="replace"), level)
    packer = _Packer(source, options)
    for number, positions in enumerate(chunks):
        frames = packer.frames(positions, last=number == len(chunks) - 1)
        yield _packed(f"chunk-{number}", frames, level)
        if number == 0:
            yield _encoded(_SCRIPT(Html(script)))
    for number, content in enumerate(files):
        yield _packed(f"file-{number}", content, level)
    yield _packed("head", head(EMPTY, EMPTY), level)


_HEAD = template(
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="generator" content="branchline {}">\n'
    '<meta http-equiv="Content-Security-Policy" content="{}">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="referrer" content="no-referrer"><title>{}</title>\n'
    "<style>{}</style></head>\n<body>{}\n"
)
_SCRIPT = template("<script>{}</script>\n")
_NOSCRIPT = template("<noscript>{}</noscript>")
_AS_MARKDOWN = template('<pre class="as-markdown">{}</pre>')
_PROVENANCE = template(
    '<section class="prov" aria-labelledby="prov-title"><h2 id="prov-title">Where this comes from</h2>'
    "<dl>{}</dl></section>"
)
_ROW = template("<dt>{}</dt><dd>{}</dd>")
_CHECKED = Html('<dt>Changes</dt><dd id="page-check">not checked: that needs JavaScript, or branchline</dd>')
_MONO = template('<code class="mono">{}</code>')
_NODE = template('<div class="node">{}{}</div>\n')


def _provenance_block(known: Provenance) -> Html:
    replaced = known.redacted
    rows = [
        _ROW(
            "Made by", f"branchline {known.branchline}, {known.exported[:10]}, from a {known.format} session"
        ),
        _ROW(
            "Contains",
            f"{count(known.entries, 'entry', 'entries')}, {count(known.branches, 'branch', 'branches')}"
            + (f"; left out: {', '.join(known.left_out)}" if known.left_out else ""),
        ),
    ]
    if replaced is None:
        rows.append(_ROW("Replaced", "nothing: exported without redaction"))
    else:
        rows.append(_ROW("Replaced", _counts(replaced) or "nothing: no secrets found"))
    if known.masked is not None:
        rows.append(_ROW("Masked", _counts(known.masked) or "nothing: no local names found"))
    command, gives = "branchline import FILE", "the session as it is shown here, with the same entry ids"
    if known.files:
        command, gives = "branchline import FILE --dir DIR", count(len(known.files), "original file")
    elif replaced is None and known.masked is None and not known.left_out:
        gives = "the original session"
    rows += [
        _ROW("SHA-256", _MONO(known.sha256)),
        _CHECKED,
        _ROW("Get it back", join((_MONO(command), f" gives {gives}."))),
    ]
    return _PROVENANCE(join(rows))


def _counts(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {kind}" for kind, number in sorted(kinds.items()))


def _first_part(source: EntryLog, leaf: str | None, options: PieceOptions) -> Html:
    """The beginning of the path, for readers without JavaScript."""
    tree = source.tree
    whole = [tree.positions[key] for key in tree.conversation_path(leaf)]
    renderer = PieceRenderer(source, labels=source.reading.labels, options=options)
    path = whole[: 4 * _FIRST_ROWS]
    rows: list[Html] = []
    size, before = 0, ""
    for position, piece in zip(path, renderer.pieces(path, frozenset(whole)), strict=True):
        if not piece:
            continue
        size += len(piece)
        if len(rows) == _FIRST_ROWS or (rows and size > _FIRST_SIZE):
            break
        time = tree.times[position]
        rows.append(_NODE(day_heading(time, before), piece))
        before = time
    return join(rows)


class _Packer:
    """Builds the frames of chunks. Long texts of pieces are references to the lines beside them."""

    def __init__(self, source: EntryLog, options: PieceOptions) -> None:
        self._source = source
        self._renderer = PieceRenderer(
            source, labels=source.reading.labels, options=options, reference=self._reference
        )
        self._cursor = 0
        self._block = b""
        self._lines: dict[int, tuple[int, int]] = {}

    def frames(self, positions: range, *, last: bool) -> bytes:
        source, reading = self._source, self._source.reading
        start = self._cursor
        ranges = reading.ranges(positions)
        end = max([start, *(end for _begin, end in ranges)])
        block = self._block = source.bytes_between(start, end + 1)
        size = len(block)
        cuts: list[tuple[int, int, int]] = []
        cursor = 0
        lines = self._lines = {}
        for position, (begin, end) in zip(positions, ranges, strict=True):
            begins, stop = begin - start, end - start
            if begins < cursor:  # the line of an earlier entry too, or out of order
                cuts.append((0, 0, 0))
                continue
            lines[position] = begins, stop
            if stop < size and block[stop] == _NEWLINE:
                stop += 1
            cuts.append((cursor, stop, begins - cursor))
            cursor = stop
        self._cursor = start + cursor
        parts: list[bytes | memoryview] = []
        add = parts.append
        view = memoryview(block)
        for (begin, end, before), piece in zip(cuts, self._renderer.pieces(positions), strict=True):
            markup = piece.encode("utf-8", "replace")
            add(b"%d %d %d\n" % (end - begin, before, len(markup)))
            add(view[begin:end])
            if markup:
                add(markup)
        if last:
            rest = source.bytes_between(self._cursor, None)
            self._cursor += len(rest)
            parts += (b"%d 0 0\n" % len(rest), rest)
        return b"".join(parts)

    def _reference(self, position: int, text: str) -> int | None:
        line = self._lines.get(position)
        if line is None or not is_visible(text):
            return None
        try:
            literal = msgspec.json.encode(text)
        except (UnicodeError, msgspec.MsgspecError):
            return None
        # Most texts begin like no other string of their line: finding a long one as a whole takes longer.
        (start, stop), block = line, self._block
        at = block.find(literal[:_PREFIX], start, stop)
        if at >= 0 and not block.startswith(literal, at, stop):
            at = block.find(literal, at + 1, stop)
        return None if at < 0 else at - start


def _chunks(source: EntryLog) -> list[range]:
    """The entries of each chunk; one empty chunk if there are none."""
    chunks: list[range] = []
    first = held = 0
    for block in source.reading.blocks:  # blocks are decoded as a whole
        held += block.ends[-1]
        end = block.first + len(block.ends)
        if held >= _CHUNK:
            chunks.append(range(first, end))
            first, held = end, 0
    size = len(source.tree)
    if first < size or not chunks:
        chunks.append(range(first, size))
    begin, *rest = chunks
    if len(begin) > 2 * _FIRST_CHUNK:
        return [begin[:_FIRST_CHUNK], begin[_FIRST_CHUNK:], *rest]
    return chunks


def _data(name: str, content: bytes, kind: str) -> bytes:
    safe_content = content.replace(b"<", b"\\u003c")
    return b'<script type="%b" id="%b">%b</script>\n' % (kind.encode(), name.encode(), safe_content)


def _packed(name: str, content: bytes, level: int) -> bytes:
    content = binascii.b2a_base64(zlib.compress(content, level, 31), newline=False)
    return b'<script type="text/plain" id="%b">%b</script>\n' % (name.encode(), content)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()


# -- reading ----------------------------------------------------------------------------------------------

_GENERATOR = b'<meta name="generator" content="branchline '
_LOOKED_AT = 1024
_BLOCK = 1 << 20
_LARGEST_CHUNK = 1 << 29
_FRAME = re.compile(rb"(\d{1,12}) (\d{1,12}) (\d{1,12})\n")
_DIGEST = b'<script type="text/plain" id="digest">'
_LAST = re.compile(re.escape(_DIGEST) + rb"([0-9a-f]{64})</script>\s*</body></html>\s*\Z")
_LAST_SIZE = 1024


def require_single_page(head: bytes) -> None:
    """Raise NotASession if a file that begins like this is not a page that branchline exported."""
    if _GENERATOR not in head[:_LOOKED_AT]:
        raise NotASession("it is not a page that branchline exported")


def page_provenance(read: Read) -> Provenance:
    """Return the origin of a page. Raises NotASession if there is none."""
    return _provenance(_Elements(read))


def packed_lines(read: Read) -> Iterator[bytes]:
    """Yield the lines of the session in a page, byte for byte.

    Raises NotASession if the page is incomplete, if anything in it was changed, or if its lines do not match
    their SHA-256.
    """
    _require_unchanged(read)
    elements = _Elements(read)
    known = _provenance(elements)
    digest = hashlib.sha256()
    for lines, _piece in _frames(elements):
        digest.update(lines)
        yield lines
    if digest.hexdigest() != known.sha256:
        raise NotASession("its content does not match its SHA-256: the page was changed or is incomplete")


def packed_frames(read: Read) -> Iterator[tuple[bytes, bytes]]:
    """Yield the lines and the HTML of each entry in a page."""
    elements = _Elements(read)
    _provenance(elements)
    yield from _frames(elements)


def packed_file(name: str, content: bytes) -> PackedFile:
    """Describe a file that a page holds."""
    return PackedFile(name=name, size=len(content), sha256=hashlib.sha256(content).hexdigest())


def packed_files(read: Read, most: int) -> dict[str, bytes]:
    """Return the files that a page holds, by name; most pages hold none.

    Raises NotASession if anything in the page was changed, or if one of them does not match its description;
    TooLarge if they have more than ``most`` bytes.
    """
    _require_unchanged(read)
    elements = _Elements(read)
    known = _provenance(elements).files
    if sum(file.size for file in known) > most:
        raise TooLarge(f"its files have more than {most:,} bytes")
    found: dict[str, bytes] = {}
    for number, file in enumerate(known):
        packed = elements.find(b'<script type="text/plain" id="file-%d">' % number)
        try:
            content = zlib.decompressobj(31).decompress(
                binascii.a2b_base64(packed or b"", strict_mode=True), file.size + 1
            )
        except (binascii.Error, zlib.error):
            content = b""
        if packed_file(file.name, content) != file:
            raise NotASession(f"file {number + 1} of the page does not match its SHA-256")
        found[file.name] = content
    return found


def _require_unchanged(read: Read) -> None:
    """Raise NotASession if a page does not match its digest. Those of earlier releases have none."""
    digest, offset, held = hashlib.sha256(), 0, b""
    while block := read(offset, _BLOCK):
        offset += len(block)
        held += block.replace(b"\r", b"")
        digest.update(held[:-_LAST_SIZE])
        held = held[-_LAST_SIZE:]
    last = _LAST.search(held)
    if last is not None:
        digest.update(held[: last.start()])
        unchanged = digest.hexdigest().encode() == last[1]
    else:
        unchanged = not page_provenance(read).digest
    if not unchanged:
        raise NotASession("the page was changed after it was exported, or is incomplete; ask for it again")


def _provenance(elements: _Elements) -> Provenance:
    content = elements.find(b'<script type="application/json" id="provenance">')
    try:
        return msgspec.json.decode(content or b"", type=Provenance)
    except msgspec.MsgspecError:
        raise NotASession("it is not a page with a session that branchline exported") from None


def _frames(elements: _Elements) -> Iterator[tuple[bytes, bytes]]:
    number = 0
    while (content := elements.find(b'<script type="text/plain" id="chunk-%d">' % number)) is not None:
        yield from _unpacked(content, number)
        number += 1


def _unpacked(content: bytes, number: int) -> Iterator[tuple[bytes, bytes]]:
    damaged = NotASession(f"part {number + 1} of the page is damaged")
    unpacker = zlib.decompressobj(31)
    try:
        data = unpacker.decompress(binascii.a2b_base64(content, strict_mode=True), _LARGEST_CHUNK)
    except (binascii.Error, zlib.error):
        raise damaged from None
    at = 0
    while at < len(data):
        frame = _FRAME.match(data, at)
        if frame is None:
            raise damaged
        lines, piece = int(frame[1]), int(frame[3])
        middle = frame.end() + lines
        at = middle + piece
        if at > len(data):
            raise damaged
        yield data[frame.end() : middle], data[middle:at]
    if not unpacker.eof:
        raise damaged


class _Elements:
    """Finds the elements of a page in order. Text in a page is escaped, so it never looks like one."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._offset = 0
        self._buffer = b""

    def find(self, opening: bytes) -> bytes | None:
        """Return the content of the next element with this start tag; None if there is none."""
        if (start := self._search(opening, 0)) < 0:
            return None
        self._buffer = self._buffer[start + len(opening) :]
        if (end := self._search(b"</script>", 0)) < 0:
            return None
        content, self._buffer = self._buffer[:end], self._buffer[end:]
        return content

    def _search(self, words: bytes, start: int) -> int:
        while True:
            found = self._buffer.find(words, start)
            if found >= 0:
                return found
            start = max(0, len(self._buffer) - len(words))
            block = self._read(self._offset, _BLOCK)
            if not block:
                return -1
            self._offset += len(block)
            self._buffer += block
