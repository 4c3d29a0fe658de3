"""Compare the prices of branchline and ccusage for the same calls of every Claude and OpenAI model.

    npm install ccusage
    python scripts/compare_ccusage_prices.py node_modules/@ccusage/ccusage-linux-x64/bin/ccusage

The argument is the executable of ccusage 20, which holds its price tables. Both programs price the same
generated sessions, of Claude Code and of Codex, offline. A model counts as known to both if both have a price
under its name; the exit code is 1 if such a model differs by more than 1 % in any case.

ccusage guesses the price of a name that is not in its main table: it takes the longest entry there that
contains the name, such as ``openrouter/openai/o3-mini:batch`` for ``o3``, even if its second table has the
name. Such models are listed and do not count. Neither do names of other hosts, such as
``claude-opus-4-6@eu``, which genai-prices recognizes by their prefix only.

``--record FILE`` writes the prices of ccusage to FILE, from which ``tests/context`` tests ours without it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from branchline import SessionLibrary
from branchline.context.prices import PriceList

TOLERANCE = 0.01
_START = date(2019, 1, 1)
_MILLION = 1_000_000
_OTHER_HOSTS = re.compile(r"@[a-z]|-think(ing)?$|-fast$|-xhigh$")
_BUILT_IN = {"claude-3-5-haiku", "claude-3-haiku", "claude-3-opus", "claude-3-sonnet", "claude-opus-4"}
"""Names in ccusage's code that are in neither of its tables."""


class Case(NamedTuple):
    """The tokens of one call; ``hour`` are those written to the cache for an hour."""

    name: str
    input: int = 0
    output: int = 0
    read: int = 0
    write: int = 0
    hour: int = 0


CASES = (
    Case("ordinary call", 10_000, 20_000),
    Case("cache reads", 10_000, 20_000, read=40_000),
    Case("250,000 tokens of input", 250_000, 5_000),
    Case("300,000 tokens of input", 300_000, 5_000),
    Case("300,000 tokens of cache reads", 10_000, 5_000, read=300_000),
    Case("cache writes for five minutes", 10_000, 20_000, write=30_000),
    Case("cache writes for an hour", 10_000, 20_000, hour=30_000),
    Case("300,000 tokens of cache writes", 10_000, 5_000, write=300_000),
    Case("300,000 tokens of cache writes for an hour", 10_000, 5_000, hour=300_000),
    Case("350,000 tokens, each kind below 200,000", 100_000, 5_000, read=100_000, write=100_000, hour=50_000),
)


class Agent(NamedTuple):
    """An agent whose sessions carry the calls, and the maker of its models."""

    name: str
    maker: str
    variable: str
    command: str
    models: re.Pattern[str]
    cases: tuple[Case, ...]


AGENTS = (
    Agent("claude-code", "anthropic", "CLAUDE_CONFIG_DIR", "claude", re.compile(r"claude-"), CASES),
    Agent(
        "codex",
        "openai",
        "CODEX_HOME",
        "codex",
        re.compile(r"gpt-|o\d|chatgpt-|codex-|computer-use|davinci|babbage|text-|tts-|whisper-"),
        tuple(case for case in CASES if not case.write + case.hour),
    ),
)


_Row = tuple[float, float, float | None]
"""Dollars for a token of input, output and, if the table has it, cache read."""


class Tables(NamedTuple):
    """The price tables in an executable of ccusage: LiteLLM's and that of models.dev."""

    main: dict[str, _Row]
    second: dict[str, _Row]


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("ccusage", type=Path, help="the executable of ccusage 20")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the prices of ccusage to FILE")
    given = parser.parse_args()
    tables = embedded_tables(given.ccusage.read_bytes())
    recorded: dict[str, Any] = {"version": _version(given.ccusage)}
    differing = 0
    for agent in AGENTS:
        compared = Comparison(agent, tables, given.ccusage)
        differing += compared.report()
        recorded[agent.maker] = {
            model: [round(cost, 6) for cost in compared.theirs[model]] for model in compared.known
        }
    if given.record:
        given.record.write_text(_one_model_a_line(recorded), encoding="utf-8")
    return 1 if differing else 0


