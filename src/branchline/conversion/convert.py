"""Convert a session from one agent's format to another's, with a fidelity report.

Conversions go through native records: each format decodes its lines to native records and encodes them again,
and no format imports another. An entry that the target rejects is offered in simpler forms. Written lines are
read back and compared, so the report describes the actual file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from branchline.conversion.converter import Conversion, ConversionJob
from branchline.conversion.entry_utils import missing_parts
from branchline.conversion.fidelity import Fidelity, Ledger
from branchline.conversion.finalize import finish
from branchline.conversion.new_file import NewFile
from branchline.conversion.origin_reader import origin_reader_for
from branchline.conversion.output_buffer import OutputBuffer
from branchline.conversion.plan import UNREADABLE
from branchline.conversion.whole_answers import with_whole_answers
from branchline.entries import Header, Leaf
from branchline.errors import DropsMessages, NotSupported
from branchline.formats.entry_log import EntryLog
from branchline.formats.pi import PI
from branchline.formats.protocol import Format
from branchline.tree import ROOT, Tree

__all__ = ["Converted", "branch_tips", "convert", "native_lines", "require_messages"]

_CHUNK = 256  # lines that are read together


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes of a new file, its header, and the fidelity report."""

    data: bytes
    header: Header
    fidelity: Fidelity
    branches_left: tuple[int, ...] = ()
    """The ends of branches that the file cannot hold along with the others."""


def convert(
    source: EntryLog, target: Format, header: Header, *, leaf: int | None = None, exact: bool = False
) -> Converted:
    """Convert the whole tree of a session, or the path to an entry, into a new file.

    ``leaf`` is a position in the source's tree, -1 an empty path. With ``exact``, a session that was
    converted from the target format gets its original header and, for unchanged entries, its original bytes
    back. Raises NotSupported if the target cannot be written.
    """
    if target.writer is None:
        raise NotSupported(f"sessions of {target.name} are read-only; choose a format that can be written")
    if source.format is target and not source.reading.is_superseded:
        return _copied(source, target, header, leaf, exact=exact)
    restorer = origin_reader_for(source, target, exact=exact and leaf is None)
    if restorer is None:
        source, leaf = with_whole_answers(source, leaf)
    job = ConversionJob(source, target, header, leaf, restorer)
    made = Conversion(job)
    if restorer is not None and (not made.has_same_parents() or made.dropped()):
        plain = Conversion(job._replace(restorer=None))
        if not made.has_same_parents() or len(plain.dropped()) < len(made.dropped()):
            made = plain
    if target.traits.rolls_back_turns and leaf is None and not made.placed_everything():
        made = Conversion(job._replace(leaf=made.plan.leaf, restorer=None))
        made.drop_branches()
    fidelity = made.ledger.close(
        source.format.name, target.name, len(source.findings), dropped=made.dropped()
    )
    left = _left_out(source, made) if leaf is None and target.traits.rolls_back_turns else ()
    return Converted(data=made.file.out.content(), header=made.header, fidelity=fidelity, branches_left=left)


def require_messages(made: Converted, name: str) -> None:
    """Raise DropsMessages if a new file, for the agent of this name, lacks messages of the path."""
    dropped = frozenset(made.fidelity.dropped)
    if not dropped:
        return
    counts: Counter[str] = Counter()
    for note in made.fidelity.lost:
        counts[note.why] += sum(key in dropped for key in note.entries)
    reasons = "; ".join(f"{number} × {reason}" for reason, number in counts.items() if number)
    number = len(dropped)
    noun = "message" if number == 1 else "messages"
    raise DropsMessages(f"{name} would lack {number} {noun} of the path ({reasons})")


def _left_out(source: EntryLog, made: Conversion) -> tuple[int, ...]:
    """Return the ends of the branches that are not in the new file."""
    kept = set(made.plan.order)
    return tuple(tip for tip in branch_tips(source) if tip not in kept)


def native_lines(source: EntryLog, leaf: int | None) -> Iterator[bytes]:
    """Yield the entries of a path, or (None) of all branches, as native lines without a header.

    Moves, and on a path also labels, are left out: the caller writes them.
    """
    header = Header(id="", version=3)
    made = Conversion(ConversionJob(source, PI, header, leaf, bare=True))
    yield made.file.out.content()[len(PI.required_writer().encode_header(header)) :]


def branch_tips(source: EntryLog) -> list[int]:
    """Return the last conversation entry of each branch."""
    tree = source.tree
    ends = {tree.nearest_conversation_entry(tip): None for tip in tree.tip_positions()}
    ends.pop(ROOT, None)
    return [end for end in ends if not _is_continued(tree, end)]


def _is_continued(tree: Tree, position: int) -> bool:
    """Whether there is a conversation entry below; the side records between are few."""
    waiting = tree.child_positions(position)
    while waiting:
        at = waiting.pop()
        if tree.nearest_conversation_entry(at) == at:
            return True
        waiting += tree.child_positions(at)
    return False


def _copied(source: EntryLog, target: Format, header: Header, leaf: int | None, *, exact: bool) -> Converted:
    """Copy or fork into a file of the same format."""
    ledger, tree = Ledger(source.tree), source.tree
    order = range(len(tree)) if leaf is None else tree.path_positions(leaf)
    images, gone = _images_apart(source, order)
    for position in order:
        if position in tree.placeholders:
            ledger.settle(position, lost=UNREADABLE)
        elif position in gone:
            ledger.settle(position, f"with a note in place of {gone[position]}")
        else:
            ledger.settle(position)
            ledger.restored += position not in images
    if exact and leaf is None and not images:
        data, header = source.bytes_between(0, None), source.reading.header or header
    else:
        data = (
            target.required_writer().copy(source, header)
            if leaf is None
            else _forked(source, target, header, leaf)
        )
    fidelity = ledger.close(target.name, target.name, len(source.findings))
    return Converted(data=data, header=header, fidelity=fidelity)


def _images_apart(source: EntryLog, order: Sequence[int]) -> tuple[set[int], dict[int, str]]:
    """Return the entries whose images the copy gets from other files, and those whose files are missing.

    Only a copy for pi: oh-my-pi reads such files itself.
    """
    images: set[int] = set()
    gone: dict[int, str] = {}
    parts = source.format.external_parts
    if parts is not None and source.format is PI:
        for start in range(0, len(order), _CHUNK):
            positions = order[start : start + _CHUNK]
            lines = source.raws(positions)
            images.update(at for at, line in zip(positions, lines, strict=True) if parts.mark in line)
            gone.update(missing_parts(source, positions, lines))
    return images, gone


def _forked(source: EntryLog, target: Format, header: Header, leaf: int) -> bytes:
    """Fork a path in the same format, with labels and title."""
    writer = target.required_writer()
    data = writer.fork(source, leaf, header)
    if (
        target.traits.splits_answers
    ):  # ids are derived from lines, so that the end of the path becomes the leaf
        out = OutputBuffer(target, data, target.home.file_key(header) + target.traits.suffix)
        end = out.transcript.leaf
        if end is not None:
            out.write([Leaf(id="end", parent=end, timestamp=header.timestamp, target=end)])
        return out.content()
    file = NewFile(source, target, header, writer.encode_header(header))
    file.adopt(data)
    finish(source, file, header, leaf, marks=target is PI)
    return file.out.content()
