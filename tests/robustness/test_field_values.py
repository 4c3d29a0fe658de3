"""One bad value costs one line: whatever stands in a field, every command and every call gives an answer.

Each trial puts a value that does not belong there into one field of one line of a sample. Whatever is done with
the file then ends with a result or a BranchlineError.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

import click
import pytest

from branchline import Session
from branchline.actions.inspect import report
from branchline.catalog.documents import documents_of
from branchline.cli.app import cli
from branchline.formats import EntryLog, detect
from robustness.field_trials import (
    COMMANDS,
    PROBES,
    SAMPLES,
    Trial,
    World,
    crash,
    hostile_trials,
    trials,
    words_of,
)


@pytest.fixture(autouse=True)
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own: trials remove, import and fork sessions."""
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRANCHLINE_CONFIG", str(tmp_path / "home" / "config.toml"))
    monkeypatch.chdir(tmp_path / "project")


def campaign(format_name: str, seed: int, count: int, each: int, where: Path) -> list[str]:
    """What went wrong in so many trials, each with some of the probes."""
    chance = random.Random(f"{format_name}:{seed}:probes")
    found = []
    for trial in trials(format_name, seed, count):
        for probe in chance.sample(list(PROBES), each):
            problem = crash(trial, probe, where)
            if problem is not None:
                found.append(f"{trial} | {probe}: {type(problem).__name__}: {problem}")
    return found


@pytest.mark.parametrize("format_name", SAMPLES)
def test_a_bad_value_in_any_field_makes_no_command_and_no_call_fail(format_name, tmp_path):
    assert campaign(format_name, 0, 30, 2, tmp_path / "trial") == []


def read_in_every_way(found: Iterable[Trial], where: Path) -> list[str]:
    problems = ((trial, crash(trial, "reading in every way", where)) for trial in found)
    return [
        f"{trial}: {type(problem).__name__}: {problem}" for trial, problem in problems if problem is not None
    ]


@pytest.mark.parametrize("format_name", SAMPLES)
def test_a_hostile_value_in_any_field_stops_no_way_of_reading_the_session(format_name, tmp_path):
    assert read_in_every_way(hostile_trials(format_name, 0, 31), tmp_path / "trial") == []


@pytest.mark.slow
@pytest.mark.parametrize("format_name", SAMPLES)
def test_every_hostile_value_in_every_field_stops_no_way_of_reading_the_session(format_name, tmp_path):
    assert read_in_every_way(hostile_trials(format_name, 0, 1), tmp_path / "trial") == []


UNCOUNTED = frozenset({"totalTokens", "total_tokens"})
"""Where a zero is not the same as no amount: the parts are added instead."""
COST = "message.usage.cost.total"
AMOUNTS = [
    *(
        (name, field)
        for name in ("pi", "oh-my-pi", "operator", "induscode")
        for field in (COST, "message.usage.*")
    ),
    *(("piglet", field) for field in ("data.usage.cost", "data.usage.*")),
    *((name, "message.usage.*") for name in ("claude-code",)),
    ("zot", "cumulative.cost_usd"),
]


@pytest.mark.parametrize(
    "value",
    ["ten to the 400th", "minus ten to the 400th", "a float beyond all floats", "NaN", "a very large float"],
)
@pytest.mark.parametrize(("name", "field"), AMOUNTS)
def test_an_amount_that_nobody_can_have_counted_is_left_out_of_the_sums(name, field, value, tmp_path):
    """All other lines count: the totals are those of the session with a zero there."""
    for trial in islice(amounts(name, field, value), 3):
        totals = [
            totals_of(one.data(), tmp_path / trial.sample.name)
            for one in (trial, trial._replace(value="zero"))
        ]

        assert totals[0] == totals[1], str(trial)


def amounts(name: str, field: str, value: str) -> Iterator[Trial]:
    """Trials with a value in fields with these keys, where ``*`` is any key of a number."""
    for sample in SAMPLES[name]:
        lines = sample.read_bytes().split(b"\n")
        for number, place in Trial.places(sample):
            if fnmatchcase(".".join(map(str, place)), field) and place[-1] not in UNCOUNTED:
                found: Any = json.loads(lines[number])
                for key in place:
                    found = found[key]
                if isinstance(found, int | float) and not isinstance(found, bool):
                    yield Trial(sample, number, place, value)


