"""Compare the prices of branchline and ccusage for the same calls of every model that both know.

    npm install ccusage
    python scripts/compare_ccusage_prices.py node_modules/@ccusage/ccusage-linux-x64/bin/ccusage

The argument is the executable of ccusage 20, which holds its price tables. Both programs price the same
generated sessions offline: those of Claude Code for the models of every maker, except those of Codex for OpenAI
and of Gemini CLI for Google. The exit code is 1 if a model that both know differs by more than 1 % in any case.

A model is known to both if each program has an entry under the model's own name:

- genai-prices lists the name under its maker, as an id or an alias, or with a date, ``preview``, ``exp`` or
  ``latest`` after it. It finds further names by their beginning alone, such as ``kimi-k2.6-fast`` or
  ``deepseek-r1-distill-qwen-7b``: guesses.
- ccusage uses the entry of that name, or of that name after the maker's (``google/gemini-2.5-pro``), and not
  that of a similar name. It has three tables: LiteLLM's, with Claude, OpenAI and Z.ai only, a few models in its
  code, and that of models.dev, with one entry for a name whatever hosts sell it. It looks the name up in the
  first two, then takes the longest entry there that contains the name or is contained in it, such as
  ``openrouter/openai/o3-mini:batch`` for ``o3``, and asks the third table after that in the same way.

Most of ccusage's readers look up the name that the session records. That for Gemini CLI tries it after
``google/`` first, and that for Kimi CLI after ``moonshot/``. Gateways put the maker before the name: for makers
other than the first three, if ccusage guesses the bare name but has an entry for ``maker/name`` and uses that,
it counts.

Guesses are listed with their differences and do not count. Cache writes, and those for an hour, are compared
for the models for which genai-prices has rates for them. For the others there is nothing to compare: ccusage
derives a rate from that of input.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from branchline import SessionLibrary
from branchline.context.prices import PriceList

TOLERANCE = 0.01
_START = date(2019, 1, 1)
_MILLION = 1_000_000
_BUILT_IN = {
    "claude-3-5-haiku",
    "claude-3-haiku",
    "claude-3-opus",
    "claude-3-sonnet",
    "claude-opus-4",
    "deepseek-v4-flash",
    "deepseek-v4-pro",
    "grok-4.3",
}
"""Names in ccusage's code whose prices are in none of the tables that can be read."""
_SAME_MODEL = re.compile(r"(-(preview|exp|latest))?([-@]?[\d-]+)?(-v\d+(:\d+)?)?")
"""What may follow the name of a model in that of one of its versions."""


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
    """An agent whose sessions carry the calls, as branchline and ccusage name it."""

    name: str
    command: str
    variables: tuple[str, ...]
    """The variables that name the directory with its sessions, to either program."""


CLAUDE_CODE = Agent("claude-code", "claude", ("CLAUDE_CONFIG_DIR",))
CODEX = Agent("codex", "codex", ("CODEX_HOME",))
GEMINI = Agent("gemini", "gemini", ())


class Maker(NamedTuple):
    """A maker of models, by its id in genai-prices."""

    id: str
    models: re.Pattern[str]
    """The beginning of the names of its own models; some makers sell others, too."""
    agent: Agent = CLAUDE_CODE
    prefixes: tuple[str, ...] = ()
    """How ccusage's tables write the maker before a model, as in ``xai/grok-4``."""
    other_lists: tuple[str, ...] = ()
    """Further ids of the same maker."""

    def cases(self, model: str) -> tuple[Case, ...]:
        """Return the calls of a model to compare; cache writes only if genai-prices has rates for them."""
        rated = set(_rated(self, model))
        return tuple(
            case
            for case in CASES
            if (not case.write or "cache_write_mtok" in rated)
            and (not case.hour or "cache_write_1h_mtok" in rated)
        )


def _maker(id: str, models: str, *prefixes: str, **more: Any) -> Maker:  # noqa: A002
    return Maker(id, re.compile(models, re.IGNORECASE), prefixes=prefixes, **more)


