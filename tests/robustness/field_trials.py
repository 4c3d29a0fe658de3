"""Trials of one bad value: a value that does not belong there, in one field of one line of a sample.

A :class:`Trial` names a sample, a line, a field and a value. :data:`PROBES` are everything that the command line
and the library do with one session; each gets the file, and must end with an answer or a BranchlineError.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from branchline import BranchlineError, Session, SessionLibrary
from branchline.actions.check import check_file
from branchline.actions.inspect import report
from branchline.catalog.documents import documents_of
from branchline.cli.app import cli
from branchline.plugins.formats import peek
from branchline.views.stats_lines import overview
from support import CORPUS

__all__ = ["PROBES", "SAMPLES", "VALUES", "Trial", "crash", "trials"]

VALUES: dict[str, str] = {
    "null": "null",
    "true": "true",
    "zero": "0",
    "minus one": "-1",
    "a fraction": "1.5",
    "ten to the 400th": "1" + "0" * 400,
    "minus ten to the 400th": "-1" + "0" * 400,
    "5,000 digits": "9" * 5_000,
    "a float beyond all floats": "1e400",
    "a very large float": "1e300",
    "NaN": "NaN",
    "infinity": "-Infinity",
    "beyond 64 bits": str(1 << 64),
    "an empty text": '""',
    "a blank": '" "',
    "a text": '"x"',
    "a lone high surrogate": '"\\ud800"',
    "a lone low surrogate in a text": '"a\\udc00b"',
    "a NUL": '"a\\u0000b"',
    "line breaks": '"a\\nb\\r\\u2028c"',
    "an escape sequence": '"\\u001b]0;x\\u0007"',
    "a path": '"../../../etc/passwd"',
    "a long text": '"' + "long " * 2_000 + '"',
    "a date beyond all dates": '"99999-99-99T99:99:99.999Z"',
    "a late date": '"9999-12-31T23:59:59.999-23:59"',
    "a number as text": '"5"',
    "an empty list": "[]",
    "an empty object": "{}",
    "a list with null": "[null]",
    "a list of numbers": "[0,1.5,-1]",
    "a list of texts": '["x",""]',
    "a list of lists": "[[[]]]",
    "a list of objects": '[{},{"type":5},{"type":"text"},{"type":"tool_use","input":[]}]',
    "an object of wrong fields": '{"type":[],"id":{},"text":1,"content":{"a":1},"role":null,"usage":"x","timestamp":true}',
    "an object with a surrogate for a key": '{"\\udfff":1}',
    **{f"a list in {depth} lists": "[" * depth + "]" * depth for depth in (150, 400, 850, 980, 2_000)},
    **{f"an object in {depth} objects": '{"a":' * depth + "1" + "}" * depth for depth in (400, 850, 980, 2_000)},
    "NaN in 700 lists": "[" * 700 + "NaN" + "]" * 700,
    "a surrogate in 700 objects": '{"a":' * 700 + '"\\ud800"' + "}" * 700,
}  # fmt: skip
"""What is put into fields, as JSON texts."""

_PLACE = "\ue000place\ue000"
_GONE = "no value: the field is removed"


class Trial(NamedTuple):
    """One value in one field."""

    sample: Path
    line: int
    """The index of the line."""
    field: tuple[str | int, ...]
    """The keys that lead to the field; none for the line itself."""
    value: str
    """A name in :data:`VALUES`, or that the field is removed."""

    def __str__(self) -> str:
        name = self.sample.relative_to(CORPUS) if self.sample.is_relative_to(CORPUS) else self.sample
        return f"{name}:{self.line + 1} {'.'.join(map(str, self.field)) or 'the line'} = {self.value}"

    @staticmethod
    def places(sample: Path) -> Iterator[tuple[int, tuple[str | int, ...]]]:
        """Every field of every line of a sample."""
        for number, line in enumerate(sample.read_bytes().split(b"\n")):
            with contextlib.suppress(ValueError):
                for field in _fields(json.loads(line)):
                    yield number, field

    def data(self) -> bytes:
        """The sample with the value in it."""
        lines = self.sample.read_bytes().split(b"\n")
        lines[self.line] = _replaced(lines[self.line], self.field, self.value)
        return b"\n".join(lines)


def _replaced(line: bytes, field: tuple[str | int, ...], value: str) -> bytes:
    if not field:
        return VALUES[value].encode()
    root = json.loads(line)
    inside: Any = root
    for key in field[:-1]:
        inside = inside[key]
    if value == _GONE:
        del inside[field[-1]]
    else:
        inside[field[-1]] = _PLACE
    text = json.dumps(root, ensure_ascii=False, separators=(",", ":"))
    return text.replace(f'"{_PLACE}"', VALUES.get(value, "")).encode("utf-8", "surrogatepass")


def _sample_files() -> dict[str, list[Path]]:
    return {
        "pi": [
            CORPUS / "pi" / "golden" / "g118.jsonl",
            *(
                CORPUS / "pi" / "edge" / f"{name}.jsonl"
                for name in (
                    "all-message-fields", "branch-summaries", "compaction-twice", "context-edits", "labels",
                    "leaf-ours", "session-info", "system-messages", "unknown-type", "v1", "v2",
                )
            ),
        ],
        "oh-my-pi": sorted((CORPUS / "oh-my-pi").glob("*.jsonl")),
        "operator": sorted((CORPUS / "operator" / "profiles").rglob("*.jsonl")),
        "induscode": sorted((CORPUS / "induscode" / "sessions").rglob("*.ndjson")),
        "zot": sorted((CORPUS / "zot" / "sessions").rglob("*.jsonl")),
        "piglet": sorted((CORPUS / "piglet" / "sessions").rglob("*.jsonl")),
        "claude-code": sorted((CORPUS / "claude-code").glob("synthetic/**/*.jsonl")),
        "codex": sorted((CORPUS / "codex").glob("synthetic/**/rollout-*.jsonl")),
        **{name: sorted((CORPUS / name).rglob("*.jsonl")) for name in ("qwen", "copilot", "kimi")},
        "gemini": sorted((CORPUS / "gemini").rglob("session-*.json*")),
        "vibe": [CORPUS / "vibe" / "joined.jsonl"],  # its files as the lines that they are read as
        "cline": [
            *(CORPUS / "cline").rglob("[0-9]*.messages.json"),
            *(CORPUS / "cline").rglob("api_conversation_history.json"),
        ],
    }  # fmt: skip


SAMPLES = _sample_files()


def _fields(value: Any, inside: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where a value can be put: the line itself, and every field and item, however deep."""
    waiting = [(inside, value)]
    while waiting:
        place, found = waiting.pop()
        yield place
        if isinstance(found, dict):
            waiting += [((*place, key), one) for key, one in found.items()]
        elif isinstance(found, list):
            waiting += [((*place, index), one) for index, one in enumerate(found)]


