"""Large sessions open from the skeleton cache with the same results as a normal read, never stale ones."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from branchline import Session, places
from branchline.errors import BranchlineError, LogReplaced
from branchline.formats import CODEX, EntryLog, detect
from branchline.session import skeletons
from readings import facts
from session.kit import assistant, talked, user

CORPUS = Path(__file__).parents[1] / "corpus"
RACE_NS = skeletons._RACE_NS
"""How long a file must not have changed when it is read, before the other tests set it to nothing."""


@pytest.fixture(autouse=True)
def small_files_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skeletons of files of any size, usable one tick of the clock after the file changed."""
    monkeypatch.setattr(skeletons, "_SMALLEST", 1)
    monkeypatch.setattr(skeletons, "_RACE_NS", 0)


def settle(path: Path) -> None:
    """Wait until a change of the file would give it another time."""
    probe = path.with_name(".probe")
    while True:
        probe.write_bytes(b"")
        if probe.stat().st_ctime_ns > path.stat().st_ctime_ns:
            break
    probe.unlink()
    while time.time_ns() <= path.stat().st_ctime_ns:
        pass


def branchy(place: Path) -> Path:
    """A session with branches, labels, a title and a move of its leaf."""
    with talked(place, 12) as session:
        path = session.path()
        session.append_label(path[2], "works")
        session.branch(path[5])
        session.append_message(user("another way"))
        session.append_message(assistant("that works"))
        session.set_title("Two ways")
        session.branch(path[-1])
        assert session.file is not None
        return Path(session.file)


def skeleton_files() -> list[Path]:
    return sorted(Path(places.skeleton_directory()).glob("*/*.skel"))


def opened_facts(path: Path) -> tuple[dict[str, object], bool]:
    with Session.open(path) as session:
        return facts(session.transcript), session.transcript.is_restored


def cold_facts(path: Path) -> dict[str, object]:
    data = path.read_bytes()
    return facts(
        EntryLog(detect(data, str(path)), lambda offset, size: data[offset : offset + size], str(path))
    )


def test_a_second_opening_reads_no_lines_and_knows_the_same(place: Path) -> None:
    path = branchy(place)
    settle(path)
    cold, was_restored = opened_facts(path)

    warm, is_restored = opened_facts(path)

    assert (was_restored, is_restored) == (False, True)
    assert warm == cold == cold_facts(path)


def test_the_context_and_the_outline_of_a_restored_session_are_the_same(place: Path) -> None:
    path = branchy(place)
    settle(path)
    with Session.open(path) as session:
        wanted = session.context(), list(session.outline()), session.path(), session.entries()

    with Session.open(path) as session:
        assert session.transcript.is_restored
        assert (session.context(), list(session.outline()), session.path(), session.entries()) == wanted


def test_a_restored_session_is_appended_to_like_any_other(place: Path) -> None:
    path = branchy(place)
    settle(path)
    opened_facts(path)

    with Session.open(path) as session:
        assert session.transcript.is_restored
        session.append_message(user("and now?"))
        session.branch(session.path()[3])
        session.append_message(user("from here"))
        known = facts(session.transcript)

    assert known == cold_facts(path)


def test_after_growth_only_the_tail_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = branchy(place)
    opened_facts(path)
    with Session.open(path) as session:
        session.append_message(user("appended later"))
    fed: list[int] = []
    take = EntryLog._feed
    monkeypatch.setattr(EntryLog, "_feed", lambda self: (fed.append(self.reading.consumed), take(self))[1])
    size = os.path.getsize(path)

    warm, is_restored = opened_facts(path)

    assert is_restored
    assert all(size - start < 400 for start in fed)
    assert warm == cold_facts(path)


@pytest.mark.parametrize("cut", [0.3, 0.8, 1.0])
def test_the_whole_corpus_reads_the_same_from_a_saved_part_and_the_rest(cut: float) -> None:
    saved_files, saved_formats = 0, set()
    for path in sorted([*CORPUS.rglob("*.jsonl"), *CORPUS.rglob("*.ndjson")]):
        data = path.read_bytes()
        try:
            format_ = detect(data[: 1 << 16], str(path))
        except BranchlineError:
            continue
        end = data.rfind(b"\n", 0, int(len(data) * cut)) + 1
        part = EntryLog(
            format_, lambda offset, size, data=data[:end]: data[offset : offset + size], str(path)
        )
        read = lambda offset, size, data=data: data[offset : offset + size]  # noqa: E731
        saved = part.save()
        if saved is None:
            continue
        saved_files += 1

        restored = EntryLog(format_, read, str(path), saved=saved)

        assert restored.is_restored
        whole = EntryLog(format_, read, str(path))
        assert facts(restored) == facts(whole), path
        every = range(len(whole.tree))
        assert restored.entries(every) == whole.entries(every), path
        saved_formats.add(format_.name)
    assert saved_files > 20
    assert saved_formats >= {
        "pi",
        "oh-my-pi",
        "claude-code",
        "codex",
        "induscode",
        "operator",
        "piglet",
        "zot",
    }


