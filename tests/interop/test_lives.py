"""Random lives, converted for each program and opened in the real one: it sees what we say it sees.

Two things are compared for each life and program. What the program reads of the new file (path, messages,
labels, title) is what we read of it. And every message of the path that the report calls carried is among
those that the program reads, with all of its blocks.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from branchline import Session
from branchline.clock import FixedClock
from branchline.conversion import Fidelity, convert
from branchline.entries import SIDE_TYPES, Header, MessageEntry, message_fields
from branchline.formats import INDUSCODE, OH_MY_PI, PI, PIGLET, ZOT, Format
from interop import test_oh_my_pi, test_pi
from interop.lives import life
from interop.peers import GoPeer, Peer
from interop.test_induscode import induscode  # noqa: F401  a fixture
from interop.test_oh_my_pi import home  # noqa: F401  a fixture

DRIVER = Path(__file__).with_name("lives.mjs")
BATCH = 25
ROLES = ("user", "assistant", "toolResult")
STUB = "tool call was aborted; no result recorded."

Said = tuple[Any, ...]


class Life(NamedTuple):
    """A life and its file: made of it by a conversion, or the one that it was lived in."""

    seed: int
    source: Session
    path: Path
    fidelity: Fidelity | None = None


def converted(seed: int, target: Format, directory: Path) -> Life:
    source = life(seed)
    if target is PI:  # what we write ourselves is pi's already, so another program comes between
        between = (OH_MY_PI, INDUSCODE, PIGLET)[seed % 3] if len(source) else OH_MY_PI
        made = convert(source.transcript, between, header_for(between, seed))
        source = Session.in_memory(
            data=made.data or OH_MY_PI.required_writer().encode_header(header_for(OH_MY_PI, seed))
        )
    made = convert(source.transcript, target, header_for(target, seed))
    path = directory / f"{target.home.file_key(made.header)}{target.traits.suffix}"
    path.write_bytes(made.data)
    return Life(seed, source, path, made.fidelity)


def lived(seed: int, target: Format, directory: Path) -> Life:
    """A life in the format of a program from the start; what it cannot hold does not happen."""
    clock = FixedClock(1_794_700_000_000 + seed * 1000, seed=seed)
    with Session.create(
        "/home/u/project",
        directory=directory,
        format=target.name,
        persist="always",
        durability="os",
        clock=clock,
    ) as session:
        life(seed, session)
    assert session.file is not None
    return Life(seed, session, Path(session.file))


def header_for(target: Format, seed: int) -> Header:
    return Header(
        id=target.required_writer().session_id(
            f"{seed:08x}-0000-7000-8000-000000000000", "2030-01-01T00:00:00.000Z"
        ),
        version=3,
        timestamp="2030-01-01T00:00:00.000Z",
        cwd="/home/u/project",
    )


# -- what is said, in one shape -----------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    return json.loads(json.dumps(msgspec.to_builtins(value)))


def rounded(value: Any) -> Any:
    """A value as JavaScript reads it: whole numbers are exact up to 2 ** 53."""
    return json.loads(
        json.dumps(value), parse_int=lambda digits: int(digits) if len(digits) < 16 else float(digits)
    )


def said(fields: dict[str, Any]) -> Said:
    """Who says what, from the fields of a message as pi writes them."""
    about: tuple[Any, ...] = ()
    if fields["role"] == "toolResult":
        about = (fields["toolCallId"], fields.get("isError") is True)
    return (fields["role"], *about, *blocks(fields.get("summary", fields.get("content"))))


def blocks(content: Any) -> Iterator[Said]:
    """The blocks of a message that are not empty."""
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
        match block:
            case {"type": "text", "text": text}:
                if text:
                    yield ("text", text)
            case {"type": "thinking", "thinking": text}:
                if text:
                    yield ("thinking", text)
            case {"type": "image"}:
                yield ("image", block["data"], block["mimeType"])
            case {"type": "toolCall"}:
                yield ("call", block["id"], block["name"], block["arguments"])
            case _:
                yield ("unknown", block)


def carried(one: Life) -> list[Said]:
    """The messages on the path that the report calls carried, and that a model sees as they are."""
    if one.fidelity is None:
        return []
    other = {key for note in (*one.fidelity.approximated, *one.fidelity.lost) for key in note.entries}
    context = {item.entry for item in one.source.context().messages}
    found = []
    for key in one.source.path():
        entry = one.source.entry(key)
        if key in other or key not in context or not isinstance(entry, MessageEntry):
            continue
        fields = plain(message_fields(entry.message))
        if fields["role"] in ROLES:
            found.append(said(fields))
    return found


def is_within(wanted: Sequence[Said], found: Sequence[Said]) -> Said | None:
    """The first that is not found in this order; None when all are."""
    rest = iter(found)
    return next((one for one in wanted if one not in rest), None)


def first_difference(theirs: Sequence[Any], here: Sequence[Any]) -> str:
    number = next((n for n, pair in enumerate(zip(theirs, here, strict=False)) if pair[0] != pair[1]), -1)
    return f"{theirs[number]} != {here[number]}" if number >= 0 else f"{len(theirs)} != {len(here)}"


def ours(session: Session) -> list[Said]:
    return [said(plain(message_fields(item.message))) for item in session.context().messages]


# -- the programs ---------------------------------------------------------------------------------------------


def compare_pi(peer: Peer, lives: Sequence[Life], module: Any, environment: dict[str, str]) -> list[str]:
    seen = peer.run(DRIVER, text=json.dumps([str(one.path) for one in lives]), environment=environment)
    side = SIDE_TYPES | {"title_change", "model_usage"}
    problems = []
    for one, view in zip(lives, seen, strict=True):
        with Session.open(one.path) as session:
            mine = module.our_view(session)
            title = session.title
        pairs = {
            "path": ([key for key, kind in view["path"] if kind not in side], mine["path"]),
            "context": (
                rounded([[message.get(name) for name in module.TOLD] for message in view["messages"]]),
                rounded(mine["context"]),
            ),
            "labels": (view["labels"], mine["labels"]),
            "title": (view["title"], title),
        }
        if one.fidelity is None and module is test_oh_my_pi:
            del pairs["title"]  # oh-my-pi shows the slot, which is not changed by an append
        problems += [
            f"{one.seed} {name}: {theirs} != {here}"
            for name, (theirs, here) in pairs.items()
            if theirs != here
        ]
        spoken = [said(message) for _, message in view["said"] if message["role"] in ROLES]
        if (lost := is_within(carried(one), spoken)) is not None:
            problems.append(f"{one.seed} called carried, not seen: {lost}")
    return problems


def compare_induscode(ask: Callable[..., dict[str, Any]], lives: Sequence[Life]) -> list[str]:
    keys = [one.path.name.removesuffix(INDUSCODE.traits.suffix) for one in lives]
    seen = ask("said", directory=str(lives[0].path.parent), sessions=keys)["sessions"]
    problems = []
    for one, view in zip(lives, seen, strict=True):
        with Session.open(one.path) as session:
            if view["path"] != session.path():
                problems.append(f"{one.seed} path: {view['path']} != {session.path()}")
            theirs = [said(message) for message in view["said"] if message["role"] in ROLES]
            here = [message for message in ours(session) if message[0] in ROLES]
        if theirs != here:
            problems.append(f"{one.seed} messages: {first_difference(theirs, here)}")
        if (lost := is_within(carried(one), theirs)) is not None:
            problems.append(f"{one.seed} called carried, not seen: {lost}")
    return problems


def zot_messages(view: dict[str, Any]) -> Iterator[Said]:
    """What zot reads, with each result as a message and without the results that it makes up."""
    for message in view["messages"] or ():
        if message["role"] != "tool":
            yield (message["role"], *filter(None, map(zot_block, message["content"])))
            continue
        for result in message["content"]:
            inside = tuple(filter(None, map(zot_block, result["content"] or ())))
            if inside != (("text", STUB),):
                yield ("toolResult", result["call_id"], result["is_error"], *inside)


def zot_block(block: dict[str, Any]) -> Said | None:
    if "reasoning_id" in block or "encrypted_content" in block:
        return ("thinking", block["summary"]) if block.get("summary") else None
    if "name" in block:
        return ("call", block["id"], block["name"], block["arguments"])
    if "mime_type" in block:
        return ("image", block["data"], block["mime_type"]) if block["data"] else None
    return ("text", block["text"]) if block["text"] else None


def compare_zot(peer: GoPeer, lives: Sequence[Life]) -> list[str]:
    problems = []
    for one in lives:
        seen = list(zot_messages(peer.ask("look", path=str(one.path))))
        heard = [message for message in map(without_thoughts, seen) if len(message) > 1]
        if (lost := is_within(carried(one), seen)) is not None:
            problems.append(f"{one.seed} called carried, not seen: {lost} in {seen}")
        with Session.open(one.path) as session:
            here = [message for message in map(zot_reads, ours(session)) if len(message) > 1]
        if as_go_reads(heard) != as_go_reads(here):
            problems.append(f"{one.seed} messages: {first_difference(heard, here)}")
    return problems


def zot_reads(message: Said) -> Said:
    """What zot reads of one of our messages: no half characters, no picture that is not base64."""
    role = "user" if message[0] == "compactionSummary" else message[0]
    parts = [tuple(part) if isinstance(part, list) else part for part in as_go_reads(message[1:])]
    return without_thoughts((role, *(part for part in parts if part != UNREAD)))


def as_go_reads(value: Any) -> Any:
    """A value with U+FFFD for half characters."""
    return json.loads(SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))


def without_thoughts(message: Said) -> Said:
    """Thoughts are compared through the report: zot reads those of one provider only."""
    return tuple(part for part in message if not isinstance(part, tuple) or part[0] != "thinking")


UNREAD = ("image", "not base64", "image/png")
SURROGATE = re.compile("[\ud800-\udfff]")


def piglet_message(one: dict[str, Any]) -> Said:
    message = one["message"]
    if one["role"] == "user":
        content = [{"text": message.get("content", "")}, *(message.get("blocks") or ())]
        return ("user", *filter(None, map(piglet_block, content)))
    about = (message["toolCallId"], message["isError"]) if one["role"] == "tool_result" else ()
    role = "toolResult" if one["role"] == "tool_result" else "assistant"
    return (role, *about, *filter(None, map(piglet_block, message["content"] or ())))


def piglet_block(block: dict[str, Any]) -> Said | None:
    if "name" in block:
        return ("call", block["id"], block["name"], block["arguments"])
    if "thinking" in block:
        return ("thinking", block["thinking"])
    if "mimeType" in block:
        return ("image", block["data"], block["mimeType"])
    return ("text", block["text"]) if block["text"] else None


def compare_piglet(peer: GoPeer, lives: Sequence[Life]) -> list[str]:
    problems = []
    for one in lives:
        view = peer.ask("look", path=str(one.path))
        seen = [piglet_message(message) for message in view["messages"] or ()]
        if (lost := is_within(carried(one), seen)) is not None:
            problems.append(f"{one.seed} called carried, not seen: {lost} in {seen}")
        with Session.open(one.path) as session:
            pairs = {
                "labels": (view["labels"], as_go_reads(session.labels)),
                "title": (view["meta"].get("title"), as_go_reads(session.title)),
                "messages": (
                    rounded(seen),
                    rounded(
                        as_go_reads(
                            [
                                ("user", *said[1:]) if said[0] == "compactionSummary" else said
                                for said in ours(session)
                            ]
                        )
                    ),
                ),
            }
        problems += [
            f"{one.seed} {name}: {theirs} != {here}"
            for name, (theirs, here) in pairs.items()
            if theirs != here
        ]
    return problems


# -- the tests ------------------------------------------------------------------------------------------------

Compare = Callable[[Sequence[Life]], list[str]]


def agree(target: Format, compare: Compare, directory: Path, count: int) -> None:
    """Half of the lives are converted, half are lived in the format itself."""
    directory.mkdir(parents=True, exist_ok=True)
    some = seeds(count)
    for start in range(0, count, BATCH):
        lives = [
            (lived if seed % 2 else converted)(seed, target, directory)
            for seed in some[start : start + BATCH]
        ]
        problems = compare(lives)
        assert not problems, "\n".join(repr(problem)[:2000] for problem in problems[:3])


def seeds(count: int) -> range:
    """The same seeds each time for a few lives; for many, others each time."""
    first = 0 if count <= BATCH else int(os.environ.get("BRANCHLINE_SEED") or int.from_bytes(os.urandom(4)))
    return range(first, first + count)


COUNTS = [pytest.param(BATCH, id="few"), pytest.param(300, id="many", marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
def test_pi_sees_what_the_report_says(newest_pi: Peer, tmp_path: Path, count: int):
    agree(PI, lambda lives: compare_pi(newest_pi, lives, test_pi, {}), tmp_path, count)


@pytest.mark.parametrize("count", COUNTS)
def test_oh_my_pi_sees_what_the_report_says(oh_my_pi: Peer, home: Path, count: int):  # noqa: F811
    environment = {"HOME": str(home), "PI_CODING_AGENT_DIR": str(home / "agent"), "TMPDIR": str(home / "tmp")}
    directory = home / "agent" / "sessions" / "--home-u-project--"

    agree(
        OH_MY_PI,
        lambda lives: compare_pi(oh_my_pi, lives, test_oh_my_pi, environment),
        directory,
        count,
    )


@pytest.mark.parametrize("count", COUNTS)
def test_induscode_sees_what_the_report_says(induscode: Any, tmp_path: Path, count: int):  # noqa: F811
    agree(INDUSCODE, lambda lives: compare_induscode(induscode, lives), tmp_path, count)


@pytest.mark.parametrize("count", COUNTS)
def test_zot_sees_what_the_report_says(zot: GoPeer, tmp_path: Path, count: int):
    agree(ZOT, lambda lives: compare_zot(zot, lives), tmp_path, count)


@pytest.mark.parametrize("count", COUNTS)
def test_piglet_sees_what_the_report_says(piglet: GoPeer, tmp_path: Path, count: int):
    agree(PIGLET, lambda lives: compare_piglet(piglet, lives), tmp_path, count)