def shapes(samples: list[Path]) -> list[list[tuple[Path, int, tuple[str | int, ...]]]]:
    """The places of some samples by what they are: one group for each field of each kind of line."""
    groups: dict[Any, list[tuple[Path, int, tuple[str | int, ...]]]] = {}
    for sample in samples:
        lines = sample.read_bytes().split(b"\n")
        for number, field in Trial.places(sample):
            fields = json.loads(lines[number])
            kind = (_kind(fields), tuple("*" if isinstance(key, int) else key for key in field), number == 0)
            groups.setdefault(kind, []).append((sample, number, field))
    return list(groups.values())


def _kind(fields: Any) -> tuple[str, ...]:
    """What kind of line this is, as far as types and roles tell."""
    if not isinstance(fields, dict):
        return (type(fields).__name__,)
    found = [str(fields.get("type"))]
    for inside in ("message", "payload", "body", "data"):
        part = fields.get(inside)
        if isinstance(part, dict):
            found += [str(part.get("role")), str(part.get("type")), str(part.get("kind"))]
    return tuple(found)


def trials(format_name: str, seed: int, count: int, samples: list[Path] | None = None) -> Iterator[Trial]:
    """So many trials; every field of every kind of line comes in turn, with other values each time."""
    chance = random.Random(f"{format_name}:{seed}")
    groups = shapes(SAMPLES[format_name] if samples is None else samples)
    names = list(VALUES)
    made = 0
    while made < count:
        chance.shuffle(groups)
        for group in groups[: count - made]:
            sample, number, field = chance.choice(group)
            value = _GONE if field and chance.random() < 0.04 else chance.choice(names)
            yield Trial(sample, number, field, value)
            made += 1