class Comparison:
    """The prices of all models of one maker, in both programs."""

    def __init__(self, agent: Agent, tables: Tables, ccusage: Path) -> None:
        self.agent, self._tables = agent, tables
        prices = PriceList()
        names = {*tables.main, *tables.second, *_BUILT_IN, *_our_names(agent.maker)}
        named = sorted(name for name in names if agent.models.match(name) and "/" not in name)
        ours = [name for name in named if prices.rates(f"{agent.maker}/{name}") is not None]
        self.only_theirs = sorted(set(named) - set(ours))
        with tempfile.TemporaryDirectory() as home:
            calls = _calls(ours, agent.cases)
            {"claude-code": _claude_session, "codex": _codex_sessions}[agent.name](Path(home), calls)
            self.theirs = _priced_by_ccusage(agent, ccusage, home, calls)
            self.ours = _priced_here(agent, home, calls)
        self.only_ours = [name for name in ours if not any(self.theirs[name])]
        priced = [name for name in ours if any(self.theirs[name])]
        self.hosts = [name for name in priced if _OTHER_HOSTS.search(name)]
        self.guessed = [
            name
            for name in priced
            if name not in self.hosts and not _is_named(name, tables, self.theirs[name])
        ]
        self.known = [name for name in priced if name not in self.hosts and name not in self.guessed]

    def report(self) -> int:
        """Print the result; return how many models that both know differ."""
        cases = len(self.agent.cases)
        wrong = {name: found for name in self.known if (found := list(self._differences(name)))}
        equal = cases * len(self.known) - sum(map(len, wrong.values()))
        _say(f"{self.agent.maker}: {len(self.known)} models known to both by name")
        _say(f"  {equal} of {cases * len(self.known)} cases equal within {TOLERANCE:.0%}")
        for name, found in wrong.items():
            _say(f"  DIFFERS {name}: " + "; ".join(found))
        for title, names in (
            ("guessed by ccusage, which has no entry of that name in its main table", self.guessed),
            ("names of other hosts, guessed by genai-prices", self.hosts),
        ):
            unequal = [name for name in names if any(self._differences(name))]
            _say(f"  {title}: {len(names)}, of which {len(unequal)} differ")
            for name in unequal:
                _say(f"    {name}: {next(self._differences(name))}{self._unused(name)}")
        _say(f"  priced only by ccusage: {len(self.only_theirs)}, only here: {len(self.only_ours)}")
        return len(wrong)

    def _unused(self, model: str) -> str:
        """Say so if ccusage has an entry of this name that it does not use."""
        if model not in self.guessed or model not in self._tables.second:
            return ""
        same = _is_priced(self.ours[model], self._tables.second[model])
        return f"; its second table has {'our' if same else 'another'} price under this name"

    def _differences(self, model: str) -> Iterator[str]:
        for case, ours, theirs in zip(self.agent.cases, self.ours[model], self.theirs[model], strict=True):
            if abs(ours - theirs) > TOLERANCE * theirs:
                yield f"{case.name} branchline ${ours:.4f}, ccusage ${theirs:.4f}"


def embedded_tables(executable: bytes) -> Tables:
    """Return the price tables of ccusage: raw deflate streams of JSON objects in its executable."""
    found: list[dict[str, Any]] = []
    position = 0
    while len(found) < 2:
        start = _next_stream(executable, position)
        if start is None:
            sys.exit("this executable has no price tables that can be read; give that of ccusage 20")
        stream = zlib.decompressobj(-15)
        try:
            table = json.loads(stream.decompress(executable[start:]))
        except (ValueError, zlib.error):
            position = start + 1
            continue
        found.append(table)
        position = len(executable) - len(stream.unused_data)
    return Tables(
        {name: (one["i"], one["o"], one.get("cr")) for name, one in found[0].items()},
        {
            name: row
            for name, one in found[1].items()
            if (row := _second_row(one.get("cost", {}))) is not None
        },
    )


def _second_row(cost: dict[str, Any]) -> _Row | None:
    if "input" not in cost or "output" not in cost:
        return None
    read = cost["cache_read"] / _MILLION if "cache_read" in cost else None
    return cost["input"] / _MILLION, cost["output"] / _MILLION, read


def _next_stream(data: bytes, position: int) -> int | None:
    """Return where the next stream begins whose first bytes are those of a JSON table of models."""
    for start in range(position, len(data)):
        try:
            text = zlib.decompressobj(-15).decompress(data[start : start + 200], 200)
        except zlib.error:
            continue
        if text.startswith(b'{"') and b'":{"' in text:
            return start
    return None


def _is_named(name: str, tables: Tables, costs: Sequence[float]) -> bool:
    """Return whether ccusage used an entry of this name and not a similar one."""
    if name in tables.main or name in _BUILT_IN:
        return True
    if name not in tables.second:
        return False
    return _is_priced(costs, tables.second[name])


def _is_priced(costs: Sequence[float], rates: _Row) -> bool:
    """Return whether an ordinary call and one with cache reads cost what these rates say."""
    given, spent, read = rates
    ordinary, cached = CASES[0], CASES[1]
    expected = [ordinary.input * given + ordinary.output * spent]
    if read is not None:
        expected.append(expected[0] + cached.read * read)
    return all(abs(cost - wanted) <= 1e-6 * wanted for cost, wanted in zip(costs, expected, strict=False))


def _our_names(maker: str) -> Iterator[str]:
    from genai_prices import data  # noqa: PLC0415  slow to import

    for provider in data.providers:
        if provider.id == maker:
            yield from (model.id for model in provider.models)


