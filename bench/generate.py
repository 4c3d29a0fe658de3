"""Sessions to measure with: large, lifelike, and the same on every machine.

Everything is drawn from one seed and written entry by entry, so that a gigabyte needs no memory. Files are
kept in `.cache/bench/data` under a digest of this source: a change here makes new data and drops the old.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import msgspec

from bench import texts
from bench.texts import Texts

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "bench"
SEED = 20261115
START = 1_794_700_000_000
MEGABYTE = 1_000_000
CWD = "/home/dev/branchline-bench"
KEPT = 200
MODELS = (("anthropic", "claude-sonnet-4-5"), ("anthropic", "claude-opus-4-5"), ("openai", "gpt-5"))


def linear(megabytes: int) -> Path:
    """One long conversation without a branch."""

    def write(draft: Path) -> None:
        with draft.open("wb") as out:
            scribe = Scribe(out, seed=SEED)
            scribe.begin()
            scribe.talk(until=megabytes * MEGABYTE)

    return _kept(f"linear-{megabytes}MB.jsonl", write)


def compacted(megabytes: int) -> Path:
    """The linear conversation, compacted near its end; the last 200 entries are kept."""

    def write(draft: Path) -> None:
        with draft.open("wb") as out:
            scribe = Scribe(out, seed=SEED)
            scribe.begin()
            scribe.talk(until=megabytes * MEGABYTE)
            scribe.compact()
            scribe.turn()

    return _kept(f"compacted-{megabytes}MB.jsonl", write)


def branchy(megabytes: int) -> Path:
    """A conversation that often goes back: branches, summaries, labels, changes of model."""

    def write(draft: Path) -> None:
        with draft.open("wb") as out:
            scribe = Scribe(out, seed=SEED + 1)
            scribe.begin()
            while scribe.size < megabytes * MEGABYTE:
                scribe.turn()
                scribe.wander()
            scribe.turn()

    return _kept(f"branchy-{megabytes}MB.jsonl", write)


def small_entries(count: int) -> Path:
    """A conversation of many small messages, to see whether appending to it grows dearer."""

    def write(draft: Path) -> None:
        with draft.open("wb") as out:
            scribe = Scribe(out, seed=SEED + 2)
            scribe.begin()
            while scribe.count < count:
                scribe.message({"role": "user", "content": scribe.draw.words(12)})
                answer = [_text(scribe.draw.words(20))]
                scribe.message(_assistant(answer, MODELS[0], _usage(scribe.random), "stop"))

    return _kept(f"entries-{count}.jsonl", write)


def messages(count: int) -> Path:
    """A JSON array of messages of about 1 KB to append: prompts and answers in turn."""

    def write(draft: Path) -> None:
        draw = Texts(Random(SEED + 3))
        prompts = [{"role": "user", "content": [_text(draw.code(960))]} for _ in range(count)]
        answers = [
            _assistant([_text(draw.code(560))], MODELS[0], _usage(draw.random), "stop") for _ in prompts
        ]
        turns = [message for pair in zip(prompts, answers, strict=True) for message in pair]
        dated = [{**message, "timestamp": START + index} for index, message in enumerate(turns[:count])]
        draft.write_bytes(msgspec.json.encode(dated))

    return _kept(f"messages-{count}.json", write)


def library(sessions: int, megabytes: int) -> Path:
    """A directory as pi keeps it: many sessions of very different sizes, some named, some forks of others."""
    place = f"agent/sessions/--{CWD.strip('/').replace('/', '-')}--"

    def write(draft: Path) -> None:
        draft.mkdir()
        random = Random(SEED + 4)
        weights = [random.lognormvariate(0, 1.3) for _ in range(sessions)]
        scribes: list[Scribe] = []
        for index, weight in enumerate(weights):
            parent = random.choice(scribes) if scribes and random.random() < 0.1 else None
            at, seed = START + index * 3_600_000, SEED + 5 + index
            name = f"{_iso(at).replace(':', '-').replace('.', '-')}_{_session_id(at, seed)}.jsonl"
            with (draft / name).open("wb") as out:
                scribe = Scribe(out, seed=seed, at=at)
                # The last answer comes after the size is reached: about four kilobytes more.
                size = int(megabytes * MEGABYTE * weight / sum(weights)) - 4_000
                if parent is None:
                    scribe.begin()
                else:
                    lines = (draft / parent.name).read_bytes()[: max(size // 2, 0)]
                    scribe.fork(parent, lines, _home() / place / parent.name)
                if random.random() < 0.3:
                    scribe.entry("session_info", name=scribe.draw.words(4).title())
                scribe.talk(until=size)
            os.utime(draft / name, (scribe.now / 1000, scribe.now / 1000))
            scribes.append(scribe)

    return _kept(place, write)


class Scribe:
    """Writes one session, entry by entry; no id is given twice."""

    def __init__(self, out: BinaryIO, *, seed: int, at: int = START) -> None:
        self.out = out
        self.random = Random(seed)
        self.draw = Texts(self.random)
        self.name = os.path.basename(getattr(out, "name", ""))
        self.seed = seed
        self.now = at
        self.size = 0
        self.count = 0
        self.leaf: str | None = None
        self.model = MODELS[0]
        self.recent: deque[str] = deque(maxlen=KEPT)
        self.turns: list[str] = []

    def begin(self) -> None:
        self._header()
        self.entry("model_change", provider=self.model[0], modelId=self.model[1])
        self.entry("thinking_level_change", thinkingLevel="medium")

    def fork(self, parent: Scribe, start: bytes, path: Path) -> None:
        """Begin with the first lines of another session, as they are."""
        copied = start.split(b"\n")[1:-1]
        self._header(parentSession=str(path))
        for line in copied:
            self._write_line(line)
            self.leaf = msgspec.json.decode(line)["id"]
        # The parent's ids go on here, far behind its own, so that new ones meet no copied one.
        self.seed, self.count = parent.seed, parent.count + 1_000_000

    def talk(self, *, until: int) -> None:
        """Turns until the file has this size, at least one."""
        self.turn(until=until)
        while self.size < until:
            self.turn(until=until)

    def turn(self, *, until: int | None = None) -> None:
        """A prompt, some rounds of tool calls, an answer; fewer rounds when the size is reached."""
        self.user()
        for _ in range(1 + int(self.random.expovariate(1 / 3.5))):
            if until is not None and self.size >= until:
                break
            call = self.tool_call()
            self.assistant(call)
            self.tool_result(call)
        self.turns.append(self.assistant())

    def wander(self) -> None:
        """After a turn: perhaps a label, another model, or a step back to an earlier turn."""
        chance = self.random.random
        if chance() < 0.10:
            self.entry("label", targetId=self.random.choice(self.turns), label=self.draw.words(2))
        if chance() < 0.05:
            self.model = self.random.choice(MODELS)
            self.entry("model_change", provider=self.model[0], modelId=self.model[1])
        if chance() < 0.02:
            self.entry("session_info", name=self.draw.words(5).capitalize())
        if chance() < 0.03:
            self.entry(
                "custom", customType="bench", data={"turn": len(self.turns), "note": self.draw.words(8)}
            )
        if chance() < 0.15:
            left, self.leaf = self.leaf, self.random.choice(self.turns[-40:])
            if chance() < 0.4:
                self.entry("branch_summary", fromId=left, summary=self.draw.prose(900), fromHook=False)

    def compact(self) -> None:
        self.entry(
            "compaction",
            summary=self.draw.prose(6000),
            firstKeptEntryId=self.recent[0],
            tokensBefore=180_000,
            details={"readFiles": [f"src/{word}.py" for word in texts.WORDS[:9]], "modifiedFiles": []},
            fromHook=False,
        )

    def user(self) -> None:
        self.message({"role": "user", "content": [_text(self.draw.prose(self.draw.length(180)))]})

    def tool_call(self) -> dict[str, Any]:
        draw, tool = self.draw, self.random.choice(("read", "read", "bash", "edit"))
        arguments = {"path": draw.file()}
        if tool == "bash":
            arguments = {"command": f"grep -n {draw.words(1)} {draw.file()} | head"}
        elif tool == "edit":
            arguments |= {"oldText": draw.code(300), "newText": draw.code(400)}
        key = f"toolu_{self.random.getrandbits(96):024x}"
        return {"type": "toolCall", "id": key, "name": tool, "arguments": arguments}

    def assistant(self, call: dict[str, Any] | None = None) -> str:
        """An answer that calls a tool, or, without a call, one that ends the turn."""
        draw, content = self.draw, list[dict[str, Any]]()
        if self.random.random() < 0.6:
            signature = f"{self.random.getrandbits(1200):x}"
            thinking = draw.prose(draw.length(400))
            content.append({"type": "thinking", "thinking": thinking, "thinkingSignature": signature})
        if call is None:
            content.append(_text(draw.prose(draw.length(350))))
            return self.message(_assistant(content, self.model, _usage(self.random), "stop"))
        if self.random.random() < 0.5:
            content.append(_text(draw.prose(draw.length(120))))
        content.append(call)
        return self.message(_assistant(content, self.model, _usage(self.random), "toolUse"))

    def tool_result(self, call: dict[str, Any]) -> None:
        text = self.draw.code(min(self.draw.length(900, spread=1.2), 50_000))
        result = {"role": "toolResult", "toolCallId": call["id"], "toolName": call["name"]}
        self.message({**result, "content": [_text(text)], "isError": False})

    def message(self, message: dict[str, Any]) -> str:
        return self.entry("message", message={**message, "timestamp": self.now})

    def entry(self, kind: str, **payload: Any) -> str:
        # An odd factor permutes the 32-bit numbers: the ids look random and never meet.
        key = f"{(self.count * 0x9E3779B1 + self.seed) & 0xFFFFFFFF:08x}"
        self._write({"type": kind, "id": key, "parentId": self.leaf, "timestamp": _iso(self.now), **payload})
        self.count += 1
        self.now += self.random.randrange(50, 20_000)
        self.leaf = key
        self.recent.append(key)
        return key

    def _header(self, **more: str) -> None:
        session = {"type": "session", "version": 3, "id": _session_id(self.now, self.seed)}
        self._write({**session, "timestamp": _iso(self.now), "cwd": CWD, **more})

    def _write(self, record: dict[str, Any]) -> None:
        self._write_line(msgspec.json.encode(record))

    def _write_line(self, line: bytes) -> None:
        self.out.write(line + b"\n")
        self.size += len(line) + 1


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _assistant(
    content: list[dict[str, Any]], model: tuple[str, str], usage: dict[str, Any], stop: str
) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": content,
        "api": "anthropic-messages",
        "provider": model[0],
        "model": model[1],
        "usage": usage,
        "stopReason": stop,
    }


def _usage(random: Random) -> dict[str, Any]:
    read, wrote, out = (random.randrange(limit) for limit in (150_000, 9_000, 2_000))
    cost = {"input": 0.000012, "output": out * 15e-6, "cacheRead": read * 3e-7, "cacheWrite": wrote * 3.75e-6}
    tokens = {"input": 4, "output": out, "cacheRead": read, "cacheWrite": wrote}
    return {**tokens, "totalTokens": sum(tokens.values()), "cost": {**cost, "total": sum(cost.values())}}


def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _session_id(milliseconds: int, seed: int) -> str:
    """A UUIDv7 of this time, the same on every run."""
    noise = Random(seed).getrandbits(74)
    digits = f"{milliseconds:012x}7{noise >> 62:03x}{0x8 | (noise >> 60) & 3:x}{noise & (1 << 60) - 1:015x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@cache
def _home() -> Path:
    sources = b"".join(Path(source).read_bytes() for source in (__file__, texts.__file__))
    return CACHE / "data" / hashlib.sha256(sources).hexdigest()[:12]


def _kept(name: str, write: Callable[[Path], None]) -> Path:
    """The file or directory of this name, written now if it is not there yet."""
    home = _home()
    if not home.is_dir():
        shutil.rmtree(home.parent, ignore_errors=True)
    path, draft = home / name, home / f"draft-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        shutil.rmtree(draft, ignore_errors=True)
        draft.unlink(missing_ok=True)
        write(draft)
        draft.rename(path)
    return path
