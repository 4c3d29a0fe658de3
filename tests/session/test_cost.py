"""Costs do not grow with the history: appends are constant, and forks copy images without decoding."""

import time
from pathlib import Path

import pytest

from branchline import Session
from session.kit import CWD, assistant, clock, path_of, talked, user
from session.steps import somewhere


def long_session(directory: Path, entries: int) -> Session:
    """A session of so many messages, opened."""
    first = Session.create(CWD, directory=directory, clock=clock(), persist="always")
    path = path_of(first)
    first.close()
    parent = "null"
    lines = []
    for number in range(entries):
        lines.append(
            f'{{"type":"message","id":"e{number:07d}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z",'
            f'"message":{{"role":"{"assistant" if number % 2 else "user"}","content":[{{"type":"text","text":"x"}}]}}}}\n'
        )
        parent = f'"e{number:07d}"'
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(lines)
    return Session.open(path, clock=clock(), durability="os")


def cpu_of(session: Session, verb) -> float:
    """Seconds of this process per call, the best of several rounds."""
    best = float("inf")
    for _round in range(5):
        started = time.process_time()
        for _number in range(200):
            verb(session)
        best = min(best, (time.process_time() - started) / 200)
    return best


def verbs():
    return {
        "append_message": lambda session: session.append_message(user("more")),
        "append_label": lambda session: session.append_label(session.leaf, "here"),
        "branch and back": lambda session: (session.branch("e0000001"), session.branch("e0000900")),
        "refresh": lambda session: session.refresh(),
    }


@pytest.mark.parity("OPR-02")
@pytest.mark.parametrize("name", verbs())
def test_a_verb_costs_the_same_after_a_thousand_entries_and_after_fifty_thousand(name):
    verb = verbs()[name]
    with (
        somewhere() as directory,
        long_session(directory / "short", 1_000) as short,
        long_session(directory / "long", 50_000) as long,
    ):
        for session in (short, long):
            verb(session)
        # Noise only ever adds time, so the best of a few tries is the figure.
        ratio = min(cpu_of(long, verb) / cpu_of(short, verb) for _attempt in range(3))

    assert ratio <= 2


def test_forking_a_line_of_many_megabytes_takes_a_copy_and_not_a_walk_over_every_byte(place):
    session = talked(place, 1)
    leaf = session.leaf.encode()
    with open(
        path_of(session), "ab"
    ) as file:  # as pi writes: the label is in the chain, so the line is re-chained
        file.write(
            b'{"type":"label","id":"la","parentId":"%s","timestamp":"2026-01-05T09:00:00.000Z","targetId":"%s",'
            b'"label":"here"}\n{"type":"message","id":"big","parentId":"la","timestamp":"2026-01-05T09:00:00.000Z",'
            b'"message":{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"%s"}]}}\n'
            % (leaf, leaf, b"A" * 30_000_000)
        )
    session.refresh()
    session.append_message(assistant("what a picture"))

    started = time.process_time()
    made = session.fork()
    seconds = time.process_time() - started

    assert made.index.parent("big") == leaf.decode()
    assert len(made.raw("big")) == len(session.raw("big")) + len(leaf) - len("la")
    assert seconds < 8