def totals_of(data: bytes, path: Path) -> list[Any]:
    """What the session, its report and the statistics say about its usage."""
    path.write_bytes(data)
    with Session.open(path) as session:
        found = report(session)["usage"]
        spent = [one.spending and one.spending[1:-1] for one in documents_of(session.transcript)]
        return [session.usage(), found, spent]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("format_name", SAMPLES)
def test_ten_thousand_bad_values_make_no_command_and_no_call_fail(format_name, seed, tmp_path):
    assert campaign(format_name, seed, 125, 3, tmp_path / "trial") == []


def test_every_command_line_of_the_trials_is_understood(tmp_path):
    world = World(tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path)
    refused = []

    for line in COMMANDS:
        name, *arguments = words_of(line, world)
        command = cli.get_command(click.Context(cli), name)
        try:
            assert command is not None
            command.make_context(name, arguments)
        except click.UsageError as problem:
            refused.append(problem.format_message())

    assert refused == []


FOUND = [
    ("induscode", "message.timestamp", "a lone low surrogate in a text", "tree FILE --search x"),
    ("induscode", "message.role", "a list of objects", "convert FILE --to induscode -o OUT"),
    ("induscode", "message.usage.input", "an object in 850 objects", "tree FILE"),
    ("piglet", "data.0.type", "a list of objects", "export FILE"),
    ("claude-code", "microcompactMetadata", "a lone low surrogate in a text", "Session, reading"),
    ("claude-code", "message.content.0.input.prompt", "an object in 980 objects", "Session.fork"),
    ("claude-code", "subtype", "a surrogate in 700 objects", "convert FILE --to pi -o OUT"),
    (
        "codex",
        "payload.info.total_token_usage.input_tokens",
        "a lone low surrogate in a text",
        "check --dir DIR",
    ),
    ("zot", "message.role", "an object in 400 objects", "convert FILE --to induscode -o OUT"),
    ("operator", "target_id", "a list in 980 lists", "Session, reading"),
    ("claude-code", "compactMetadata.preTokens", "ten to the 400th", "export FILE --format md"),
    ("induscode", "message.usage.cost.total", "ten to the 400th", "show FILE --full"),
    ("pi", "usage", "an object with a surrogate for a key", "statistics"),
    ("pi", "version", "minus ten to the 400th", "stats --dir DIR"),
    ("zot", "cumulative.cost_usd", "ten to the 400th", "tree FILE --search x"),
    ("claude-code", "message.usage.output_tokens", "NaN", "show FILE"),
    ("pi", "tokensBefore", "ten to the 400th", "tree FILE"),
    ("pi", "message.usage.input", "ten to the 400th", "export FILE --format atif"),
    ("pi", "message.usage.cost.total", "ten to the 400th", "export FILE --format atif"),
    ("vibe", "facts.ended", "beyond 64 bits", "stats --dir DIR"),
    ("vibe", "facts.ended", "beyond 64 bits", "web pages"),
    ("codex", "type", "a list of lists", "convert FILE --to codex -o OUT"),
    ("pi", "message.timestamp", "ten to the 400th", "convert FILE --to claude-code -o OUT"),
]


@pytest.mark.parametrize(("format_name", "field", "value", "probe"), FOUND)
def test_values_that_once_made_a_command_fail(format_name, field, value, probe, tmp_path):
    keys = tuple(int(key) if key.isdigit() else key for key in field.split("."))
    places = [(file, number, place) for file in SAMPLES[format_name] for number, place in Trial.places(file)]
    found = [Trial(file, number, place, value) for file, number, place in places if place == keys]

    assert found
    assert [crash(trial, probe, tmp_path / "trial") for trial in found[:4]] == [None] * len(found[:4])


@pytest.mark.parametrize("format_name", SAMPLES)
def test_a_bad_value_below_the_first_line_hides_no_other_line(format_name):
    for trial in trials(format_name, 1, 80):
        if trial.line and trial.sample.suffix != ".json":  # not a document over several lines
            whole, damaged = trial.sample.read_bytes(), trial.data()

            lost = lines_of(whole, trial.sample.name) - lines_of(damaged, trial.sample.name)

            assert lost <= {trial.line + 1}, str(trial)


def lines_of(data: bytes, name: str) -> set[int]:
    """The numbers of the lines that hold entries."""
    log = EntryLog(detect(data, name), lambda offset, size: data[offset : offset + size], name)
    return {log.reading.line_of(place) for place in range(len(log.tree))}