MAKERS = (
    _maker("anthropic", "claude-"),
    _maker(
        "openai",
        r"gpt-|o\d|chatgpt-|codex-|computer-use|davinci|babbage|text-|tts-|whisper-",
        agent=CODEX,
    ),
    _maker("google", "gemini-|gemma-", "google", "gemini", agent=GEMINI),
    _maker("x-ai", "grok-", "xai"),
    _maker("mistral", r"(open-)?\w+tral-", "mistral"),
    _maker("deepseek", "deepseek-", "deepseek"),
    _maker("moonshotai", "kimi-|moonshot-", "moonshotai", "moonshot"),
    _maker("zai", "glm-", "zai", other_lists=("zhipuai",)),
    _maker("minimax", "minimax-|m2-", "minimax"),
    _maker("perplexity", "sonar", "perplexity"),
    _maker("cohere", "command|embed-|c4ai-", "cohere"),
    _maker("meta", "muse-|llama-", "meta"),
    _maker("aws", r"amazon\.", "amazon"),
    _maker("azure", "phi-|mai-", "microsoft"),
    _maker("github-copilot", "mai-"),
    _maker("arcee", "trinity-", "arcee-ai"),
    _maker("typesafe", "jev-", "typesafe"),
    _maker("cursor", "composer-", "cursor"),
    _maker("voyageai", "voyage-", "voyage"),
    _maker("elevenlabs", "eleven_", "elevenlabs"),
)


_Row = tuple[float, float, float | None]
"""Dollars for a token of input, output and, if the table has it, cache read."""


class Tables(NamedTuple):
    """The price tables in an executable of ccusage: LiteLLM's and that of models.dev."""

    main: dict[str, _Row]
    second: dict[str, _Row]

    @property
    def all(self) -> dict[str, _Row]:
        """Every entry, by name."""
        return self.second | self.main


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("ccusage", type=Path, help="the executable of ccusage 20")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the prices of ccusage to FILE")
    given = parser.parse_args()
    tables = embedded_tables(given.ccusage.read_bytes())
    recorded: dict[str, Any] = {"version": _version(given.ccusage), "day": date.today().isoformat()}  # noqa: DTZ011
    differing = 0
    for maker in MAKERS:
        compared = Comparison(maker, tables, given.ccusage)
        differing += compared.report()
        if compared.known:
            recorded[maker.id] = {
                model: [round(cost, 6) for cost in compared.theirs[name]]
                for model, name in compared.known.items()
            }
    if given.record:
        given.record.write_text(_one_model_a_line(recorded), encoding="utf-8")
    return 1 if differing else 0