class _Call(NamedTuple):
    model: str
    case: Case
    number: int

    @property
    def day(self) -> str:
        """A day of its own: ccusage prints the cost of a model for each day, or only that of the day."""
        return (_START + timedelta(days=self.number)).isoformat()


def _calls(models: Iterable[str], cases: Sequence[Case]) -> list[_Call]:
    pairs = ((model, case) for model in models for case in cases)
    return [_Call(model, case, number) for number, (model, case) in enumerate(pairs)]


def _claude_session(home: Path, calls: Iterable[_Call]) -> None:
    project = home / "projects" / "-work"
    project.mkdir(parents=True)
    with (project / "session.jsonl").open("w", encoding="utf-8") as out:
        for model, case, number in calls:
            usage = {
                "input_tokens": case.input,
                "output_tokens": case.output,
                "cache_read_input_tokens": case.read,
                "cache_creation_input_tokens": case.write + case.hour,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": case.write,
                    "ephemeral_1h_input_tokens": case.hour,
                },
            }
            content = [{"type": "text", "text": "hi"}]
            message = {"id": f"m{number}", "role": "assistant", "model": model, "content": content}
            line = {
                "type": "assistant",
                "sessionId": "session",
                "cwd": "/work",
                "version": "2.0.0",
                "uuid": f"u{number}",
                "parentUuid": f"u{number - 1}" if number else None,
                "requestId": f"r{number}",
                "timestamp": f"{_Call(model, case, number).day}T12:00:00.000Z",
                "message": {**message, "usage": usage},
            }
            out.write(_json(line))


def _codex_sessions(home: Path, calls: Iterable[_Call]) -> None:
    for call in calls:
        directory = home / "sessions" / call.day.replace("-", "/")
        directory.mkdir(parents=True)
        session = f"{call.number:08x}-0000-7000-8000-000000000000"
        case, time = call.case, f"{call.day}T12:00:00.000Z"
        usage = {
            "input_tokens": case.input + case.read,
            "cached_input_tokens": case.read,
            "output_tokens": case.output,
            "reasoning_output_tokens": 0,
            "total_tokens": case.input + case.read + case.output,
        }
        about = {"id": session, "timestamp": time, "cwd": "/work", "cli_version": "0.50.0"}
        count = {"total_token_usage": usage, "last_token_usage": usage}
        records = (
            ("session_meta", {**about, "originator": "codex_cli_rs", "model_provider": "openai"}),
            ("turn_context", {"cwd": "/work", "model": call.model}),
            ("event_msg", {"type": "token_count", "info": {**count, "model_context_window": 1_000_000}}),
        )
        lines = (_json({"timestamp": time, "type": kind, "payload": payload}) for kind, payload in records)
        name = f"rollout-{call.day}T12-00-00-{session}.jsonl"
        (directory / name).write_text("".join(lines), encoding="utf-8")


def _priced_by_ccusage(
    agent: Agent, ccusage: Path, home: str, calls: Iterable[_Call]
) -> dict[str, list[float]]:
    command = [str(ccusage), agent.command, "daily", "--json", "--offline", "--timezone", "UTC"]
    environment = {**os.environ, "HOME": home, agent.variable: home}
    result = subprocess.run(command, capture_output=True, env=environment, check=True)  # noqa: S603
    days = {day["date"]: day for day in json.loads(result.stdout)["daily"]}
    costs: dict[str, list[float]] = {}
    for call in calls:
        day = days.get(call.day, {})
        costs.setdefault(call.model, []).append(day.get("totalCost", day.get("costUSD", 0.0)))
    return costs


def _priced_here(agent: Agent, home: str, calls: Iterable[_Call]) -> dict[str, list[float]]:
    environment = {agent.variable: home, "BRANCHLINE_HOME": str(Path(home, "branchline"))}
    library = SessionLibrary.everywhere(agents=[agent.name], environment=environment, home=home)
    with library.statistics(zone=UTC) as statistics:
        days = {group.name: group.figures.cost for group in statistics.groups("day")}
    costs: dict[str, list[float]] = {}
    for call in calls:
        costs.setdefault(call.model, []).append(days[call.day])
    return costs


def _one_model_a_line(recorded: dict[str, Any]) -> str:
    makers = {
        maker: ",\n".join(f"    {json.dumps(model)}: {json.dumps(costs)}" for model, costs in models.items())
        for maker, models in recorded.items()
        if isinstance(models, dict)
    }
    parts = [f'  "{maker}": {{\n{lines}\n  }}' for maker, lines in makers.items()]
    return ",\n".join([f'{{\n  "version": "{recorded["version"]}"', *parts]) + "\n}\n"


def _version(ccusage: Path) -> str:
    result = subprocess.run([str(ccusage), "--version"], capture_output=True, text=True, check=True)  # noqa: S603
    return result.stdout.split()[-1]


def _json(value: Any) -> str:
    """Encode without spaces: ccusage looks for ``"usage":{`` before it decodes a line."""
    return json.dumps(value, separators=(",", ":")) + "\n"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
