"""Compare the token counts of branchline and ccusage, for each day and model.

    python scripts/compare_ccusage.py ~/.claude
    python scripts/compare_ccusage.py some/transcripts --ccusage "npx ccusage@18"
    python scripts/compare_ccusage.py ~/.codex --program codex --ccusage "npx ccusage@20"

The directory is an agent's home (with ``projects`` or ``sessions`` in it) or any directory of its ``.jsonl``
files. Input, cache-write and cache-read tokens must be equal; the exit code is 1 if they are not. Output
tokens are shown but decide nothing, because releases of ccusage before 20 take the first record of an answer
and not the largest. Nothing in the directory is changed: ccusage gets copies in a temporary home.

Known differences: ccusage counts every record of an answer that has no ``requestId`` (files of other
providers), release 20 also counts the copies of sub-agents' answers in ``progress`` records, and for Codex it
adds up the last call of each count, so that it misses a call whose count was not written.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any, NamedTuple

from branchline import SessionLibrary

_HOMES = {"claude-code": ("CLAUDE_CONFIG_DIR", "projects"), "codex": ("CODEX_HOME", "sessions")}
_COMMANDS = {
    "claude-code": (("claude", "daily", "--breakdown"), ("daily", "--breakdown")),
    "codex": (("codex", "daily"),),
}


class Tokens(NamedTuple):
    """The tokens of one model on one day."""

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0


Table = dict[tuple[str, str], Tokens]
"""By day and model."""


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--program", choices=sorted(_HOMES), default="claude-code")
    parser.add_argument("--ccusage", default="npx ccusage@18", help="the command (default: %(default)s)")
    parser.add_argument("--each", action="store_true", help="compare every file by itself")
    given = parser.parse_args()
    files = sorted(_files(given.directory, given.program))
    groups = [[file] for file in files] if given.each else [files]
    differing = 0
    for group in groups:
        with tempfile.TemporaryDirectory() as home:
            _fill(Path(home), group, given.program)
            theirs = _counted_by_ccusage(shlex.split(given.ccusage), home, given.program)
            ours = _counted_here(home, given.program)
        name = str(group[0]) if given.each else f"{len(files)} files"
        differing += _report(name, ours, theirs, quiet=given.each)
    _say(f"{len(groups) - differing} of {len(groups)} equal in input, cache writes and cache reads")
    return 1 if differing else 0


def _files(directory: Path, program: str) -> Iterator[Path]:
    root = directory / _HOMES[program][1]
    for path in (root if root.is_dir() else directory).rglob("*.jsonl"):
        if path.is_file():
            yield path


def _fill(home: Path, files: list[Path], program: str) -> None:
    """Copy the files to the agent's layout; sub-agents stay below the folder of their session."""
    root = home / _HOMES[program][1]
    for number, file in enumerate(files):
        if program == "codex":
            target = root / "2026" / "01" / f"{number:06}" / file.name
            if not file.name.startswith("rollout-"):
                target = target.with_name(f"rollout-2026-01-01T00-00-00-{number:032x}.jsonl")
        elif file.name.startswith("agent-"):
            target = root / f"{number:06}" / "session" / "subagents" / file.name
        else:
            target = root / f"{number:06}" / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def _counted_by_ccusage(command: list[str], home: str, program: str) -> Table:
    environment = {**os.environ, "HOME": home, _HOMES[program][0]: home}
    for arguments in _COMMANDS[program]:
        result = subprocess.run(  # noqa: S603  the command given by the user
            [*command, *arguments, "--json", "--offline", "--timezone", "UTC"],
            capture_output=True,
            env=environment,
            check=False,
        )
        try:
            answer = json.loads(result.stdout)
        except ValueError:
            continue
        found = (
            answer.get("daily", []) if isinstance(answer, dict) else []
        )  # a list means that there is no data
        table: Table = {}
        for day in found:
            for model, spent in _models(day):
                key = (day["date"], model.removesuffix("-fast"))  # a mode of the model, not another model
                table[key] = _added(table.get(key, Tokens()), spent)
        return {key: spent for key, spent in table.items() if any(spent)}
    sys.exit(f"ccusage gave no JSON: {result.stderr.decode(errors='replace')[-500:]}")


def _models(day: Mapping[str, Any]) -> Iterator[tuple[str, Tokens]]:
    named = day.get("models") or {one["modelName"]: one for one in day.get("modelBreakdowns", ())}
    for model, spent in named.items():
        yield (
            model,
            Tokens(
                spent["inputTokens"],
                spent.get("cacheCreationTokens", 0),
                spent.get("cacheReadTokens", 0),
                spent["outputTokens"],
            ),
        )


def _counted_here(home: str, program: str) -> Table:
    """Return the counts of ``branchline stats --by day,model``, in UTC."""
    library = SessionLibrary.everywhere(
        agents=[program], subagents=True, environment={_HOMES[program][0]: home}, home=home
    )
    found: Table = {}
    with library.statistics(zone=UTC) as statistics:
        for group in statistics.groups("day", "model"):
            day, model = group.keys
            spent = group.figures
            tokens = Tokens(*map(int, (spent.input, spent.cache_write, spent.cache_read, spent.output)))
            if any(tokens):
                key = day, model.rpartition("/")[2]
                found[key] = _added(found.get(key, Tokens()), tokens)
    return found


def _added(one: Tokens, other: Tokens) -> Tokens:
    return Tokens(*map(sum, zip(one, other, strict=True)))


def _report(name: str, ours: Table, theirs: Table, *, quiet: bool) -> bool:
    """Print the differences; return True if anything but output tokens differs."""
    differs = False
    lines = []
    for key in sorted({*ours, *theirs}):
        here, there = ours.get(key, Tokens()), theirs.get(key, Tokens())
        same = here[:3] == there[:3]
        differs = differs or not same
        if not same or (here != there and not quiet):
            mark = "output" if same else "DIFFERS"
            lines.append(f"  {mark:8} {key[0]} {key[1]}: branchline {tuple(here)}, ccusage {tuple(there)}")
    if lines:
        _say("\n".join([name, *lines]))
    for label, table in (("branchline", ours), ("ccusage", theirs)):
        if not quiet:
            total = Tokens(*map(sum, zip(*table.values(), strict=True))) if table else Tokens()
            _say(f"{label:10} {total._asdict()}")
    return differs


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