class Comparison:
    """The prices of all models of one maker, in both programs."""

    def __init__(self, maker: Maker, tables: Tables, ccusage: Path) -> None:
        self._maker, self._tables = maker, tables
        self.theirs: dict[str, list[float]] = {}
        self.ours: dict[str, list[float]] = {}
        priced, self._only_theirs = _names(maker, tables)
        self.known: dict[str, str] = {}
        """Names in sessions by model, for the models that both have under their name."""
        rest = priced
        for prefix in ("", *(f"{one}/" for one in maker.prefixes if maker.agent is CLAUDE_CODE)):
            tried = {model: prefix + model for model in rest if not prefix or prefix + model in tables.all}
            self._price(tried, ccusage)
            self.known |= {model: name for model, name in tried.items() if self._is_named(model, name)}
            rest = [model for model in rest if model not in self.known]
        self._only_ours = [model for model in rest if not any(self.theirs[model])]
        self._guessed = [model for model in rest if any(self.theirs[model])]
        similar = [model for model in self.known if not _is_listed(maker, model)]
        self._similar = {model: self.known.pop(model) for model in similar}

    def _price(self, names: Mapping[str, str], ccusage: Path) -> None:
        """Let both programs price the models, by the names in sessions."""
        pairs = [(name, case) for model, name in names.items() for case in self._maker.cases(model)]
        calls = [_Call(name, case, number) for number, (name, case) in enumerate(pairs)]
        if not calls:
            return
        with tempfile.TemporaryDirectory() as home:
            _WRITERS[self._maker.agent](Path(home), calls)
            self.theirs |= _priced_by_ccusage(self._maker.agent, ccusage, home, calls)
            self.ours |= _priced_here(self._maker.agent, home, calls)

    def _is_named(self, model: str, name: str) -> bool:
        """Return whether ccusage used an entry of this model's name and not of a similar one."""
        costs, tables = self.theirs[name], self._tables
        if model in _BUILT_IN or model in tables.main:
            return True
        entries = (model, *(f"{prefix}/{model}" for prefix in self._maker.prefixes))
        rows = (table[entry] for table in tables for entry in entries if entry in table)
        return any(_is_priced(costs, row) for row in rows)

    def report(self) -> int:
        """Print the result; return how many models that both know differ."""
        wrong = {name: found for name in self.known.values() if (found := list(self._differences(name)))}
        cases = sum(len(self.theirs[name]) for name in self.known.values())
        equal = cases - sum(map(len, wrong.values()))
        _say(f"{self._maker.id}: {len(self.known)} models known to both by name")
        _say(f"  {equal} of {cases} cases equal within {TOLERANCE:.0%}")
        for name, found in wrong.items():
            _say(f"  DIFFERS {name}: " + "; ".join(found))
        for title, names in (
            ("guessed by ccusage, which uses no entry of that name", self._guessed),
            ("guessed by genai-prices, which has no entry of that name", self._similar.values()),
        ):
            unequal = [name for name in names if any(self._differences(name))]
            _say(f"  {title}: {len(names)}, of which {len(unequal)} differ")
            for name in unequal:
                _say(f"    {name}: {next(self._differences(name))}{self._unused(name)}")
        _say(f"  priced only by ccusage: {len(self._only_theirs)}, only here: {len(self._only_ours)}")
        return len(wrong)

    def _unused(self, model: str) -> str:
        """Say so if ccusage has an entry of this name that it does not use."""
        if model not in self._guessed or model not in self._tables.second:
            return ""
        same = _is_priced(self.ours[model], self._tables.second[model])
        return f"; its second table has {'our' if same else 'another'} price under this name"

    def _differences(self, name: str) -> Iterator[str]:
        cases = self._maker.cases(name.rpartition("/")[2])
        for case, ours, theirs in zip(cases, self.ours[name], self.theirs[name], strict=True):
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


def _is_priced(costs: Sequence[float], rates: _Row) -> bool:
    """Return whether an ordinary call and one with cache reads cost what these rates say."""
    given, spent, read = rates
    ordinary, cached = CASES[0], CASES[1]
    expected = [ordinary.input * given + ordinary.output * spent]
    if read is not None:
        expected.append(expected[0] + cached.read * read)
    return all(abs(cost - wanted) <= 1e-6 * wanted for cost, wanted in zip(costs, expected, strict=False))


def _names(maker: Maker, tables: Tables) -> tuple[list[str], list[str]]:
    """Return the models of a maker that branchline prices, and those that only ccusage has.

    genai-prices ignores case; of several spellings, that of ccusage's bare name is the one that counts.
    """
    prefixes = tuple(f"{prefix}/" for prefix in maker.prefixes)
    bare = {name for name in (*tables.all, *_BUILT_IN) if "/" not in name}
    prefixed = {name.partition("/")[2] for name in tables.all if name.startswith(prefixes)}
    here = {model.id for provider in _providers(maker) for model in provider.models}
    names: dict[str, str] = {}
    for name in (*sorted(bare), *sorted(prefixed), *sorted(here)):
        if maker.models.match(name) and "/" not in name:
            names.setdefault(name.lower(), name)
    prices = PriceList()
    ours = sorted(name for name in names.values() if prices.rates(f"{maker.id}/{name}") is not None)
    return ours, sorted(set(names.values()) - set(ours))


def _providers(maker: Maker) -> Iterator[Any]:
    from genai_prices import data  # noqa: PLC0415  slow to import

    return (provider for provider in data.providers if provider.id in (maker.id, *maker.other_lists))


def _rated(maker: Maker, name: str) -> Iterator[str]:
    """Yield the kinds of tokens for which genai-prices has a rate."""
    for provider in _providers(maker):
        if (model := provider.find_model(name.lower())) is not None:
            prices = model.prices if isinstance(model.prices, list) else [model.prices]
            for price in prices:
                rates = vars(getattr(price, "prices", price))
                yield from (kind for kind, rate in rates.items() if rate is not None)


