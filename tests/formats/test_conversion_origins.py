"""A session of another program that went through the native format comes back as it was, byte for byte."""

from __future__ import annotations

import json

import pytest

from branchline.conversion import convert
from branchline.conversion.origin import Origin, origin_of, with_origin
from branchline.entries import Header, decode_entry, json_codec
from branchline.formats import OH_MY_PI, OPERATOR, PI, PIGLET, ZOT
from branchline.session import Session
from formats.conversion_kit import APPENDABLE, HEADER, TARGETS, read, said, samples, written

FOREIGN = [name for name in APPENDABLE if name != "pi"]
OTHER = Header(
    id="01990000-0000-7000-8000-000000000002", version=3, timestamp="2031-01-01T00:00:00.000Z", cwd="/x"
)


def healthy(program):
    """A sample of a program with several branches or turns and no damage."""
    for path in samples(program):
        found = read(path.read_bytes(), name=str(path))
        if not found.findings and len(found.tree) > 6:
            return path.read_bytes(), found
    raise AssertionError(program)


# -- the whole file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", FOREIGN)
def test_every_sample_comes_back_byte_for_byte_damage_included(program):
    for path in samples(program):
        if "older" in path.parts:
            continue  # a store that is only read comes back in the form of today
        data = path.read_bytes()
        source = read(data, name=str(path))
        if source.reading.is_superseded:
            continue  # Operator's older store is rewritten in the present form
        native = convert(source, PI, HEADER).data

        back = convert(read(native, PI), TARGETS[program], OTHER, exact=True)

        assert back.data == data, path
        assert not back.fidelity.lost


@pytest.mark.parametrize("program", FOREIGN)
def test_a_native_session_made_of_a_foreign_one_is_healthy_and_says_the_same(program):
    for path in samples(program):
        source = read(path.read_bytes(), name=str(path))

        native = read(convert(source, PI, HEADER).data)

        assert native.format is PI
        assert not native.findings, path
        assert native.leaf is None or native.leaf in source.tree.path(source.leaf)
        assert said(native) == said(source) or program == "oh-my-pi"


def test_a_native_session_comes_back_when_it_only_was_copied():
    data = (
        PI.writer.encode_header(HEADER)
        + b'{"type":"custom","customType":"x","id":"a","parentId":null,"timestamp":""}\n'
    )

    assert convert(read(data, PI), PI, OTHER, exact=True).data == data


def test_the_header_is_a_new_one_unless_the_old_one_is_asked_for():
    data, source = healthy("operator")
    native = convert(source, PI, HEADER).data

    fresh = convert(read(native, PI), OPERATOR, OTHER)

    header = written(fresh.data, OPERATOR).reading.header
    assert header is not None
    assert (header.id, header.cwd) == (OTHER.id, OTHER.cwd)
    assert fresh.data.split(b"\n")[1:] == data.split(b"\n")[1:]


@pytest.mark.parametrize("program", FOREIGN)
def test_entries_come_back_as_their_own_lines_under_a_new_header_too(program):
    _, source = healthy(program)
    native = convert(source, PI, HEADER).data

    made = convert(read(native, PI), TARGETS[program], OTHER)

    found = written(made.data, TARGETS[program])
    old = {
        source.raw(position)
        for position in range(len(source.tree))
        if source.tree.types[position] == "message"
    }
    new = {
        found.raw(position) for position in range(len(found.tree)) if found.tree.types[position] == "message"
    }
    assert old == new
    assert not found.findings
    assert said(found) == said(source)


@pytest.mark.parametrize("program", FOREIGN)
def test_the_lines_of_a_path_come_back_as_they_were(program):
    _, source = healthy(program)
    leaf = source.tree.nearest_conversation_entry(source.reading.leaf)
    native = convert(source, PI, HEADER, leaf=leaf).data

    made = convert(read(native, PI), TARGETS[program], OTHER)

    found = written(made.data, TARGETS[program])
    old = [
        source.raw(position)
        for position in source.tree.path_positions(leaf)
        if source.tree.types[position] == "message"
    ]
    new = [
        found.raw(position) for position in range(len(found.tree)) if found.tree.types[position] == "message"
    ]
    assert new == old


# -- what was changed since -------------------------------------------------------------------------------


