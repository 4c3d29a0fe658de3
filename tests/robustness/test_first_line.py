"""Whose file it is: a damaged first line hides no session, and files of other programs are never taken for pi's."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from branchline import NotASession, ReadOnly, Session
from branchline.cli.app import cli
from branchline.formats import EntryLog, detect
from robustness.field_trials import SAMPLES, VALUES, Trial
from support import CORPUS

FOREIGN = sorted((CORPUS / "foreign").glob("*.jsonl"))
ENTRY = (
    '{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z",'
    '"message":{"role":"user","content":"hello"}}'
)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("format_name", SAMPLES)
def test_a_first_line_that_is_json_of_a_wrong_type_hides_no_session(format_name, value):
    for sample in SAMPLES[format_name][:6]:
        lines = sample.read_bytes().split(b"\n")
        if len([line for line in lines if line.strip()]) < 3:
            continue
        data = b"\n".join([VALUES[value].encode(), *lines[1:]])

        found = detect(data, sample.name)

        assert found.name in (format_name, "pi" if format_name == "oh-my-pi" else format_name), sample


@pytest.mark.parametrize("format_name", SAMPLES)
def test_a_wrong_value_in_a_field_of_the_first_line_hides_no_other_line(format_name):
    different = []
    for sample in [path for path in SAMPLES[format_name] if path.read_bytes().count(b"\n") >= 3][:2]:
        whole = lines_read(sample.read_bytes(), sample.name)
        fields = [place for number, place in Trial.places(sample) if number == 0 and len(place) == 1]
        for place, value in product(fields, VALUES):
            if (place, value) == (("type",), "a text"):
                continue  # an unknown word there is what other programs write
            trial = Trial(sample, 0, place, value)
            found = lines_read(trial.data(), sample.name)
            if found[0] != format_name or not whole[1] <= found[1] | {1, 2}:  # Codex names its thread in both
                different.append(f"{trial}: {found}")

    assert different == []


def lines_read(data: bytes, name: str) -> tuple[str, set[int]]:
    """The format of a file and the numbers of the lines that hold its entries."""
    log = EntryLog(detect(data, name), lambda offset, size: data[offset : offset + size], name)
    return log.format.name, {log.reading.line_of(place) for place in range(len(log.tree))}


@pytest.mark.parametrize("first", FOREIGN, ids=lambda path: path.stem)
@pytest.mark.parametrize("words", [["append", "FILE", "x"], ["append", "FILE", "x", "--force"], ["show", "FILE"],
                                   ["inspect", "FILE", "--json"], ["check", "FILE"], ["repair", "FILE"],
                                   ["name", "FILE", "x"], ["branch", "FILE", "e1"], ["fork", "FILE"]], ids=" ".join)  # fmt: skip
def test_a_file_of_another_program_is_refused_with_a_sentence_and_not_changed(
    first, words, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "file.jsonl"
    file.write_bytes(first.read_bytes())

    result = CliRunner().invoke(cli, ["file.jsonl" if word == "FILE" else word for word in words])

    assert result.exit_code == 1
    assert "another program" in result.output
    assert file.read_bytes() == first.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["file.jsonl"]


@pytest.mark.parametrize(
    "kind", ["session.start", "session_start", "user.message", "user/message", "start", "event"]
)
@pytest.mark.parametrize("time", ['"2026-01-05T09:00:00.000Z"', "1786073817"])
def test_a_first_line_of_a_type_that_pi_does_not_have_is_never_pi(kind, time):
    first = f'{{"type":"{kind}","id":"e1","timestamp":{time},"parentId":null,"version":3,"cwd":"/"}}'

    with pytest.raises(NotASession, match="another program"):
        detect(f"{first}\n{ENTRY}\n{ENTRY}\n".encode(), "x.jsonl")


@pytest.mark.parametrize(
    "header",
    [
        '{"type":"session","version":0,"id":"x","createdAt":1,"cwd":"/"}',
        '{"type":"session","version":3,"id":"x","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}',
    ],
)
def test_a_session_line_above_entries_of_other_types_only_is_not_pi(header):
    entry = '{"type":"user/message","id":"a","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z"}'

    with pytest.raises(NotASession):
        detect(f"{header}\n{entry}\n".encode(), "x.jsonl")
    assert detect(f"{header}\n{entry}\n{ENTRY}\n".encode(), "x.jsonl").name == "pi"


@pytest.mark.parametrize("version", ["null", '"x"', "[]", "1e400", "99", "9" * 400, "-1", "{}"])
def test_a_header_with_any_version_above_entries_opens_and_is_read_only_where_it_is_newer(version, tmp_path):
    header = (
        f'{{"type":"session","version":{version},"id":"x","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}}'
    )
    file = tmp_path / "x.jsonl"
    file.write_text(f"{header}\n{ENTRY}\n", encoding="utf-8")

    with Session.open(file) as session:
        assert session.index.keys
        if version[0] == "9":
            with pytest.raises(ReadOnly, match="newer"):
                session.append_message("more")

    assert file.read_text(encoding="utf-8").startswith(header)


@pytest.mark.parametrize("kind", ["null", "5", "[]", "{}", "true"])
def test_a_header_whose_type_is_no_text_above_entries_still_opens(kind, tmp_path):
    header = f'{{"type":{kind},"version":3,"id":"x","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}}'
    file = tmp_path / "x.jsonl"
    file.write_text(f"{header}\n{ENTRY}\n", encoding="utf-8")

    with Session.open(file) as session:
        assert session.index.keys == ["a"]
        assert json.loads(session.raw("a"))["id"] == "a"


def test_a_lone_session_line_without_a_time_is_not_a_header_of_pi_and_is_left_alone(tmp_path):
    line = '{"type":"session","version":0,"id":"41111111-1111-4111-8111-111111111111","createdAt":1783951000000}\n'
    file = tmp_path / "session.jsonl"
    file.write_text(line, encoding="utf-8")

    appended = CliRunner().invoke(cli, ["append", str(file), "hello"])

    assert appended.exit_code == 1
    assert "another program" in appended.stderr
    assert file.read_text(encoding="utf-8") == line


def test_every_foreign_file_has_a_note():
    notes = Path(CORPUS / "foreign" / "NOTES.md").read_text("utf-8")

    assert FOREIGN
    assert all(f"| {path.stem} |" in notes for path in FOREIGN)


def test_a_changed_bit_in_the_word_session_hides_no_session():
    header = b'{"type":"session","version":3,"id":"x","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}\n'
    start = header.index(b"session")
    for place in range(start, start + 7):
        for bit in range(7):
            changed = bytearray(header)
            changed[place] ^= 1 << bit
            if changed[place] in b'"\\\n':
                continue

            assert detect(bytes(changed) + ENTRY.encode() + b"\n", "x.jsonl").name == "pi"