def test_skeletons_are_private_and_hold_no_text(place: Path) -> None:
    path = branchy(place)

    opened_facts(path)

    (skeleton,) = skeleton_files()
    assert skeleton.stat().st_mode & 0o777 == 0o600
    assert skeleton.parent.stat().st_mode & 0o777 == 0o700
    assert b"another way" not in skeleton.read_bytes()


@pytest.mark.parametrize(
    "variable",
    [{"BRANCHLINE_CACHE": "0"}, {"BRANCHLINE_CACHE": "off"}, {"BRANCHLINE_INDEX_EXCLUDE": "*/sessions/*"}],
)
def test_the_cache_can_be_turned_off_and_files_left_out(
    place: Path, monkeypatch: pytest.MonkeyPatch, variable: dict[str, str]
) -> None:
    for name, value in variable.items():
        monkeypatch.setenv(name, value)

    opened_facts(branchy(place))

    assert skeleton_files() == []


def test_a_cache_that_cannot_be_written_costs_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = branchy(place)
    blocked = place / "no-directory"
    blocked.write_text("a file")
    monkeypatch.setenv("BRANCHLINE_HOME", str(blocked))

    found, is_restored = opened_facts(path)

    assert not is_restored
    assert found == cold_facts(path)


def test_a_file_that_was_just_written_is_read_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skeletons, "_RACE_NS", RACE_NS)
    path = branchy(place)
    settle(path)  # the clock of the file system has moved on, but by less than some of them tick
    opened_facts(path)

    _found, is_restored = opened_facts(path)

    assert not is_restored


def test_a_file_that_grew_is_read_again_if_its_beginning_is_another(place: Path) -> None:
    """An edit in place and an append, with the bytes before the old end as they were."""
    path = place / "long.jsonl"
    with talked(place, 40) as session:
        assert session.file is not None
        os.rename(session.file, path)
    settle(path)
    opened_facts(path)
    status, data = path.stat(), path.read_bytes()
    edited = data.replace(b"question 0", b"QUESTION 0").replace(b'"role":"user"', b'"role":"resu"', 1)
    assert len(edited) == len(data)
    assert edited[-4096:] == data[-4096:]

    with path.open("r+b") as file:
        file.write(edited + data.splitlines(keepends=True)[-1])
    warm, is_restored = opened_facts(path)

    assert path.stat().st_ino == status.st_ino
    assert not is_restored
    assert warm == cold_facts(path)


def test_the_oldest_skeletons_are_deleted_above_the_capacity(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skeletons, "_CAPACITY", 1)
    for folder in ("one", "two"):
        opened_facts(branchy(place / folder))

    assert len(skeleton_files()) == 1


def test_a_line_that_does_not_hold_its_entry_is_refused_and_read_anew(place: Path) -> None:
    path = branchy(place)
    settle(path)
    cold, _ = opened_facts(path)
    key = cold["keys"][4]  # type: ignore[index]
    data = path.read_bytes()
    session = Session.open(path)
    assert session.transcript.is_restored
    with path.open("r+b") as file:
        file.write(data.replace(key.encode(), b"f" * len(key)))

    with session, pytest.raises(LogReplaced, match="rewritten in place; open it again"):
        session.entry(key)

    assert skeleton_files() == []


# -- mutations --------------------------------------------------------------------------------------------


def _append(path: Path, draw: random.Random) -> None:
    with Session.open(path) as session:
        for number in range(draw.randrange(1, 4)):
            session.append_message(user(f"more {number}"))
        if draw.random() < 0.5:
            session.branch(draw.choice(session.path()))


def _tear(path: Path, draw: random.Random) -> None:
    with path.open("ab") as file:
        file.write(b'{"type":"message","id":"torn"'[: draw.randrange(1, 29)])


def _append_raw(path: Path, draw: random.Random) -> None:
    lines = [line for line in path.read_bytes().split(b"\n")[1:] if line] or [b"{}"]
    with path.open("ab") as file:
        file.write(draw.choice((draw.choice(lines), b"not json", b"", b"[1, 2]")) + b"\n")