@pytest.mark.parametrize("program", FOREIGN)
def test_what_is_added_goes_along(program):
    data, source = healthy(program)
    with Session.in_memory(data=convert(source, PI, HEADER).data) as session:
        session.append_message("and one more question")

        back = convert(session.transcript, TARGETS[program], OTHER, exact=True)

    assert back.data.startswith(data)
    assert said(written(back.data, TARGETS[program]))[-1][1][-1] == ("words", "and one more question")


def test_an_entry_that_somebody_changed_is_written_anew():
    _, source = healthy("operator")
    native = convert(source, PI, HEADER).data
    lines = native.split(b"\n")
    number, line = next((n, line) for n, line in enumerate(lines) if b'"role":"user"' in line)
    words = json.loads(line)["message"]["content"][0]["text"]
    lines[number] = line.replace(json_codec.dumps(words), b'"other words"', 1)

    back = convert(read(b"\n".join(lines), PI), OPERATOR, OTHER, exact=True)

    assert words.encode() not in back.data.split(b"\n")[number]
    assert b'"other words"' in back.data
    assert back.fidelity.restored == sum(b'"branchline"' in line for line in lines[1:]) - 1


def test_a_line_that_the_program_would_write_alike_is_not_kept_twice():
    with Session.in_memory("/x") as session:
        session.append_message("hello")
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "hi"}]})
        zot = convert(session.transcript, ZOT, HEADER).data

    native = convert(written(zot, ZOT), PI, OTHER).data

    assert b'"branchline"' not in b"\n".join(native.split(b"\n")[2:])


def test_several_results_in_one_line_are_one_line_again():
    for path in samples("operator"):
        source = read(path.read_bytes(), name=str(path))
        if getattr(source.reading, "inner", None):
            break
    native = read(convert(source, PI, HEADER).data, PI)

    lines = [origin_of(native.raw(position)) for position in range(len(native.tree))]

    assert any(origin is not None and origin.parts > 1 for origin in lines)
    assert any(origin is not None and origin.part for origin in lines)
    assert convert(native, OPERATOR, OTHER, exact=True).data == path.read_bytes()


def test_other_formats_do_not_get_lines_that_are_not_theirs():
    _, source = healthy("zot")
    native = read(convert(source, PI, HEADER).data, PI)

    made = convert(native, PIGLET, OTHER)

    assert made.fidelity.restored == 0
    assert said(written(made.data, PIGLET)) == said(source)


# -- the field --------------------------------------------------------------------------------------------


def test_the_field_stands_behind_all_others_and_readers_pass_over_it():
    line = b'{"type":"message","id":"a","parentId":null,"timestamp":"","message":{"role":"user","content":"x"}}\n'

    kept = with_origin(line, Origin(line=b'{"old":"\xc3\xa9"}', after=b"\r\n\n", parts=2))

    assert decode_entry(kept) == decode_entry(line)
    assert list(json.loads(kept))[-1] == "branchline"
    assert origin_of(kept) == Origin(line=b'{"old":"\xc3\xa9"}', after=b"\r\n\n", parts=2)


def test_bytes_that_are_no_text_are_kept_too():
    line = b'{"type":"custom","customType":"x","id":"a","parentId":null,"timestamp":""}\n'

    kept = with_origin(line, Origin(line=b"\xff\xfe words"))

    assert origin_of(kept) == Origin(line=b"\xff\xfe words")
    assert b" words" in kept  # who looks for secrets can see them


@pytest.mark.parametrize(
    "change",
    [
        (b'"id":"a"', b'"id":"b"'),
        (b'"hash":"', b'"hash":"0'),
        (b'"from":{', b'"from":[{'),
        (b"}}}", b"}}"),
    ],
)
def test_a_line_that_was_touched_has_no_origin(change):
    line = b'{"type":"custom","customType":"x","id":"a","parentId":null,"timestamp":""}\n'

    assert origin_of(with_origin(line, Origin(line=b"{}")).replace(*change)) is None


def test_an_older_version_of_a_format_comes_back_only_as_a_whole():
    old = (
        b'{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/x","title":"t"}\n'
        b'{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"hi"}}\n'
    )
    native = read(convert(read(old, OH_MY_PI), PI, HEADER).data, PI)

    assert convert(native, OH_MY_PI, OTHER, exact=True).data == old
    fresh = convert(native, OH_MY_PI, OTHER)
    assert fresh.fidelity.restored == 0
    assert not written(fresh.data, OH_MY_PI).findings