def _is_listed(maker: Maker, name: str) -> bool:
    """Return whether genai-prices has the name of a model, and not only one that begins like it."""
    return any(
        alias == name.lower()
        or (name.lower().startswith(alias) and _SAME_MODEL.fullmatch(name[len(alias) :]))
        for provider in _providers(maker)
        if (model := provider.find_model(name.lower())) is not None
        for alias in (model.id.lower(), *_aliases(model.match, name.lower()))
    )


def _aliases(rule: Any, name: str) -> Iterator[str]:
    """Yield the names in a rule of genai-prices, and the name itself if a pattern of the rule describes it."""
    for part in (*getattr(rule, "or_", ()), *getattr(rule, "and_", ())):
        yield from _aliases(part, name)
    for kind in ("equals", "starts_with", "contains", "ends_with"):
        if hasattr(rule, kind):
            yield getattr(rule, kind).lower()
    pattern = getattr(rule, "regex", "^(?!")
    if not pattern.startswith("^(?!") and re.search(pattern, name):
        yield name


class _Call(NamedTuple):
    model: str
    case: Case
    number: int

    @property
    def day(self) -> str:
        """A day of its own: ccusage prints the cost of a model for each day, or only that of the day."""
        return (_START + timedelta(days=self.number)).isoformat()


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
            "input_tokens": case.input + case.read + case.write,
            "cached_input_tokens": case.read,
            "cache_write_input_tokens": case.write,
            "output_tokens": case.output,
            "reasoning_output_tokens": 0,
            "total_tokens": case.input + case.read + case.write + case.output,
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


def _gemini_sessions(home: Path, calls: Iterable[_Call]) -> None:
    directory = home / ".gemini" / "tmp" / "work" / "chats"
    directory.mkdir(parents=True)
    for call in calls:
        case, time = call.case, f"{call.day}T12:00:00.000Z"
        tokens = {
            "input": case.input + case.read,
            "output": case.output,
            "cached": case.read,
            "thoughts": 0,
            "tool": 0,
            "total": case.input + case.read + case.output,
        }
        answer = {"type": "gemini", "content": "hi", "model": call.model, "tokens": tokens}
        messages = (
            {"id": f"u{call.number}", "timestamp": time, "type": "user", "content": "hi"},
            {"id": f"m{call.number}", "timestamp": time, **answer},
        )
        session = {
            "sessionId": f"{call.number:08x}-0000-7000-8000-000000000000",
            "projectHash": "work",
            "startTime": time,
            "lastUpdated": time,
            "messages": messages,
        }
        name = f"session-{call.day}T12-00-{call.number:08x}.json"
        (directory / name).write_text(_json(session), encoding="utf-8")


_WRITERS = {CLAUDE_CODE: _claude_session, CODEX: _codex_sessions, GEMINI: _gemini_sessions}


def _priced_by_ccusage(
    agent: Agent, ccusage: Path, home: str, calls: Iterable[_Call]
) -> dict[str, list[float]]:
    command = [str(ccusage), agent.command, "daily", "--json", "--offline", "--timezone", "UTC"]
    environment = {**os.environ, "HOME": home, **dict.fromkeys(agent.variables, home)}
    result = subprocess.run(command, capture_output=True, env=environment, check=True)  # noqa: S603
    days = {day.get("date", day.get("period")): day for day in json.loads(result.stdout)["daily"]}
    costs: dict[str, list[float]] = {}
    for call in calls:
        day = days.get(call.day, {})
        costs.setdefault(call.model, []).append(day.get("totalCost", day.get("costUSD", 0.0)))
    return costs


def _priced_here(agent: Agent, home: str, calls: Iterable[_Call]) -> dict[str, list[float]]:
    environment = {**dict.fromkeys(agent.variables, home), "BRANCHLINE_HOME": str(Path(home, "branchline"))}
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
    head = [
        f'"{name}": {json.dumps(value)}' for name, value in recorded.items() if not isinstance(value, dict)
    ]
    return "{\n  " + ",\n  ".join(head) + ",\n" + ",\n".join(parts) + "\n}\n"


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