def _edit(path: Path, draw: random.Random) -> None:
    """Change bytes in place, and perhaps put the time of the file back."""
    before = path.stat()
    with path.open("r+b") as file:
        data = file.read()
        at = draw.randrange(len(data))
        old, new = draw.choice(
            ((b"user", b"resu"), (b'"id":"', b'"di":"'), (b"2027", b"2028"), (b"message", b"massage"))
        )
        at = data.find(old, at)
        if at < 0:
            at, new = draw.randrange(len(data)), bytes([draw.choice(b'x"{}\n')])
        file.seek(at)
        file.write(new)
    if draw.random() < 0.5:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _truncate(path: Path, draw: random.Random) -> None:
    data = path.read_bytes()
    end = draw.randrange(min(200, len(data)), len(data) + 1)
    os.truncate(path, draw.choice((data.rfind(b"\n", 0, max(0, len(data) - 1)) + 1, end)))


def _replace(path: Path, draw: random.Random) -> None:
    """Put another file in its place, with the times of the old one."""
    before, data = path.stat(), path.read_bytes()
    other = path.with_name(".other")
    other.write_bytes(
        data.replace(b"question", b"QUESTION") if draw.random() < 0.5 else data[: len(data) // 2]
    )
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, path)


def _touch(path: Path, draw: random.Random) -> None:
    os.utime(path, (draw.randrange(10**9), draw.randrange(10**9)))


def _flip(path: Path, draw: random.Random) -> None:
    del path
    for skeleton in skeleton_files():
        data = bytearray(skeleton.read_bytes())
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        skeleton.write_bytes(data)


def _cut(path: Path, draw: random.Random) -> None:
    del path
    for skeleton in skeleton_files():
        os.truncate(skeleton, draw.randrange(skeleton.stat().st_size))


def _swap(path: Path, draw: random.Random) -> None:
    """Give a file the skeleton that another file has."""
    del draw
    with Session.open(path) as session:
        if not session.path():  # all of it was cut off before
            return
        other = path.with_name("copy.jsonl")
        other.write_bytes(path.read_bytes().replace(session.path()[0].encode(), b"0" * 16))
    known = skeleton_files()
    opened_facts(other)
    for made in set(skeleton_files()) - set(known):
        for skeleton in known:
            skeleton.write_bytes(made.read_bytes())
        made.unlink()
    other.unlink()


MUTATIONS: list[Callable[[Path, random.Random], None]] = [
    _append,
    _tear,
    _append_raw,
    _edit,
    _edit,
    _truncate,
    _replace,
    _touch,
    _flip,
    _cut,
    _swap,
]


def claude_code(place: Path) -> Path:
    """A session of Claude Code made of several: parallel calls, an inline sub-agent, a cleared context, rewinds."""
    shapes = ("parallel-tools", "sidechain-inline", "clear-inside", "compaction-then-rewind")
    found = [next((CORPUS / "claude-code" / "synthetic" / shape).rglob("*.jsonl")) for shape in shapes]
    path = place / "11111111-2222-4333-8444-555555555555.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(part.read_bytes() for part in found))
    return path


def codex(place: Path) -> Path:
    """A rollout with prompts twice, turns that were rolled back, a compaction with a history, and usage."""
    path = place / "rollout-2026-01-01T10-00-00-019f1000-0000-7000-8000-0000000000aa.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines: list[tuple[str, dict[str, object]]] = [
        (
            "session_meta",
            {
                "id": "019f1000-0000-7000-8000-0000000000aa",
                "timestamp": "2026-01-01T10:00:00.000Z",
                "cwd": "/work",
                "cli_version": "0.147.0",
                "model_provider": "openai",
                "instructions": "secret standing orders",
            },
        ),
        ("response_item", _codex_item("user", "<environment_context>secret place</environment_context>")),
    ]
    for turn in range(9):
        prompt, answer = f"secret question {turn}", f"secret answer {turn}"
        lines += [
            ("event_msg", {"type": "task_started", "turn_id": f"t{turn}"}),
            ("turn_context", {"turn_id": f"t{turn}", "model": f"gpt-5.{turn // 4}", "effort": "high"}),
        ]
        twice: list[tuple[str, dict[str, object]]] = [
            ("response_item", _codex_item("user", prompt + (" and more" if turn % 2 else ""))),
            ("event_msg", {"type": "user_message", "message": prompt}),
        ]
        lines += twice if turn % 3 else twice[::-1]
        call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": f"c{turn}"}
        lines += [
            ("response_item", call),
            (
                "response_item",
                {"type": "function_call_output", "call_id": f"c{turn}", "output": "secret out"},
            ),
            ("response_item", _codex_item("assistant", answer)),
        ]
        spent = {"input_tokens": 10 * turn + 10, "output_tokens": turn + 1, "total_tokens": 11 * turn + 11}
        lines.append(("event_msg", {"type": "token_count", "info": {"total_token_usage": spent}}))
        if turn == 3:
            kept = [_codex_item("user", f"secret question {number}") for number in range(3)]
            summary = _codex_item("user", answer)
            lines.append(("compacted", {"message": answer, "replacement_history": [*kept, summary]}))
        if turn == 5:
            lines.append(("event_msg", {"type": "thread_rolled_back", "num_turns": 2}))
        lines.append(("event_msg", {"type": "task_complete", "turn_id": f"t{turn}"}))
    written = []
    for number, (kind, payload) in enumerate(lines):
        time_ = f"2026-01-01T10:{number // 60:02}:{number % 60:02}.000Z"
        written.append(json.dumps({"timestamp": time_, "type": kind, "payload": payload}) + "\n")
    path.write_text("".join(written))
    return path


