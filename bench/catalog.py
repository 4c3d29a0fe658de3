"""Benchmark of the catalog: build, search, list, statistics and append; `python -m bench.catalog`.

Everything is measured in this process, in CPU time, with a separate cache that is deleted afterwards. The
corpus resembles Claude Code transcripts: most fields are not text. The peer is fast-resume (PyPI), which
indexes prompts and answers without tool output; it is left out if it cannot be installed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from bench import foreign, generate, search_corpus
from bench.generate import CACHE, MEGABYTE
from bench.report import Row, table

FAST_RESUME = "fast-resume==2.14.*"
INDEX_MEGABYTES, INDEX_SECONDS, INDEX_SHARE, SIZE_SHARE = 350, 5.0, 3.5, 0.12
SEARCH_SECONDS, LIST_SECONDS, APPEND_SECONDS, STATS_SECONDS = 0.050, 0.030, 0.005, 0.050
RECALL = 0.9
_STEPS = 2


def transcripts(megabytes: int) -> Path:
    """Generate Claude Code transcripts in which about a seventh of all bytes is text, as in real ones.

    The rest repeats it, as the agent does: ``toolUseResult`` with the output, the file before the change and
    the patch line by line, and progress records with the messages of sub-agents.
    """
    sources = sorted(foreign.library("claude-code", 2_000, 125).iterdir())

    def write(draft: Path) -> None:
        project = draft / ".claude" / "projects" / "-home-dev-branchline-bench"
        project.mkdir(parents=True)
        size, random, sessions = 0, Random(generate.SEED), list[Path]()
        for copy, source in ((copy, source) for copy in itertools.count() for source in sources):
            sessions.append(project / (source.name if not copy else f"{copy:08x}{source.name[8:]}"))
            with sessions[-1].open("wb") as out:
                out.writelines(_padded(source.read_bytes(), copy, random))
                size += out.tell()
            if size >= megabytes * MEGABYTE:
                break
        search_corpus.plant(sessions)

    return generate._kept(f"claude-code-with-probes-{megabytes}MB", write)  # noqa: SLF001  one cache, one digest


def _padded(data: bytes, copy: int, random: Random) -> Iterator[bytes]:
    """Yield the lines of a session with Claude Code's additional records; a copy has other ids."""
    before = None
    for number, line in enumerate(data.splitlines()):
        fields = json.loads(line) | {"parentUuid": before}
        if copy:
            fields["uuid"] = f"{copy:04x}{fields['uuid'][4:]}"
        before = fields["uuid"]
        content = fields["message"]["content"]
        if isinstance(content, list) and content[0]["type"] == "tool_result":
            content[0]["content"] += search_corpus.identifiers(random)
            fields["toolUseResult"] = _result(content[0]["content"])
            yield _line(fields)
            continue
        yield _line(fields)
        inner = {"type": fields["type"], "message": fields["message"], "timestamp": fields["timestamp"]}
        told = {"type": "agent_progress", "prompt": "", "agentId": f"{number:08x}", "message": inner}
        place = {name: value for name, value in fields.items() if name != "message"}
        for step in range(_STEPS):
            links = {"uuid": f"{fields['uuid'][:-4]}{step + 1:04x}", "parentUuid": before}
            about = {"data": {**told, "normalizedMessages": [inner]}, "toolUseID": f"agent_msg_{number}"}
            yield _line({**place, **links, "type": "progress", **about})
            before = links["uuid"]


