"""Trials of one bad value: a value that does not belong there, in one field of one line of a sample.

A :class:`Trial` names a sample, a line, a field and a value. :data:`PROBES` are everything that the command line
and the library do with one session; each gets the file, and must end with an answer or a BranchlineError.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
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
from branchline.entries import json_codec
from branchline.mcp.history import History
from branchline.plugins.formats import peek
from branchline.views.stats_lines import overview
from support import CORPUS
from web.kit import Viewer

__all__ = [
    "COMMANDS",
    "HOSTILE",
    "PROBES",
    "SAMPLES",
    "VALUES",
    "Trial",
    "World",
    "crash",
    "hostile_trials",
    "trials",
    "words_of",
]

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
        "cline": [  # trials change a line, so only documents on one line
            path
            for name in ("[0-9]*.messages.json", "api_conversation_history.json")
            for path in sorted((CORPUS / "cline").rglob(name))
            if path.read_bytes().count(b"\n") <= 1
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


HOSTILE = (
    "ten to the 400th", "minus ten to the 400th", "a float beyond all floats", "NaN", "beyond 64 bits", "5,000 digits",
    "a lone high surrogate", "a long text", "null", "true", "a list of objects", "an object of wrong fields",
)  # fmt: skip
"""Values that have made a reader fail, or spoiled what is said about other lines."""


def hostile_trials(format_name: str, start: int, step: int) -> Iterator[Trial]:
    """One hostile value in each field of each kind of line, from ``start`` on, every ``step``-th of them."""
    groups = shapes(SAMPLES[format_name])
    for number in range(start, len(groups) * len(HOSTILE), step):
        turn, place = divmod(number, len(groups))
        group = groups[place]
        yield Trial(*group[number % len(group)], HOSTILE[(5 * place + turn) % len(HOSTILE)])


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


def words_of(arguments: tuple[str, ...], world: World) -> list[str]:
    """A command line with the places of a trial in it; a name may begin a path (``OUT/page.html``)."""
    names = {"FILE": world.file, "OTHER": world.other, "OUT": world.out, "DIR": world.file.parent}
    parts = (word.partition("/") for word in arguments)
    return [str(names.get(first, first)) + slash + rest for first, slash, rest in parts]


def _command(*arguments: str) -> Callable[[World], None]:
    def call(world: World) -> None:
        words = words_of(arguments, world)
        result = CliRunner().invoke(cli, words, env={"BRANCHLINE_DEBUG": "1"})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        for bad in ("Traceback", "mistake in branchline", "nested too deeply to be shown"):
            assert bad not in result.stderr, result.stderr
        if "--json" in words and result.exit_code == 0:
            json.loads(result.stdout)
        if words[0] in {"ls", "forest", "stats"}:  # one bad session hides no others
            assert result.exit_code == 0, result.stderr

    return call


WRITABLE = (
    *("branchline", "pi", "oh-my-pi", "operator", "induscode", "zot", "piglet"),
    *("claude-code", "codex", "qwen", "copilot", "opencode"),
)

_READING = [
    ["inspect", "FILE"],
    ["inspect", "FILE", "--json"],
    ["show", "FILE"],
    ["show", "FILE", "--json"],
    ["show", "FILE", "--markdown"],
    ["show", "FILE", "--full"],
    ["show", "FILE", "--raw"],
    ["show", "FILE", "--at", "@leaf", "--last", "2"],
    ["show", "FILE", "--branch", "~1", "--json"],
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
    ["export", "FILE", "--format", "html", "--portable", "--no-tools", "--from", "~1"],
    ["export", "FILE", "--format", "md", "--each", "branch", "-o", "OUT/branches/"],
    ["export", "FILE", "--format", "md"],
    ["export", "FILE", "--format", "zotsession"],
    *[["export", "FILE", "--format", name] for name in ("html", "atif", "otel", "openai")],
    ["share", "FILE", "--yes", "-o", "OUT/page.html"],
    ["share", "FILE", "--yes", "--branch", "--portable", "-o", "OUT/page.html"],
    ["log", "FILE"],
    ["log", "FILE", "--json"],
    ["search", "x", "--dir", "DIR"],
    ["search", "role:user hello", "--dir", "DIR", "--json"],
    ["search", "tool:bash", "--dir", "DIR"],
    ["search", "file:a", "--dir", "DIR", "--json"],
    ["search", "re:x.*y", "--dir", "DIR"],
    ["sql", "SELECT * FROM sessions"],
    ["sql", "SELECT * FROM entries LIMIT 5", "--json"],
    ["check", "FILE"],
    ["check", "FILE", "--json"],
    ["check", "--dir", "DIR"],
    ["check", "--all"],
    ["ls", "--dir", "DIR"],
    ["ls", "--dir", "DIR", "--json"],
    ["ls", "--dir", "DIR", "--shallow", "--subagents"],
    ["ls", "--dir", "DIR", "--verbose"],
    ["ls", "--all"],
    ["forest", "--dir", "DIR"],
    ["forest", "--dir", "DIR", "--json"],
    ["stats", "--dir", "DIR"],
    ["stats", "--dir", "DIR", "--json", "--by", "day"],
    *[
        ["stats", "--dir", "DIR", "--by", key]
        for key in ("model", "tool", "hour", "directory", "session,branch")
    ],
    ["prune", "--dir", "DIR"],
    ["restore", "--list"],
    ["sync", "DIR", "OUT/store.db"],
    ["resume", "FILE", "--show"],
    *[
        ["resume", "FILE", "--in", name, "--show"]
        for name in ("pi", "codex", "claude-code", "zot", "opencode")
    ],
    ["diff", "FILE"],
    ["diff", "FILE", "OTHER"],
    ["diff", "FILE", "OTHER", "--json"],
    ["diff", "OTHER", "FILE"],
]
_WRITING = [
    ["repair", "FILE"],
    ["repair", "FILE", "-o", "OUT"],
    ["fork", "FILE"],
    ["fork", "FILE", "--tree"],
    ["fork", "FILE", "~1", "--before"],
    ["fork", "FILE", "--to", "branchline"],
    *[["convert", "FILE", "--to", name, "-o", "OUT"] for name in WRITABLE],
    *[["convert", "FILE", "--to", name, "-o", "OUT", "--branches"] for name in ("zot", "piglet")],
    *[["convert", "FILE", "--to", name, "-o", "OUT", "--branch", "@leaf"] for name in ("pi", "zot")],
    ["import", "FILE"],
    ["append", "FILE", "hello"],
    ["append", "FILE", "--role", "assistant", "hello", "--force"],
    ["append", "FILE", "hello", "--force"],
    ["branch", "FILE", "~1"],
    ["branch", "FILE", "root"],
    ["graft", "FILE", "~1"],
    ["graft", "FILE", "@leaf", "--from", "OTHER"],
    ["squash", "FILE", "@leaf~1..@leaf", "--summary", "x"],
    ["undo", "FILE"],
    ["redo", "FILE"],
    ["tag", "FILE", "x"],
    ["tag", "FILE", "--note", "hello"],
    ["archive", "FILE"],
    ["sync", "DIR", "OUT/store.db", "--yes"],
    ["label", "FILE", "@leaf", "mark"],
    ["name", "FILE", "a title"],
    ["check", "FILE", "--seal"],
    ["rm", "FILE"],
]


COMMANDS = [tuple(words) for words in (*_READING, *_WRITING)]


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


FAILED = re.compile(r"\w+(?:Error|Exception): ")
"""The reason that a list gives for a session whose reader raised what it must not."""


def _library_reads(world: World) -> None:
    library = SessionLibrary(str(world.file.parent))
    for row in library.list(deep=True).rows:
        assert not FAILED.match(row.problem or ""), row.problem
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


def _web_pages(world: World) -> None:
    """Every page and every answer of the viewer; an error of the server is raised here."""
    viewer = Viewer(SessionLibrary(str(world.file.parent)), writable=True)
    for target in ("/", "/statistics", "/api/sessions", "/api/sessions?q=hello&sort=cost"):
        assert viewer.get(target).status == OK, target
    for row in viewer.get("/api/sessions").json["rows"]:
        at = row["id"]
        reads = ("skeleton", "pieces?at=0", "pieces?at=1", "pieces?at=2", "pieces?at=5", "find?q=x")
        answers = {
            **{target: viewer.get(target) for target in (f"/s/{at}", f"/s/{at}/share")},
            **{target: viewer.get(f"/api/s/{at}/{target}") for target in reads},
            "compare": viewer.get(f"/compare?left={at}&right={at}"),
            **{change: viewer.post(f"/api/s/{at}/{change}", {}) for change in ("findings", "page")},
        }
        for target, answer in answers.items():
            refused = answer.text if answer.status != OK else ""
            assert not refused or not _opens(world.file) or "no such entry" in refused, (target, refused)
        for change in ("tags", "title"):
            viewer.post(f"/api/s/{at}/{change}", {"text": "x"})


OK = 200


def _opens(file: Path) -> bool:
    try:
        Session.open(file).close()
    except BranchlineError:
        return False
    return True


def _mcp_answers(world: World) -> None:
    """What the tools of the MCP server answer."""
    history = History(lambda: SessionLibrary(str(world.file.parent)))
    json_codec.dumps(history.search("hello", limit=5), surrogates="replace")
    for row in history.sessions(limit=20, skip=0).sessions:
        with contextlib.suppress(BranchlineError):
            history.document(row.id)
        with contextlib.suppress(BranchlineError):
            json_codec.dumps(history.tree(row.id, kind="all", skip=0), surrogates="replace")
        with contextlib.suppress(BranchlineError):
            read = history.read(row.id, leaf=None, last=20, before=None)
            json_codec.dumps(read, surrogates="replace")
            for card in read.cards:
                json_codec.dumps(history.entry(row.id, card.entry, offset=0), surrogates="replace")


def _everything_reads(world: World) -> None:
    """What every list, screen and script asks of a session first."""
    _session_reads(world)
    _counts(world)
    _checks(world)
    _library_reads(world)
    _command("inspect", "FILE", "--json")(world)


PROBES: dict[str, Callable[[World], None]] = {
    **{" ".join(words): _command(*words) for words in COMMANDS},
    "Session, reading": _session_reads,
    "Session, writing": _session_writes,
    "Session.fork": _session_forks,
    "SessionLibrary": _library_reads,
    "statistics": _counts,
    "check_file": _checks,
    "peek": _peeks,
    "web pages": _web_pages,
    "MCP answers": _mcp_answers,
    "reading in every way": _everything_reads,
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
