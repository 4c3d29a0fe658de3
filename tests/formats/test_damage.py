"""Damage is local: exactly the damaged records are missing, everything else is reachable, and it is said where."""

from __future__ import annotations

import json
import random
from typing import NamedTuple

import pytest

from branchline.entries import Damaged
from branchline.formats import EntryLog
from branchline.tree import ROOT
from support import CORPUS, transcript

# Ids that differ in more than one bit from each other, so that a flipped bit never makes one from another.
IDS = ["a0f5c396", "5b1e27d8", "c7d84a1f", "38429bee", "f66b90a5", "0d9d71b3", "92e7e64c", "6f30d57a"]


def session() -> list[bytes]:
    """A header, a chain with a branch, a label, a title and a custom record."""
    a, b, c, d, e, f, g, h = IDS

    def entry(kind: str, name: str, parent: str | None, **further: object) -> dict[str, object]:
        return {
            "type": kind,
            "id": name,
            "parentId": parent,
            "timestamp": f"2026-01-05T09:00:0{IDS.index(name)}.000Z",
            **further,
        }

    def said(role: str, text: str) -> dict[str, object]:
        return {"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1767603601000}

    lines = [
        {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-01-05T09:00:00.000Z", "cwd": "/p"},
        entry("message", a, None, message=said("user", "one ✓")),
        entry("message", b, a, message=said("assistant", "two")),
        entry("message", c, b, message=said("user", "three")),
        entry("label", d, c, targetId=a, label="mark"),
        entry("message", e, d, message=said("assistant", "four")),
        entry("message", f, b, message=said("user", "another branch")),
        entry("custom", g, f, customType="x", data={"k": [1, 2]}),
        entry("message", h, g, message=said("assistant", "five")),
    ]
    return [json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() for line in lines]


LINES = session()
WHOLE = b"".join(line + b"\n" for line in LINES)
PARENTS = {json.loads(line)["id"]: json.loads(line)["parentId"] for line in LINES[1:]}
LINE_OF = {json.loads(line)["id"]: line for line in LINES[1:]}


class Case(NamedTuple):
    """Changed bytes, and the lines (0 is the header) that the change touched."""

    data: bytes
    hurt: set[int]


def check(case: Case) -> EntryLog:
    """The laws of the damage matrix; returns what was read for further questions."""
    data = case.data
    found = transcript(data)
    tree = found.tree
    healthy = [IDS[number - 1] for number in range(1, len(LINES)) if number not in case.hurt]
    hurt = [IDS[number - 1] for number in case.hurt if number]

    # Every healthy record is there, byte for byte, and hangs where it hung.
    for name in healthy:
        assert name in tree, f"{name} is lost"
        assert found.raw(tree.position(name)).rstrip(b"\r") == LINE_OF[name]
    for name in healthy:
        parent = PARENTS[name]
        if parent in healthy or parent is None:
            assert tree.parent(name) == parent
        elif parent not in tree:
            kinds = {finding.kind for finding in found.findings if finding.line == line_of(found, name)}
            assert kinds & {"orphan", "guessed-link"}, f"{name} lost its parent silently"
            assert tree.parent(name) is None or "guessed-link" in kinds

    # Nothing is made up: no more other entries than hurt lines.
    assert len(tree) - len(healthy) <= len(case.hurt) + 1

    # Everything is reachable from a root, once.
    seen: list[str] = []
    waiting = tree.roots()
    while waiting:
        key = waiting.pop()
        seen.append(key)
        waiting += tree.children(key)
    assert sorted(seen) == sorted(tree.keys)

    # What is missing was reported, where it lies. (Lines that are gone whole, and changes that leave JSON in
    # good order, leave no trace; a checksum shows them.)
    lost = len(tree) - len(tree.placeholders) - len(healthy) < len(hurt)
    if (lost and not all(map(looks_whole, data.splitlines()))) or found.reading.header is None:
        assert found.findings
    for finding in found.findings:
        if finding.line and finding.size:
            assert data.count(b"\n", 0, finding.offset) + 1 == finding.line
            assert b"\n" not in data[finding.offset : finding.offset + finding.size]

    # Placeholders say what is left, and nothing decodes to an error.
    for position in range(len(tree)):
        entry = found.entry(position)
        assert isinstance(entry, Damaged) == (position in tree.placeholders)
    return found


def looks_whole(line: bytes) -> bool:
    try:
        fields = json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return not line.strip()
    return isinstance(fields, dict) and {"type", "id"} <= set(fields)


def line_of(found: EntryLog, name: str) -> int:
    return found.reading.line_of(found.tree.position(name))


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def line_at(offset: int) -> int:
    return WHOLE.count(b"\n", 0, offset)


# -- one kind of damage after the other -------------------------------------------------------------------


def test_the_undamaged_session_is_read_without_findings():
    found = check(Case(WHOLE, set()))

    assert found.findings == []
    assert found.tree.keys == IDS
    assert found.leaf == IDS[-1]


@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_at_any_byte_hurts_its_line_alone(bit):
    for offset in range(len(WHOLE)):
        data = bytearray(WHOLE)
        data[offset] ^= 1 << bit
        number = line_at(offset)
        # A flipped newline fuses its line with the next one.
        hurt = {number, number + 1} if WHOLE[offset] == 10 else {number}

        check(Case(bytes(data), hurt & set(range(len(LINES)))))


@pytest.mark.parametrize("size", [1, 2, 16, 100, 512])
@pytest.mark.parametrize("fill", [b"\0", b" ", b"\xff", b'"', b"{", b"}"], ids=repr)
def test_an_overwritten_block_at_any_place_hurts_the_lines_that_it_touches(size, fill):
    step = 1 if size < 16 else 7
    for offset in range(0, len(WHOLE) - size, step):
        data = WHOLE[:offset] + fill * size + WHOLE[offset + size :]
        first, last = line_at(offset), line_at(offset + size - 1)
        # A newline that is gone fuses the last line with the next one.
        hurt = set(range(first, last + 1 + (WHOLE[offset + size - 1] == 10)))

        check(Case(data, hurt & set(range(len(LINES)))))


def test_a_lost_block_at_any_place_hurts_the_lines_that_it_touches():
    for size in (1, 5, 64, 300):
        for offset in range(0, len(WHOLE) - size, 3):
            data = WHOLE[:offset] + WHOLE[offset + size :]
            first, last = line_at(offset), line_at(offset + size - 1)
            hurt = set(range(first, last + 1 + (WHOLE[offset + size - 1] == 10)))

            check(Case(data, hurt & set(range(len(LINES)))))


@pytest.mark.parametrize("number", range(1, len(LINES)))
def test_a_deleted_line_is_missing_alone_and_its_children_become_roots(number):
    found = check(Case(joined(LINES[:number] + LINES[number + 1 :]), {number}))

    name = IDS[number - 1]
    children = [child for child, parent in PARENTS.items() if parent == name]
    assert name not in found.tree
    assert [finding.kind for finding in found.findings] == ["orphan"] * len(children)
    assert set(children) <= set(found.tree.roots())


@pytest.mark.parametrize("one", range(1, len(LINES)))
@pytest.mark.parametrize("other", range(1, len(LINES)))
def test_swapped_lines_make_the_same_tree(one, other):
    lines = list(LINES)
    lines[one], lines[other] = lines[other], lines[one]

    found = check(Case(joined(lines), set()))

    assert {name: found.tree.parent(name) for name in found.tree} == PARENTS
    assert found.findings == []


@pytest.mark.parametrize("number", range(1, len(LINES)))
@pytest.mark.parametrize("place", range(1, len(LINES) + 1))
def test_a_line_that_stands_twice_is_shown_twice_and_hurts_nobody(number, place):
    lines = [*LINES[:place], LINES[number], *LINES[place:]]

    found = transcript(joined(lines))

    name = IDS[number - 1]
    assert sorted(found.tree.keys) == sorted([*IDS, f"{name}#2"])
    assert [finding.kind for finding in found.findings] == ["duplicate-id"]
    for child, parent in PARENTS.items():
        # A parent is meant to be the latest holder before the entry, else the first one after it.
        if child != name:
            assert found.tree.parent(child) in (parent, f"{parent}#2" if parent == name else parent)


@pytest.mark.parametrize("number", range(len(LINES) - 1))
@pytest.mark.parametrize("between", [b"", b" ", b"\0", b"\t\t", b"\r"], ids=repr)
def test_fused_lines_are_both_read(number, between):
    lines = [*LINES[:number], LINES[number] + between + LINES[number + 1], *LINES[number + 2 :]]

    found = check(Case(joined(lines), {number, number + 1}))

    assert found.tree.keys == IDS
    assert {name: found.tree.parent(name) for name in found.tree} == PARENTS
    assert found.reading.header is not None
    assert [(finding.kind, finding.line) for finding in found.findings] == [("glued", number + 1)]


def test_a_line_and_the_torn_beginning_of_the_next_are_one_entry_and_one_fragment():
    for cut in range(1, len(LINES[3])):
        lines = [*LINES[:2], LINES[2] + LINES[3][:cut], *LINES[4:]]

        found = check(Case(joined(lines), {2, 3}))

        assert IDS[1] in found.tree
        assert found.raw(found.tree.position(IDS[1])) == LINES[2]
        assert "glued" in [finding.kind for finding in found.findings]


def test_a_torn_line_and_the_whole_next_one_are_one_fragment_and_one_entry():
    for cut in range(1, len(LINES[2])):
        lines = [*LINES[:2], LINES[2][:cut] + LINES[3], *LINES[4:]]

        found = check(Case(joined(lines), {2, 3}))

        assert found.raw(found.tree.position(IDS[2])) == LINES[3]
        assert "glued" in [finding.kind for finding in found.findings]


def test_a_truncated_session_opens_at_every_byte():
    for cut in range(len(WHOLE) + 1):
        data = WHOLE[:cut]
        found = transcript(data)

        whole = data.count(b"\n")
        names = IDS[: max(0, whole - 1)]
        assert found.tree.keys[: len(names)] == names, cut
        assert len(found.tree) - len(names) <= 1
        assert found.reading.consumed == data.rfind(b"\n") + 1
        assert found.reading.unterminated == (not data.endswith(b"\n") and cut > 0)
        if cut == 0:
            assert [finding.kind for finding in found.findings] == ["empty"]
        if found.reading.unterminated:
            assert "no-final-newline" in [finding.kind for finding in found.findings]


def test_a_torn_entry_that_is_written_again_keeps_its_name_for_the_whole_one():
    for cut in range(1, len(LINES[3])):
        lines = [*LINES[:3], LINES[3][:cut], *LINES[3:]]

        found = transcript(joined(lines))

        assert found.raw(found.tree.position(IDS[2])) == LINES[3]
        assert found.tree.position(IDS[2]) not in found.tree.placeholders
        assert {name: found.tree.parent(name) for name in IDS} == PARENTS
        assert [(finding.kind, finding.line) for finding in found.findings] == [("unreadable", 4)]


def test_a_damaged_copy_of_a_line_does_not_take_the_children_of_the_whole_one():
    for cut in range(1, len(LINES[3])):
        lines = [*LINES[:4], LINES[3][:cut], *LINES[4:]]

        found = transcript(joined(lines))

        assert {name: found.tree.parent(name) for name in IDS} == PARENTS


# -- the header -------------------------------------------------------------------------------------------


def test_a_header_damaged_in_any_way_never_discards_the_rest():
    rng = random.Random(1)
    for _ in range(400):
        header = bytearray(LINES[0])
        for _ in range(rng.randint(1, 8)):
            header[rng.randrange(len(header))] = rng.choice(b'{}[]":,\0\xff 3x')

        found = check(Case(joined([bytes(header), *LINES[1:]]), {0}))

        assert {name: found.tree.parent(name) for name in IDS} == PARENTS


@pytest.mark.parametrize("header", [b"", b"{", b"null", b"\0" * 99, b'{"type":"session"}', b'{"type":"session","id":"s"}',
                                    b'{"type":"session","id":"s","version":1}', b'{"type":"sessio","id":"s"}'], ids=repr)  # fmt: skip
def test_ids_and_parents_of_the_entries_count_whatever_the_header_says(header):
    found = transcript(joined([header, *LINES[1:]]))

    assert {name: found.tree.parent(name) for name in IDS} == PARENTS
    assert found.findings


def test_a_version_1_session_that_lost_its_header_is_read_all_the_same():
    lines = (CORPUS / "pi" / "edge" / "v1.jsonl").read_bytes().splitlines()
    whole = transcript(joined(lines))

    found = transcript(joined([b"{damaged", *lines[1:]]))

    assert len(found.tree) == len(whole.tree)
    assert found.tree.types == whole.tree.types
    assert found.tree.parents == whole.tree.parents
    assert found.reading.read_only is not None
    assert [finding.kind for finding in found.findings] == ["unreadable", "no-header"]


def test_ids_of_version_1_stay_when_lines_are_added():
    lines = (CORPUS / "pi" / "edge" / "v1.jsonl").read_bytes().splitlines()
    whole = transcript(joined(lines)).tree.keys

    for count in range(1, len(lines)):
        assert transcript(joined(lines[:count])).tree.keys == whole[: count - 1]


def test_a_version_1_compaction_counts_readable_objects_that_are_no_entries():
    lines = (CORPUS / "pi" / "edge" / "v1.jsonl").read_bytes().splitlines()
    kept = kept_lines(joined(lines))

    again = kept_lines(joined([lines[0], b"{}", *lines[1:]]))

    # Index 3 is the fourth object of the file, and now that is the entry before.
    assert kept == [4]
    assert again == [4]


def kept_lines(data: bytes) -> list[int]:
    found = transcript(data)
    return [
        found.reading.line_of(found.tree.position(entry.first_kept))
        for entry in found.entries(range(len(found.tree)))
        if entry.type == "compaction" and entry.first_kept is not None
    ]


# -- gaps -------------------------------------------------------------------------------------------------


def test_a_child_whose_parent_was_lost_in_a_gap_hangs_from_the_nearest_readable_entry_before_it():
    lines = [*LINES[:2], b"\0" * 300, b"garbage", LINES[3], *LINES[4:]]

    found = transcript(joined(lines))

    assert found.tree.parent(IDS[2]) == IDS[0]
    assert found.tree.parent(IDS[5]) is None  # its parent was lost too, but no gap stands before it
    kinds = [(finding.kind, finding.line) for finding in found.findings]
    assert kinds == [("unreadable", 3), ("unreadable", 4), ("guessed-link", 5), ("orphan", 8)]


def test_a_gap_is_crossed_to_a_readable_entry_not_to_a_placeholder():
    placeholder = LINES[2][:120]
    lines = [*LINES[:2], placeholder, b"garbage", LINES[4], *LINES[5:]]

    found = transcript(joined(lines))

    assert found.tree.keys[:3] == [IDS[0], IDS[1], IDS[3]]
    assert found.tree.placeholders == {1}
    assert found.tree.parent(IDS[3]) == IDS[0]


def test_a_readable_line_of_any_kind_ends_a_gap():
    for ending in (b"null", b"{}", LINES[0], b'{"type":"message"}'):
        found = transcript(joined([*LINES[:2], b"garbage", ending, LINES[3]]))

        assert found.tree.parent(IDS[2]) is None, ending


def test_a_guess_never_closes_a_ring():
    lines = [
        LINES[0],
        b'{"type":"message","id":"x","parentId":"y"}',
        b"garbage",
        b'{"type":"message","id":"y","parentId":"lost"}',
    ]

    found = transcript(joined(lines))

    assert found.tree.parent("x") == "y"
    assert found.tree.parent("y") is None
    assert [finding.kind for finding in found.findings] == ["unreadable", "orphan"]


def test_a_placeholder_is_never_the_leaf():
    for cut in range(110, len(LINES[-1])):
        found = transcript(joined([*LINES[:-1], LINES[-1][:cut]]))

        assert found.leaf == IDS[5]
        assert found.reading.leaf == 6


# -- leaf entries -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [b'"lost"', b"5", b"[]", b"true"])
def test_a_leaf_entry_that_points_at_nobody_is_reported_and_its_parent_is_used(target):
    line = b'{"type":"leaf","id":"m","parentId":"%s","targetId":%s}' % (IDS[1].encode(), target)

    found = transcript(joined([*LINES, line]))

    assert found.leaf == IDS[1]
    assert [(finding.kind, finding.line) for finding in found.findings] == [("leaf-target", len(LINES) + 1)]


def test_a_leaf_entry_that_does_not_say_where_it_points_is_never_a_reset():
    for name in ("", "nothing"):
        entry = b'{"type":"message","id":"%s","parentId":null}' % name.encode()
        line = b'{"type":"leaf","id":"m","parentId":"%s","targetId":5}' % IDS[1].encode()

        found = transcript(joined([LINES[0], entry, *LINES[1:], line]))

        assert found.leaf == IDS[1]
        assert [finding.kind for finding in found.findings] == ["leaf-target"]


def test_ids_inside_custom_data_are_not_taken_for_those_of_a_damaged_entry():
    whole = b'{"type":"custom","customType":"x","data":{"id":"inner","parentId":null,"n":1},"id":"c1","parentId":"%s","timestamp":"t"}'
    line = whole % IDS[0].encode()

    for cut in range(len(line)):
        found = transcript(joined([LINES[0], LINES[1], line[:cut]]))

        assert "inner" not in found.tree
        assert len(found.tree) == 1 + (cut > line.index(b'"timestamp":') + len(b'"timestamp"'))


def test_a_leaf_entry_that_points_and_hangs_nowhere_leaves_the_leaf_where_it_was():
    line = b'{"type":"leaf","id":"m","parentId":null,"targetId":"lost"}'

    found = transcript(joined([*LINES, line]))

    assert found.leaf == IDS[-1]


def test_a_lost_target_is_reported_also_when_the_session_went_on():
    line = b'{"type":"leaf","id":"m","parentId":null,"targetId":"lost"}'

    found = transcript(joined([*LINES[:5], line, *LINES[5:]]))

    assert found.leaf == IDS[-1]
    assert [(finding.kind, finding.line) for finding in found.findings] == [("leaf-target", 6)]


def test_everything_hangs_together_under_random_damage_of_many_kinds():
    rng = random.Random(7)
    for _ in range(300):
        lines = list(LINES)
        for _ in range(rng.randint(1, 5)):
            place = rng.randrange(1, len(lines))
            match rng.randrange(6):
                case 0:
                    del lines[place]
                case 1:
                    lines.insert(place, rng.choice(lines))
                case 2:
                    lines[place] = lines[place][: rng.randrange(len(lines[place]) + 1)]
                case 3:
                    other = rng.randrange(1, len(lines))
                    lines[place], lines[other] = lines[other], lines[place]
                case 4:
                    lines[place : place + 2] = [b"".join(lines[place : place + 2])]
                case _:
                    lines.insert(place, rng.randbytes(20).replace(b"\n", b""))
            if len(lines) < 3:
                break
        found = transcript(joined(lines))

        tree = found.tree
        for position, parent in enumerate(tree.parents):
            assert parent == ROOT or 0 <= parent < len(tree)
            assert tree.path_positions(position)[-1] == position
            found.entry(position)
        whole = {line for line in lines if line in LINE_OF.values()}
        raw = {found.raw(position) for position in range(len(tree))}
        assert whole <= raw