# -- what is done with the file ---------------------------------------------------------------------------


class World(NamedTuple):
    """Where a trial takes place."""

    file: Path
    other: Path
    """The sample itself, unchanged."""
    out: Path
    """A directory for what commands write."""


def _command(*arguments: str) -> Callable[[World], None]:
    def call(world: World) -> None:
        names = {"FILE": world.file, "OTHER": world.other, "OUT": world.out, "DIR": world.file.parent}
        words = [str(names.get(word, word)) for word in arguments]
        result = CliRunner().invoke(cli, words, env={"BRANCHLINE_DEBUG": "1"})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        for bad in ("Traceback", "mistake in branchline", "nested too deeply to be shown"):
            assert bad not in result.stderr, result.stderr
        if "--json" in words and result.exit_code == 0:
            json.loads(result.stdout)

    return call


WRITABLE = ("branchline", "pi", "oh-my-pi", "operator", "induscode", "zot", "piglet")

_READING = [
    ["inspect", "FILE"],
    ["inspect", "FILE", "--json"],
    ["show", "FILE"],
    ["show", "FILE", "--json"],
    ["show", "FILE", "--markdown"],
    ["show", "FILE", "--full"],
    ["show", "FILE", "--raw"],
    ["tree", "FILE"],
    ["tree", "FILE", "--filter", "all"],
    ["tree", "FILE", "--json"],
    ["tree", "FILE", "--search", "x"],
    ["context", "FILE"],
    ["context", "FILE", "--json"],
    ["context", "FILE", "--provider", "anthropic"],
    ["context", "FILE", "--provider", "openai-chat"],
    ["context", "FILE", "--provider", "openai-responses"],
    ["label", "FILE", "@leaf"],
    ["name", "FILE"],
    ["export", "FILE"],
    ["export", "FILE", "--branch"],
    ["export", "FILE", "--no-redact"],
    ["export", "FILE", "--portable"],
    ["export", "FILE", "--format", "md"],
    ["export", "FILE", "--format", "zotsession"],
    *[["export", "FILE", "--format", name] for name in ("html", "atif", "otel", "openai", "sharegpt")],
    ["log", "FILE"],
    ["search", "x", "--dir", "DIR"],
    ["check", "FILE"],
    ["check", "FILE", "--json"],
    ["check", "--dir", "DIR"],
    ["check", "--all"],
    ["ls", "--dir", "DIR"],
    ["ls", "--dir", "DIR", "--json"],
    ["ls", "--dir", "DIR", "--shallow", "--subagents"],
    ["forest", "--dir", "DIR"],
    ["forest", "--dir", "DIR", "--json"],
    ["stats", "--dir", "DIR"],
    ["stats", "--dir", "DIR", "--json", "--by", "day"],
    ["stats", "--dir", "DIR", "--by", "model"],
    ["resume", "FILE", "--show"],
    ["diff", "FILE"],
    ["diff", "FILE", "OTHER"],
    ["diff", "FILE", "OTHER", "--json"],
    ["diff", "OTHER", "FILE", "--stat"],
]
_WRITING = [
    ["repair", "FILE"],
    ["repair", "FILE", "-o", "OUT"],
    ["fork", "FILE"],
    ["fork", "FILE", "--tree"],
    ["fork", "FILE", "--to", "branchline"],
    *[["convert", "FILE", "--to", name, "-o", "OUT"] for name in WRITABLE],
    *[["convert", "FILE", "--to", name, "-o", "OUT", "--branches"] for name in ("zot", "piglet")],
    *[["convert", "FILE", "--to", name, "-o", "OUT", "--branch", "@leaf"] for name in ("pi", "zot")],
    ["import", "FILE"],
    ["append", "FILE", "hello"],
    ["append", "FILE", "--role", "assistant", "hello", "--force"],
    ["append", "FILE", "hello", "--force"],
    ["branch", "FILE", "~1"],
    ["reset", "FILE"],
    ["graft", "FILE", "~1"],
    ["label", "FILE", "@leaf", "mark"],
    ["name", "FILE", "a title"],
    ["check", "FILE", "--seal"],
    ["rm", "FILE"],
]


