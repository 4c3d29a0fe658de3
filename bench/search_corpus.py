"""Queries and probes for the search benchmark: identifiers and CJK text for the corpus, and needles in it.

A query is drawn from a text of the corpus, so that it has hits; most have very many, because the corpus has
few different words. A probe is a text that occurs once, in one of many sessions of any age, and the query
that must find its entry.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bench import generate
from bench.texts import WORDS

QUERIES = 60
"""Distinct queries of each class."""
PROBES = 20
"""Probes of each kind."""
_LONG_WORDS = sorted({word for word in WORDS if len(word) > 3})
_CJK_WORDS = """
設定 読込 座標 表示 東京 枝 木 履歴 検索 保存 変更 失敗 成功 入力 出力 関数 変数 試験 結果 行 文字 構文 解析
数据 连接 网络 检查 文件 目录 错误 修复 分支 合并 提交 版本 测试 运行 缓存 线程 进程 内存 磁盘 索引 查询
""".split()  # noqa: SIM905  as in bench.texts
_SNAKE = r"\b[a-z]+(?:_[a-z]+)+\b"
_PATH = r"(?:[\w.-]+/)+[\w-]+\.\w+"
_CJK = r"[\u3040-\u30ff\u4e00-\u9fff]{2,}"
_SYLLABLES = [consonant + vowel for consonant in "bdfgjklmnprstvz" for vowel in "aeiou"]


# -- the corpus -------------------------------------------------------------------------------------------


def identifiers(random: Random) -> str:
    """Return a line of code with camelCase names and, now and then, CJK text, for a tool result."""
    first, second = _camel(random), _camel(random)
    line = f"\nexport const {first} = new {second[0].upper()}{second[1:]}({random.randrange(9_999)});"
    if random.random() < 0.2:
        line += "  // " + "".join(random.choices(_CJK_WORDS, k=6)) + "。"
    return line


def _camel(random: Random) -> str:
    first, second, third = random.choices(_LONG_WORDS, k=3)
    return first + second.capitalize() + third.capitalize()


# -- queries ----------------------------------------------------------------------------------------------


def queries(home: Path) -> dict[str, list[str]]:
    """Return the queries of each class, drawn from texts of the corpus."""
    random = Random(generate.SEED)
    said, tools = _texts(home, random)
    everything = said + tools
    words = _drawn(said, r"\b[a-z]{2,}\b", random)
    phrases = _drawn(said, r"\b[A-Za-z]+(?: [a-z]+){1,3}\b", random)
    prefixes = [
        word[: random.randrange(3, len(word))] for word in _drawn(everything, r"\b[A-Za-z]{4,}", random)
    ]
    snake = _drawn(tools, _SNAKE, random)
    camel = _drawn(tools, r"\b[A-Za-z][a-z]+(?:[A-Z][a-z]+)+", random)
    paths = _drawn(tools, _PATH, random)
    runs = _drawn(everything, _CJK, random)
    cjk = [run[(start := random.randrange(len(run) - 1)) : start + random.randrange(2, 5)] for run in runs]
    several = [" ".join(random.sample(words, size)) for size in (1, 2, 3) for _ in words]
    drawn = {
        "words": several,
        "phrase": [f'"{phrase}"' for phrase in phrases],
        "prefix": prefixes,
        "snake": snake + [f"{name} {word}" for name, word in zip(snake, words, strict=False)],
        "camel": camel,
        "path": paths,
        "cjk": cjk,
        "mixed": [query for text in tools for query in _mixed(text, random)],
    }
    return {kind: random.sample(sorted(set(some)), QUERIES) for kind, some in drawn.items()}


def _mixed(text: str, random: Random) -> Iterator[str]:
    """Yield queries of several kinds of terms, all of them from one text."""
    word, other = random.choices(re.findall(r"\b[a-z]{2,}\b", text) or ["path"], k=2)
    yield from (f"role:user {word}", f"in:tools {word} {other}", f"tool:bash {word}")
    for pattern in (_SNAKE, _PATH, _CJK):
        if found := re.findall(pattern, text):
            yield f"{random.choice(found)} {word}"


def _drawn(texts: Sequence[str], pattern: str, random: Random) -> list[str]:
    found = sorted({match for text in texts for match in re.findall(pattern, text)})
    random.shuffle(found)
    return found[: 9 * QUERIES]


def _texts(home: Path, random: Random) -> tuple[list[str], list[str]]:
    """Return texts of messages, and of tool results, from some sessions."""
    said, tools = list[str](), list[str]()
    for path in random.sample(sorted(home.rglob("*.jsonl")), 200):
        for line in path.read_text(encoding="utf-8").split("\n")[:40]:
            if not line:
                continue
            content = json.loads(line).get("message", {}).get("content", [])
            for block in content if isinstance(content, list) else []:
                if block["type"] == "text":
                    said.append(block["text"])
                elif block["type"] == "tool_result":
                    tools.append(block["content"])
    return said, tools


# -- probes -----------------------------------------------------------------------------------------------


class Probe(NamedTuple):
    """A text that one entry has, and the query that must find it."""

    kind: str
    text: str
    query: str
    entry: str


def probes() -> list[Probe]:
    """Return all probes."""
    random, made = Random(generate.SEED + 13), list[Probe]()
    for kind, make in _KINDS.items():
        for number in range(PROBES):
            text, query = make(random)
            made.append(Probe(kind, text, query, f"{len(made):08x}-9999-4000-8000-{number:012x}"))
    return made


def _needle(random: Random, syllables: int = 4) -> str:
    return "".join(random.choices(_SYLLABLES, k=syllables)) + "x"


def _inside_run(random: Random) -> tuple[str, str]:
    run = "".join(chr(random.randrange(0x4E00, 0x9FA0)) for _ in range(14))
    start = random.randrange(1, 9)
    return f"コメント{run}です。", run[start : start + random.randrange(2, 5)]


def _camel_part(random: Random) -> tuple[str, str]:
    needle = _needle(random)
    return f"call load{needle.capitalize()}Tree() twice", needle


def _snake_part(random: Random) -> tuple[str, str]:
    needle = _needle(random)
    return f"call parse_{needle}_state() twice", needle


def _path_part(random: Random) -> tuple[str, str]:
    folder, name = _needle(random, 3), _needle(random, 3)
    return f"see src/{folder}/lib/{name}.spec.ts:14", random.choice(
        (folder, f"{name}.spec.ts", f"lib/{name}")
    )


def _accent(random: Random) -> tuple[str, str]:
    plain = _needle(random) + "ae"
    accented = plain.translate(str.maketrans("aeiou", "áèïõü"))
    return f"am {accented} vorbei", plain


def _prefix(random: Random) -> tuple[str, str]:
    needle = random.choice("qxyw") + random.choice("qxzvj") + random.choice("bcdfghjklmnp") + _needle(random)
    return f"about {needle} again", needle[:3]


def _phrase(random: Random) -> tuple[str, str]:
    first, second, third = (_needle(random, 2) for _ in range(3))
    return f"{first}: ({second}) -- {third}!", f'"{first} {second} {third}"'


def _substring(random: Random) -> tuple[str, str]:
    needle = _needle(random, 6)
    return f"about {needle} again", needle[3:10]


def _plain(random: Random) -> tuple[str, str]:
    needle = _needle(random)
    return f"about {needle} again", needle


_TOOL_OUTPUT, _ABANDONED = "tool output", "abandoned branch"
_KINDS: dict[str, Callable[[Random], tuple[str, str]]] = {
    "CJK word inside a run": _inside_run,
    "camelCase part": _camel_part,
    "snake_case part": _snake_part,
    "path part": _path_part,
    "accent": _accent,
    "3-letter prefix": _prefix,
    "phrase over punctuation": _phrase,
    "substring": _substring,
    _TOOL_OUTPUT: _plain,
    _ABANDONED: _plain,
}


def plant(sessions: Sequence[Path]) -> None:
    """Append each probe to another session, evenly from the oldest to the newest; their times stay."""
    planted = probes()
    Random(generate.SEED).shuffle(planted)
    for number, probe in enumerate(planted):
        path = sessions[number * len(sessions) // len(planted)]
        times = path.stat()
        last = json.loads(path.read_bytes().rstrip().rpartition(b"\n")[2])
        with path.open("ab") as out:
            for fields in _lines(probe, last):
                out.write(json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _lines(probe: Probe, last: dict[str, Any]) -> Iterator[dict[str, Any]]:
    names = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "timestamp")
    about = {name: last[name] for name in names if name in last}
    asked = {**about, "type": "user", "parentUuid": last["uuid"], "uuid": probe.entry}
    other = probe.entry.replace("-9999-", "-9998-")
    if probe.kind == _TOOL_OUTPUT:
        call = {"type": "tool_use", "id": f"toolu_{probe.entry}", "name": "Bash", "input": {"command": "ls"}}
        message = {"id": f"msg_{other}", "role": "assistant", "model": "claude-opus-4-5", "content": [call]}
        yield {**asked, "type": "assistant", "uuid": other, "message": message}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": probe.text}
        yield {**asked, "parentUuid": other, "message": {"role": "user", "content": [result]}}
        return
    yield {**asked, "message": {"role": "user", "content": probe.text}}
    if probe.kind == _ABANDONED:
        yield {**asked, "uuid": other, "message": {"role": "user", "content": "Go on instead."}}
