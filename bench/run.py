"""The benchmark: runs every task with every program and builds the rows."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench import foreign, generate
from bench.measure import Failure, Sample, Subject, best_of, best_of_each, best_start
from bench.report import Row, quantity, share_goal
from bench.works import GROWTH, NATIVE, Foreign, Work, foreign_works, growth_name, works
from interop.peers import PeerMissing, pi_073, pi_150

OURS = "branchline"
PEERS = ("pi 1.5.0", "pi 0.73.1")
GROUPS = (
    "open",
    "warm",
    "context",
    "compaction",
    "list",
    "append",
    "scaling",
    "growth",
    "turn",
    "foreign",
    "start",
)
IMPORT_SECONDS = 0.060
VERSION_SECONDS = 0.150
TURN_SECONDS = 0.005
TURN_ENTRIES = (1_000, 50_000)
TURNS = 20
# Appending must cost the same for any file size; the margin is for noise.
GROWTH_SHARE = 1.25
WARM_SIZES, WARM_SHARE = (105, 1_000), 12.0


class Benchmark:
    """Measures group by group; `remarks` lists what could not be measured, and why."""

    def __init__(self, *, runs: int, full: bool, only: Collection[str] = GROUPS) -> None:
        self.runs = runs
        self.only = only
        self.full = full
        self.works = [work for work in works(full=full) if work.group in only]
        self.remarks: list[str] = []
        self.disagreement = False
        self.samples: dict[str, dict[str, Sample | Failure]] = {}
        self.subjects = [Subject(name=OURS, command=(sys.executable, "-m", "bench.worker")), *self._peers()]

    def rows(self) -> Iterator[Row]:
        for work in self.works:
            print(f"measuring: {work.name}", file=sys.stderr)
            best = best_of(self.runs, self.subjects, work.work, work.prepare)
            self.samples[work.name] = best
            self._notice(work, best)
            yield from _rows(work, best)
        if "warm" in self.only and self.full:
            yield self._warm_growth()
        if "growth" in self.only:
            yield self._growth()
        if "turn" in self.only:
            yield from self._turns()
        if "foreign" in self.only:
            for comparison in foreign_works():
                yield from self._foreign(comparison)
        if "start" in self.only:
            yield from self._start()

    def _peers(self) -> Iterator[Subject]:
        """Return both peers on the newer Node.js, so that they differ only in their code."""
        node: Path | None = None
        script = str(Path(__file__).with_name("worker.mjs"))
        for name, provide in zip(PEERS, (pi_150, pi_073), strict=True):
            try:
                peer = provide()
            except PeerMissing as missing:
                self.remarks.append(f"{name} is not measured: {missing}")
                continue
            node = node or peer.node
            yield Subject(name=peer.name, command=(str(node), script, str(peer.module)))

    def _notice(self, work: Work, best: dict[str, Sample | Failure]) -> None:
        for name, sample in best.items():
            if isinstance(sample, Failure):
                self.remarks.append(f"{work.name}: {name} failed: {sample.reason}")
        answers = {name: sample.answer for name, sample in best.items() if isinstance(sample, Sample)}
        if len(set(answers.values())) > 1:
            self.remarks.append(f"{work.name}: the programs do not agree: {answers}")
            self.disagreement = True

    def _warm_growth(self) -> Row:
        """Compare reopening a file of ten times the size with reopening 105 MB."""
        name = "open 1 GB again + path : 105 MB"
        print(f"measuring: {name}", file=sys.stderr)
        arguments = {str(size): [str(generate.linear(size))] for size in WARM_SIZES}
        few, many = best_of_each(self.runs, self.subjects[0], "warm", arguments).values()
        known = isinstance(few, Sample) and isinstance(many, Sample)
        ratio = many.cpu / few.cpu if known else None  # type: ignore[union-attr]
        return Row(
            name=name,
            unit="s",
            ours=many.cpu if isinstance(many, Sample) else None,
            ratio=ratio,
            goal=share_goal(WARM_SHARE),
            met=_judged(many, ratio, WARM_SHARE),
        )

    def _growth(self) -> Row:
        few, many = (self.samples[growth_name(count)][OURS] for count in GROWTH)
        ratio = many.cpu / few.cpu if isinstance(few, Sample) and isinstance(many, Sample) else None
        return Row(
            name=f"append: {GROWTH[1]:,} : {GROWTH[0]:,} entries",
            unit="s",
            ours=None,
            ratio=ratio,
            goal=share_goal(GROWTH_SHARE),
            met=_judged(many, ratio, GROWTH_SHARE),
        )

    def _foreign(self, work: Foreign) -> Iterator[Row]:
        """Compare a task on the files of each other agent with the same task on native files."""
        print(f"measuring: {work.name}", file=sys.stderr)
        data = {name: work.data(name) for name in (NATIVE, *work.formats)}
        arguments = {name: foreign.arguments(work.work, name, path) for name, path in data.items()}
        best = best_of_each(self.runs, self.subjects[0], work.work, arguments)
        self.samples[work.name] = best
        native = best[NATIVE]
        for name in work.formats:
            ours, share = best[name], work.shares.get(name)
            if isinstance(ours, Failure):
                self.remarks.append(f"{work.name}: {name} failed: {ours.reason}")
            known = isinstance(ours, Sample) and isinstance(native, Sample)
            ratio = ours.cpu / native.cpu if known else None  # type: ignore[union-attr]
            if ratio is not None and work.per_byte:
                ratio *= foreign.size_of(data[NATIVE]) / foreign.size_of(data[name])
            yield Row(
                name=f"{work.name}, {name} : native",
                unit="s",
                ours=ours.cpu if isinstance(ours, Sample) else None,
                ratio=ratio,
                goal=share_goal(share),
                met=_judged(ours, ratio, share),
            )

    def _turns(self) -> Iterator[Row]:
        """Measure the overhead of the session in a turn; no peer can do this separately."""
        for count in TURN_ENTRIES:
            name = f"a turn after {count:,} entries"
            print(f"measuring: {name}", file=sys.stderr)

            def prepare(home: Path, count: int = count) -> list[str]:
                copy = shutil.copy(generate.small_entries(count), home / "session.jsonl")
                return [str(copy), str(TURNS)]

            sample = best_of(self.runs, self.subjects[:1], "turns", prepare)[OURS]
            if isinstance(sample, Failure):
                self.remarks.append(f"{name} failed: {sample.reason}")
            else:
                sample = replace(sample, cpu=sample.cpu / TURNS, wall=sample.wall / TURNS)
            yield _limited(name, sample, TURN_SECONDS)

    def _start(self) -> Iterator[Row]:
        print("measuring: start", file=sys.stderr)
        commands: dict[str, Sequence[str]] = {
            "bare": (sys.executable, "-c", "pass"),
            "import": (sys.executable, "-c", "import branchline"),
            "version": (str(Path(sys.executable).with_name("branchline")), "--version"),
        }
        best = best_start(max(self.runs, 10), commands)
        for name, sample in best.items():
            if isinstance(sample, Failure):
                self.remarks.append(f"start: {name} failed: {sample.reason}")
        bare, loaded, version = (best[name] for name in commands)
        if isinstance(bare, Sample) and isinstance(loaded, Sample):
            loaded = replace(loaded, cpu=loaded.cpu - bare.cpu, wall=loaded.wall - bare.wall)
        yield _limited("import branchline, over bare python", loaded, IMPORT_SECONDS)
        yield _limited("branchline --version", version, VERSION_SECONDS)


def _rows(work: Work, best: dict[str, Sample | Failure]) -> Iterator[Row]:
    per_entry = {
        name: replace(sample, cpu=sample.cpu / work.entries, wall=sample.wall / work.entries)
        for name, sample in best.items()
        if isinstance(sample, Sample)
    }
    ours, peer = per_entry.get(OURS), per_entry.get(PEERS[0])
    ratio = ours.cpu / peer.cpu if ours and peer else None
    row = Row(
        name=work.name,
        unit="s",
        ours=ours.cpu if ours else None,
        peers={name: per_entry[name].cpu for name in PEERS if name in per_entry},
        ratio=ratio,
        wall_ratio=ours.wall / peer.wall if ours and peer else None,
        goal=share_goal(work.share),
        met=_judged(ours, ratio, work.share),
    )
    if work.megabytes and ours:
        row = replace(row, remark=f"{work.megabytes / ours.cpu:,.0f} MB/s, peak {quantity(ours.peak, 'B')}")
    yield row
    if work.memory_share is None:
        return
    ratio = ours.peak / peer.peak if ours and peer else None
    yield Row(
        name=f"{work.name}: peak memory",
        unit="B",
        ours=ours.peak if ours else None,
        peers={name: per_entry[name].peak for name in PEERS if name in per_entry},
        ratio=ratio,
        goal=share_goal(work.memory_share),
        met=_judged(ours, ratio, work.memory_share),
    )


def _limited(name: str, sample: Sample | Failure, limit: float) -> Row:
    goal = f"≤ {limit * 1000:.0f} ms"
    if isinstance(sample, Failure):
        return Row(name=name, unit="s", ours=None, goal=goal, met=False)
    remark = f"wall {quantity(sample.wall, 's')}"
    return Row(name=name, unit="s", ours=sample.cpu, goal=goal, met=sample.cpu <= limit, remark=remark)


def _judged(ours: Sample | Failure | None, ratio: float | None, share: float | None) -> bool | None:
    """Return whether a goal is met: False if branchline failed, None without a peer."""
    if share is None:
        return None
    if not isinstance(ours, Sample):
        return False
    return None if ratio is None else ratio <= share