def _codex_item(role: str, text: str) -> dict[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


_CODEX_FACTS = (
    *("thread", "rollout", "meta", "base", "copied", "turns", "prompts", "kept", "spent", "totals"),
    *("tool_names", "models", "providers", "open_turn", "last_answer", "converted_from"),
)


def test_a_rollout_continues_from_a_part_saved_after_any_line(place: Path) -> None:
    data = codex(place).read_bytes()
    name = str(codex(place))
    whole = EntryLog(CODEX, lambda offset, size: data[offset : offset + size], name)
    wanted = facts(whole), {fact: getattr(whole.reading, fact) for fact in _CODEX_FACTS}
    ends = [at + 1 for at in range(len(data)) if data[at] == ord("\n")]

    for end in ends:
        part = EntryLog(CODEX, lambda offset, size, end=end: data[offset : min(end, offset + size)], name)
        saved = part.save()
        assert saved is not None
        restored = EntryLog(CODEX, lambda offset, size: data[offset : offset + size], name, saved=saved)

        assert restored.is_restored
        assert (facts(restored), {fact: getattr(restored.reading, fact) for fact in _CODEX_FACTS}) == wanted
        assert restored.entries(range(len(whole.tree))) == whole.entries(range(len(whole.tree)))
        if end == len(data):
            assert restored.save() == saved


def test_the_skeleton_of_a_rollout_holds_no_text_but_its_title(place: Path) -> None:
    path = codex(place)
    settle(path)

    title = opened_facts(path)[0]["title"]

    (skeleton,) = skeleton_files()
    assert title == "secret question 0"
    assert skeleton.read_bytes().replace(b"secret question 0", b"").count(b"secret") == 0
    assert opened_facts(path) == (cold_facts(path), True)


def test_a_rollout_whose_compaction_kept_prompts_is_read_each_time(place: Path) -> None:
    path = codex(place)
    data = path.read_bytes()
    with path.open("ab") as file:
        file.write(
            b'{"timestamp":"2026-01-01T11:00:00.000Z","type":"compacted","payload":{"message":"done"}}\n'
        )
    settle(path)
    opened_facts(path)

    assert skeleton_files() == []
    assert opened_facts(path) == (cold_facts(path), False)
    assert path.read_bytes().startswith(data)


def sample(path: str) -> Callable[[Path], Path]:
    """A copy of a file of the corpus."""

    def made(place: Path) -> Path:
        place.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(CORPUS / path, place / Path(path).name))

    return made


def campaign(path: Path, count: int, seed: int) -> int:
    """How many of these openings used a skeleton; an answer that a normal read does not give fails."""
    draw = random.Random(seed)
    original = path.read_bytes()
    restored = 0
    for number in range(count):
        if number % 8 == 0:
            path.write_bytes(original)
        settle(path)
        try:
            opened_facts(path)  # makes a skeleton, if there is none
            settle(path)
            mutate = draw.choice(MUTATIONS)
            mutate(path, draw)
            found, is_restored = opened_facts(path)
        except BranchlineError:
            path.write_bytes(original)
            continue
        assert found == cold_facts(path), (number, mutate.__name__)
        restored += is_restored
    return restored


MADE = [
    branchy,
    claude_code,
    codex,
    sample("induscode/sessions/--home-dev-acme--/s_mwhiju74_ob68kf2u.ndjson"),
    sample(
        "operator/profiles/default/sessions/2026-06-10T09-18-28-941337_019eb0d3-65b3-70bf-bacf-b8592e53c68b.jsonl"
    ),
    sample("piglet/sessions/302f642e-51a8-48e5-a27b-f0c8451ddc14.jsonl"),
    sample("zot/sessions/decceffad0360217/20261115-072813-468d3552.jsonl"),
]


@pytest.mark.parametrize("made", MADE)
def test_no_mutation_of_file_or_skeleton_gives_a_stale_answer(
    place: Path, made: Callable[[Path], Path]
) -> None:
    assert campaign(made(place), 60, seed=7) > 3


@pytest.mark.slow
@pytest.mark.parametrize("made", MADE)
def test_five_hundred_mutations_give_no_stale_answer(place: Path, made: Callable[[Path], Path]) -> None:
    assert campaign(made(place), 500, seed=int(time.time())) > 30