def _result(text: str) -> dict[str, Any]:
    """Return the record of a tool result that is stored in addition to the model's input."""
    lines = text.split("\n")
    hunk = {"oldStart": 1, "oldLines": len(lines), "newStart": 1, "newLines": len(lines)}
    return {
        "stdout": text,
        "stderr": "",
        "interrupted": False,
        "filePath": "/home/dev/branchline-bench/src/parser/index.ts",
        "originalFile": text,
        "content": text,
        "structuredPatch": [
            {**hunk, "lines": [" " + one for one in lines]},
            {**hunk, "lines": ["-" + one for one in lines]},
        ],
        "userModified": False,
        "file": {"content": text, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)},
    }


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def cpu(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of a function, including child processes."""
    before = _used()
    work()
    return _used() - before


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.catalog", description="Measure the catalog.")
    parser.add_argument("--megabytes", type=int, default=INDEX_MEGABYTES, help="size of the corpus (350)")
    parser.add_argument("--many", action="store_true", help="also list 50,000 sessions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to FILE")
    options = parser.parse_args()
    home = transcripts(options.megabytes)
    with tempfile.TemporaryDirectory(prefix="bench-catalog-", dir=CACHE) as scratch:
        os.environ["BRANCHLINE_HOME"] = scratch
        rows = list(_rows(home, Path(scratch), options.megabytes, many=options.many))
    print(table(rows, ("fast-resume",)))
    if options.json:
        figures = [
            {"name": row.name, "ours": row.ours, "peers": row.peers, "goal": row.goal, "met": row.met}
            for row in rows
        ]
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def _rows(home: Path, scratch: Path, megabytes: int, *, many: bool) -> Iterator[Row]:
    import branchline.catalog.record
    from branchline import SessionLibrary

    branchline.catalog.record._RACE_NS = 0  # noqa: SLF001  files that were just written count as settled
    library = SessionLibrary.everywhere(home=home, environment={"BRANCHLINE_HOME": str(scratch)})
    size = sum(path.stat().st_size for path in home.rglob("*.jsonl"))
    peer = _fast_resume(home, scratch)
    ours = cpu(library.update_index)
    has_goal = megabytes == INDEX_MEGABYTES
    yield Row(
        name=f"index {size / MEGABYTE:.0f} MB",
        unit="s",
        ours=ours,
        peers={"fast-resume": peer},
        ratio=None if peer is None else ours / peer,
        goal=f"≤ {INDEX_SECONDS:g} s, ≤ {INDEX_SHARE:g} x" if has_goal else "",
        met=ours <= INDEX_SECONDS and (peer is None or ours / peer <= INDEX_SHARE) if has_goal else None,
    )
    database = sum(path.stat().st_size for path in (scratch / "cache").iterdir())
    share = database / size
    yield Row(
        name="size of the index",
        unit="B",
        ours=database,
        ratio=share,
        goal="≤ 12 %" if has_goal else "",
        met=share <= SIZE_SHARE if has_goal else None,
    )
    yield from _searches(library, home)
    yield _limited("list, warm", min(cpu(lambda: library.list(deep=True)) for _ in range(5)), LIST_SECONDS)
    yield _limited(
        "statistics by day and model",
        min(cpu(lambda: library.stats(("day", "model"))) for _ in range(5)),
        STATS_SECONDS,
    )
    yield from _statistics(scratch)
    if many:
        yield from _many(scratch)
    yield from _append(scratch)
    yield from _process(home, scratch)


def _searches(library: Any, home: Path) -> Iterator[Row]:
    """Measure each query once, after one search that opens the database; then look for every probe."""
    library.search("parser")
    for kind, queries in search_corpus.queries(home).items():
        times = [cpu(partial(library.search, query)) for query in queries]
        yield _limited(f"search: {kind}, p95 of {len(times)} queries", p95(times), SEARCH_SECONDS)
    found: dict[str, list[bool]] = {}
    for probe in search_corpus.probes():
        hits = library.search(probe.query)
        found.setdefault(probe.kind, []).append(any(hit.entry == probe.entry for hit in hits))
    for kind, results in found.items():
        share = sum(results) / len(results)
        name = f"recall: {kind}, {len(results)} probes"
        yield Row(name=name, unit="%", ours=share, goal=f"≥ {RECALL:.0%}", met=share >= RECALL)


def _statistics(scratch: Path) -> Iterator[Row]:
    """Measure sums by every key over 400,000 answers in 2,000 sessions, in a separate catalog."""
    from branchline.catalog import Catalog
    from branchline.catalog.statistics import Period, ScopeFile, sums
    from branchline.views.stats import Dimension

    draw = Random(generate.SEED)
    models = [f"{provider}/{model}" for provider, model in generate.MODELS]
    with Catalog.open(environment={"BRANCHLINE_HOME": str(scratch / "statistics")}) as catalog:
        run, number = catalog.connection.execute, 0
        run("BEGIN")
        for file in range(1, 2_001):
            run(
                "INSERT INTO file (id, path, device, inode, size, modified_ns, changed_ns, checked_ns,"
                " indexed, record) VALUES (?, ?, 1, ?, 1, 1, 1, 1, 1, x'')",
                (file, f"/sessions/{file}", file),
            )
            ms, model = generate.START + draw.randrange(365 * 86_400) * 1000, draw.choice(models)
            for position in range(200):
                number, ms = number + 1, ms + draw.randrange(5, 120) * 1000
                entry = (number, file, f"{number:08x}", position, model, ms, number)
                run(
                    "INSERT INTO doc VALUES"
                    " (?, ?, ?, ?, 0, 9, 'message', 'assistant', 'bash', ?, ?, 1, ?, 1, 0, 0, 1)",
                    entry,
                )
                cost = 0.01 if file % 2 else None
                run(
                    "INSERT INTO usage VALUES (?, ?, ?, 9, 9, 9, 9, 0, 36, ?, NULL, 1)",
                    (number, file, model, cost),
                )
        run("COMMIT")
        scope = [
            ScopeFile(
                file,
                "pi" if file % 3 else "codex",
                f"/work/{file % 50}",
                f"{file}",
                f"branch-{file % 5}",
                file,
            )
            for file in range(1, 2_001)
        ]
        keys: tuple[Dimension, ...] = ("day", "week", "month", "hour", "model", "agent", "directory", "tool")
        sums(catalog, scope, (), Period())  # brings the roll-up up to date
        times = {
            key: min(cpu(partial(sums, catalog, scope, (key,), Period())) for _ in range(5)) for key in keys
        }
    slowest = max(times, key=times.__getitem__)
    yield _limited(f"statistics, 400,000 answers, by {slowest} (the slowest)", times[slowest], STATS_SECONDS)


def fifty_thousand() -> Path:
    """Generate a home with 50,000 short Claude Code transcripts in 500 projects."""

    def write(draft: Path) -> None:
        draw = Random(generate.SEED)
        for number in range(500):
            project = draft / ".claude" / "projects" / f"-home-dev-project{number}"
            project.mkdir(parents=True)
            for place in range(100):
                session, prompt, answer = (str(UUID(int=draw.getrandbits(128), version=4)) for _ in range(3))
                about = {"cwd": f"/home/dev/project{number}", "sessionId": session, "version": "2.1.0"}
                asked = {"role": "user", "content": f"Fix the parser {place}"}
                told: dict[str, Any] = {
                    "id": f"msg_{answer}",
                    "role": "assistant",
                    "model": "claude-sonnet-4-5",
                }
                told |= {"content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"}
                first = {**about, "type": "user", "uuid": prompt, "parentUuid": None, "message": asked}
                second = {**about, "type": "assistant", "uuid": answer, "parentUuid": prompt, "message": told}
                lines = (one | {"timestamp": "2026-01-01T00:00:00.000Z"} for one in (first, second))
                (project / f"{session}.jsonl").write_bytes(b"".join(map(_line, lines)))

    return generate._kept("fifty-thousand", write)  # noqa: SLF001  one cache, one digest


def _many(scratch: Path) -> Iterator[Row]:
    from branchline import SessionLibrary

    place = scratch / "many"
    library = SessionLibrary.everywhere(home=fifty_thousand(), environment={"BRANCHLINE_HOME": str(place)})
    library.list(deep=True)
    page = min(cpu(partial(library.known_rows, 50)) for _ in range(5))
    yield _limited("list 50,000: the first page", page, 0.010)
    whole = min(cpu(partial(library.known_rows, 50_000)) for _ in range(3))
    yield _limited("list 50,000: all rows, unchecked", whole, 0.150)
    check = min(cpu(partial(library.iter_rows, deep=True)) for _ in range(3))
    yield _limited("list 50,000: the check of all files", check, 0.350)
    checked = min(cpu(partial(library.list, deep=True)) for _ in range(3))
    yield Row(name="list 50,000: all rows, checked", unit="s", ours=checked)


def _append(scratch: Path) -> Iterator[Row]:
    from branchline import Session, SessionLibrary

    place = scratch / "appended"
    place.mkdir()
    shutil.copy(generate.small_entries(1_000), place / "session.jsonl")
    library = SessionLibrary(place)
    library.update_index()
    times = []
    with Session.open(place / "session.jsonl", durability="os") as session:
        for number in range(100):
            session.append_message({"role": "user", "content": f"the needle number{number}x"})
            times.append(cpu(partial(_must_find, library, f"number{number}x")))
        with _counted_reads(place / "session.jsonl") as read:
            session.append_message({"role": "user", "content": "the needle lastx"})
            _must_find(library, "lastx")
    yield _limited("append → found, 1,000 entries, p95", p95(times), APPEND_SECONDS)
    most = (8 << 10) + 200
    yield Row(
        name="append → found, bytes read",
        unit="B",
        ours=sum(read),
        goal="≤ 8 KiB more",
        met=sum(read) <= most,
    )


@contextlib.contextmanager
def _counted_reads(path: Path) -> Iterator[list[int]]:
    """Record how many bytes of a file each read call returns."""
    inode, counted, pread = path.stat().st_ino, list[int](), os.pread

    def counting(descriptor: int, size: int, offset: int) -> bytes:
        data = pread(descriptor, size, offset)
        if os.fstat(descriptor).st_ino == inode:
            counted.append(len(data))
        return data

    os.pread = counting
    try:
        yield counted
    finally:
        os.pread = pread


def _must_find(library: Any, query: str) -> None:
    assert len(library.search(query)) == 1


def _process(home: Path, scratch: Path) -> Iterator[Row]:
    environment = {**os.environ, "HOME": str(home), "BRANCHLINE_HOME": str(scratch)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed programs have their bytecode

    def run(*command: str) -> float:
        return min(
            cpu(lambda: subprocess.run(command, env=environment, capture_output=True, check=True))
            for _ in range(5)
        )

    bare = run(sys.executable, "-c", "pass")
    whole = run(sys.executable, "-m", "branchline", "search", "parser")
    yield _limited("branchline search, over bare python", whole - bare, 0.090)


def _limited(name: str, seconds: float, limit: float) -> Row:
    return Row(name=name, unit="s", ours=seconds, goal=f"≤ {limit * 1000:.0f} ms", met=seconds <= limit)


def _fast_resume(home: Path, scratch: Path) -> float | None:
    """Return the CPU seconds of fast-resume for the same files; None if it is unavailable."""
    target = CACHE.parent / "peers" / "fast-resume"
    program = target / "bin" / "fr"
    if not program.exists():
        install = [sys.executable, "-m", "pip", "install", "-q", "--target", str(target), FAST_RESUME]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(install, check=False, capture_output=True, timeout=120)
    if not program.exists():
        print("fast-resume is not measured: it cannot be installed here", file=sys.stderr)
        return None
    place = scratch / "fast-resume"
    place.mkdir()
    environment = {"HOME": str(place), "PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(place / "cache")}
    (place / ".claude").symlink_to(home / ".claude")
    command = [str(program), "--rebuild", "--list", "--limit", "1"]
    return cpu(
        lambda: subprocess.run(command, env=environment, capture_output=True, check=False, timeout=300)
    )


if __name__ == "__main__":
    sys.exit(main())