def _session_reads(world: World) -> None:
    """Everything that the library says about one session."""
    with Session.open(world.file) as session:
        session.context()
        session.outline()
        session.usage()
        session.newest_descendant()
        session.fork_point  # noqa: B018
        report(session)
        assert [entry.id for entry in session.entries()] == list(session.index.keys)
        for node in session.tree():
            session.children(node.id)
            session.path(node.id)
        assert repr(session)
        session.refresh()
        session.check()


def _session_writes(world: World) -> None:
    with Session.open(world.file) as session:
        session.append_message("hello")
        key = session.append_message({"role": "assistant", "content": [{"type": "text", "text": "hi"}]})
        session.context()
        session.branch(key)
        session.append_label(key, "mark")
        session.set_title("title")
        session.append_compaction("what was said", first_kept=key, tokens_before=5)


def _session_forks(world: World) -> None:
    with Session.open(world.file) as session, session.fork() as made:
        made.context()
        made.append_message("more")


def _library_reads(world: World) -> None:
    library = SessionLibrary(str(world.file.parent))
    for row in library.list(deep=True).rows:
        library.describe(row)
        with contextlib.suppress(BranchlineError):
            opened = library.open(row)
            if opened is not None:
                library.tree(opened)
                library.prior_turns(opened)
                opened.close()
    library.forest()
    library.latest()


def _counts(world: World) -> None:
    """Statistics of one session; a list of many reports one that fails as unreadable."""
    with Session.open(world.file) as session:
        list(documents_of(session.transcript))
    with SessionLibrary(world.file.parent).statistics() as found:
        overview(found.stats(), columns=80, home="/")


def _checks(world: World) -> None:
    check_file(str(world.file))


def _peeks(world: World) -> None:
    with world.file.open("rb") as file:

        def read(offset: int, size: int) -> bytes:
            file.seek(offset)
            return file.read(size)

        peek(read, str(world.file))


PROBES: dict[str, Callable[[World], None]] = {
    **{" ".join(words): _command(*words) for words in _READING},
    **{" ".join(words): _command(*words) for words in _WRITING},
    "Session, reading": _session_reads,
    "Session, writing": _session_writes,
    "Session.fork": _session_forks,
    "SessionLibrary": _library_reads,
    "statistics": _counts,
    "check_file": _checks,
    "peek": _peeks,
}


def crash(trial: Trial, probe: str, where: Path) -> Exception | None:
    """What the probe raised that it must not, if it did."""
    folder = where / "sessions"
    if trial.sample.suffix == ".json":  # the path tells that it is a document
        folder = folder.joinpath(*trial.sample.parent.parts[-2:])
    shutil.rmtree(where, ignore_errors=True)
    folder.mkdir(parents=True)
    (where / "out").mkdir()
    file = folder / trial.sample.name
    file.write_bytes(trial.data())
    try:
        PROBES[probe](World(file, trial.sample, where / "out"))
    except BranchlineError:
        return None
    except Exception as problem:
        return problem
    return None
