"""Write the demo library: eight sessions about one small project, in the formats of five agents.

``python scripts/make_demo.py`` regenerates ``src/branchline/demo/sessions`` deterministically. The project is
tidewatch, a command that shows Ada's sailing school when the slipway is under water.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from demo_writing import CWD, Author, DemoClock, Shelf, compact, stamp

from branchline.formats.oh_my_pi.title_slot import TitleSlot, slot_line

TARGET = Path(__file__).parent.parent / "src" / "branchline" / "demo" / "sessions"

CURVE = (
    "iVBORw0KGgoAAAANSUhEUgAAABgAAAAMCAAAAABdWyKpAAAAN0lEQVR42mP4//8/w38EYEBiMCDJINjIqlEARAmyMgaCOjDkIWwG"
    "rE4iwihMJxDUgeFNBlw2AwAfggcILiTZDAAAAABJRU5ErkJggg=="
)
TABLE = """\
PORT WREN  March 2026          (heights in metres, times GMT)
day        HW     m     LW     m     HW     m     LW     m
Mon 02   04:51  4.9   11:02  1.1   17:14  5.0   23:21  1.0
Tue 03   05:32  5.1   11:44  0.9   17:55  5.1     -     -
Wed 04     -     -    00:02  0.8   06:12  5.3   12:26  0.6
Sun 29   01:47  5.6   07:58  0.4   14:09  5.5   20:15  0.5"""
REGEX = """\
import re

TIDE = re.compile(r"(\\\\d\\\\d:\\\\d\\\\d)\\\\s+(\\\\d\\\\.\\\\d)")


def tides(line: str) -> list[tuple[str, float]]:
    return [(time, float(height)) for time, height in TIDE.findall(line)]
"""
COLUMNS = '''\
"""The harbour office prints fixed columns; a dash means that no such tide falls on the day."""

COLUMNS = {"HW": (9, 28), "LW": (18, 38)}


def tides(line: str) -> list[Tide]:
    found = []
    for kind, places in COLUMNS.items():
        for start in places:
            time, height = line[start : start + 5].strip(), line[start + 6 : start + 10].strip()
            if time != "-":
                found.append(Tide(kind, parse_time(time), float(height)))
    return sorted(found)
'''


# -- Monday: the parser, first wrong, then right ----------------------------------------------------------


def parser(shelf: Shelf) -> tuple[Author, str]:
    author = shelf.native("parser", "2026-03-02T09:12:00+00:00", "claude-sonnet-4-5")
    session = author.session
    session.append_model_change("anthropic", "claude-sonnet-4-5")
    session.append_thinking_level_change("medium")
    author.asks(
        "The harbour office publishes its tide tables as text (tables/port-wren.txt). I want `tidewatch next` "
        "to print the next high water, so that I stop launching dinghies into mud. Where do we start?"
    )
    author.answers(
        "Let me look at the table first.",
        ("read", {"path": "tables/port-wren.txt"}, TABLE),
        thinking="Unknown layout. Read before proposing anything; the gaps in such tables are the hard part.",
    )
    plan = author.answers(
        "It is a fixed-width table with two traps:\n\n"
        "1. a dash where no second tide falls on that day (3 and 4 March),\n"
        "2. all times are GMT, also after the clocks change on 29 March.\n\n"
        "I suggest `parse.py` with one function `tides(line)`, tested with exactly these five lines, and only "
        "then the command. Shall I parse with a regular expression or by columns?",
        thinking="Offer the choice, but name the traps.",
    )
    author.asks("A regular expression. It is only one line per day, how hard can it be?")
    author.answers(
        "",
        ("write", {"path": "tidewatch/parse.py", "content": REGEX}, "Wrote 7 lines to tidewatch/parse.py"),
        ("bash", {"command": "python -m pytest -q tests/test_parse.py"}, PYTEST_RED),
        failed=True,
    )
    author.answers(
        "One failure: on Wednesday 4 March the first high water is missing, and the expression happily calls "
        "the first *low* water a high one. It sees pairs of numbers, not columns. I can add a branch for "
        "leading dashes."
    )
    author.asks("And one for trailing dashes, and one for both. I do not like where this is going.", after=90)
    author.answers(
        "Neither do I. With three special cases the expression is longer than the table.",
        thinking="They are right. Say so, do not defend the regex.",
    )
    session.append_label(plan, "before the regex")
    session.branch_with_summary(
        plan,
        "Tried a regular expression for the tide table. It cannot tell high from low water on days with a "
        "missing tide (3 and 4 March), and every fix added a special case. Abandoned.",
    )
    author.asks("Let us read it by columns instead, as you said.")
    author.answers(
        "",
        ("write", {"path": "tidewatch/parse.py", "content": COLUMNS}, "Wrote 14 lines to tidewatch/parse.py"),
        ("bash", {"command": "python -m pytest -q tests/test_parse.py"}, "......\n6 passed in 0.04s"),
    )
    done = author.answers(
        "Six tests pass, the two days with a missing tide among them. `parse.py` knows the columns by name, so "
        "a new layout is one line to change."
    )
    session.append_label(done, "columns work")
    author.runs("python -m tidewatch next", "HW 17:14  5.0 m   (in 3 h 52 min)")
    author.asks("It works! The 17:14 class may launch.", after=15)
    author.answers("Fair winds. I left a note in the tests where the two dashes come from.")
    session.set_title("Parse the tide tables")
    return author, done


PYTEST_RED = (
    "..\x1b[31mF\x1b[0m...\n"
    "\x1b[31m\x1b[1mE   assert 'HW' == 'LW'\x1b[0m\n"
    "tests/test_parse.py:18: AssertionError\n"
    "\x1b[31m1 failed\x1b[0m, 5 passed in 0.05s\n\nCommand exited with code 1"
)


# -- Tuesday: a fork about summer time, with two answers to choose from -----------------------------------


def summer_time(shelf: Shelf, source: Author, entry: str) -> Author:
    author = shelf.fork(source.session, entry, "summer", "2026-03-03T08:40:00+00:00", "claude-sonnet-4-5")
    session = author.session
    author.forgets(5200)
    question = author.asks(
        "On Sunday 29 March `tidewatch` says high water is at 01:47. The harbour clock will say 02:47. Is that "
        "the daylight saving you warned me about?"
    )
    author.answers(
        "Yes. The table stays on GMT, the people do not.",
        ("read", {"path": "tidewatch/clock.py"}, "def now():\n    return datetime.now()\n"),
        (
            "edit",
            {"path": "tidewatch/clock.py", "old": "datetime.now()", "new": "datetime.now(UTC)"},
            "Edited",
        ),
        (
            "edit",
            {"path": "tidewatch/show.py", "old": "{t:%H:%M}", "new": "{t.astimezone():%H:%M}"},
            "Edited",
        ),
        ("bash", {"command": "python -m pytest -q"}, ".........\n9 passed in 0.07s"),
        thinking="Keep UTC inside, convert at the edge. astimezone() uses the machine's zone.",
    )
    utc = author.answers(
        "Everything inside is UTC now, and the screen converts to the zone of the machine. 29 March shows "
        "02:47. The catch: somebody who looks from abroad sees their own time, not the harbour's."
    )
    session.append_label(utc, "machine's zone")
    session.branch(question)
    author.clock.wait(120)
    author.model = "claude-opus-4-5"
    session.append_model_change("anthropic", "claude-opus-4-5")
    author.answers(
        "Yes. The table is GMT all year, the harbour lives on British time.",
        ("read", {"path": "tidewatch/clock.py"}, "def now():\n    return datetime.now()\n"),
        (
            "write",
            {"path": "tidewatch/harbour.py", "content": 'ZONE = ZoneInfo("Europe/London")\n'},
            "Wrote 1 line to tidewatch/harbour.py",
        ),
        (
            "edit",
            {"path": "tidewatch/show.py", "old": "{t:%H:%M}", "new": "{t.astimezone(ZONE):%H:%M}"},
            "Edited",
        ),
        ("bash", {"command": "python -m pytest -q"}, "..........\n10 passed in 0.08s"),
        thinking="A tide belongs to a harbour, so the zone does too. One constant, one test for 29 March.",
    )
    zone = author.answers(
        "Times are kept in UTC and shown in the **harbour's** zone, wherever the reader is. 29 March shows "
        "02:47, with a test that sets the machine to Sydney. It costs one constant, `harbour.ZONE`."
    )
    session.append_label(zone, "harbour's zone")
    author.asks("The harbour's zone. My parents look from Lisbon and would launch an hour late.", after=200)
    author.answers("Then it stays. I noted the reason beside the constant, with your parents as the example.")
    session.set_title("Summer time")
    return author


# -- Tuesday afternoon, in zot: a curve -------------------------------------------------------------------


def curve(shelf: Shelf) -> Author:
    clock = DemoClock("curve", "2026-03-03T14:05:00+00:00")
    session_id = clock.session_id()
    meta = {
        "id": session_id,
        "cwd": CWD,
        "model": "gpt-5",
        "provider": "openai",
        "started": stamp(clock),
        "version": "0.1.62",
    }
    key = f"20260303-140500-{session_id[:8]}"
    author = shelf.foreign(key, compact({"type": "meta", "meta": meta}), clock, "gpt-5")
    author.asks(
        "Can `tidewatch` draw the tide of a day in the terminal? Something like the curve on the poster.",
        picture=CURVE,
    )
    author.answers(
        "A sine between two tides is close enough for a poster. Let me see what we have.",
        (
            "bash",
            {"command": "ls tidewatch && wc -l tidewatch/*.py"},
            "  14 parse.py\n  22 show.py\n  36 total",
        ),
    )
    author.answers(
        "Plan: `curve.py` takes the tides of a day, interpolates with half a cosine between neighbours, and "
        "gives one height per column. Braille characters would be eight times finer, but not every terminal "
        "has them.",
    )
    author.asks("Try Braille. The poster deserves it.")
    # zot keeps the results of an answer in one row, so each answer here makes one call
    author.answers("", ("write", {"path": "tidewatch/curve.py", "content": "DOTS = 0x2800\n"}, "ok"))
    author.answers("", ("bash", {"command": "python -m tidewatch draw"}, "⠉⠒⠤⣀⡠⠤⠒⠉⠉⠒⠤⣀⡠⠤⠒⠉"))
    author.answers("⠉⠒⠤⣀⡠⠤⠒⠉ — that is Tuesday: two high waters, two low ones. It fits into 24 columns.")
    author.session.set_title("A tide curve in the terminal")
    return author


def sparkline(shelf: Shelf, source: Author) -> Author:
    """Wednesday: the curve continues in another agent, and becomes long enough for a compaction."""
    author = shelf.fork(source.session, None, "sparkline", "2026-03-04T07:55:00+00:00", "claude-sonnet-4-5")
    session = author.session
    author.forgets(4100)
    session.append_model_change("anthropic", "claude-sonnet-4-5")
    author.asks("On the screen in the boat house Braille is a row of question marks. What now?")
    author.answers(
        "Then blocks: ▁▂▃▄▅▆▇█ are in almost every font, and ASCII can stand in for them.",
        (
            "edit",
            {"path": "tidewatch/curve.py", "old": "DOTS = 0x2800", "new": 'STEPS = "▁▂▃▄▅▆▇█"'},
            "Edited",
        ),
        ("bash", {"command": "python -m tidewatch draw"}, "▇█▇▅▃▁▁▂▄▆██▇▅▃▁▁▂▄▆"),
    )
    author.answers("▇█▇▅▃▁▁▂▄▆██▇▅▃▁▁▂▄▆ reads well from the door, and `--ascii` draws `%#%*=..-+`.")
    author.asks("Mark the time when the slipway is dry, below 1.2 m.")
    author.answers(
        "",
        (
            "edit",
            {"path": "tidewatch/curve.py", "old": "STEPS[step]", "new": "mark(STEPS[step], dry)"},
            "Edited",
        ),
        ("bash", {"command": "python -m pytest -q"}, "F...........\n1 failed, 11 passed"),
        failed=True,
    )
    author.answers(
        "",
        ("read", {"path": "tests/test_curve.py", "offset": 20, "limit": 12}, "    assert dry(1.2) is True"),
        ("edit", {"path": "tidewatch/curve.py", "old": "height < 1.2", "new": "height <= 1.2"}, "Edited"),
        ("bash", {"command": "python -m pytest -q"}, "............\n12 passed in 0.09s"),
        thinking="The test says 1.2 itself is dry. The word 'below' was loose; ask, or take the test as truth?",
    )
    kept = author.asks("Is 1.2 itself dry? I walked there yesterday and got wet feet at 1.15.", after=400)
    author.answers(
        "Then the test was wrong and my change too: strictly below, and the limit belongs into the settings, "
        "because the weed on the slipway changes it.",
        ("edit", {"path": "tests/test_curve.py", "old": "is True", "new": "is False"}, "Edited"),
        ("bash", {"command": "python -m pytest -q"}, "............\n12 passed in 0.09s"),
    )
    session.append_compaction(
        "## Goal\nDraw the tide of a day in the terminal, with the hours in which the slipway is dry.\n\n"
        "## Done\n- `curve.py` draws with block characters; `--ascii` for the boat house\n"
        "- dry means strictly below the limit (wet feet at 1.15 m)\n\n"
        "## Next\nThe limit becomes a setting.",
        kept,
        48_200,
        details={"readFiles": ["tests/test_curve.py"], "modifiedFiles": ["tidewatch/curve.py"]},
    )
    author.forgets(2600)
    author.asks("Put the limit into the settings, with 1.1 as the default.")
    author.answers(
        "",
        ("write", {"path": "tidewatch/settings.py", "content": "DRY_BELOW = 1.1\n"}, "Wrote 1 line"),
        ("bash", {"command": "python -m pytest -q"}, ".............\n13 passed in 0.10s"),
    )
    done = author.answers("`dry_below = 1.1` is a setting. The boat house shows the dry hours in reverse.")
    session.append_label(done, "boat house works")
    session.set_title("Sparklines for the boat house")
    return author


# -- Wednesday, in piglet: what to call things ------------------------------------------------------------


def names(shelf: Shelf) -> Author:
    clock = DemoClock("names", "2026-03-04T16:20:00+00:00")
    session_id = clock.session_id()
    created = stamp(clock)
    meta = {"id": session_id, "cwd": CWD, "model": "gemini-3-pro", "createdAt": created}
    author = shelf.foreign(
        session_id, compact({"type": "meta", "ts": created, "data": meta}), clock, "gemini-3-pro"
    )
    session = author.session
    asked = author.asks("`tidewatch next`, `draw`, and now a warning. What do I call the third command?")
    author.answers("`tidewatch warn`: a verb like the others, and it says what happens.")
    author.asks("My students will think that it warns *them*. It only prints.")
    author.answers("Then `tidewatch dry`: it answers the question that they have. «Is it dry?»")
    liked = author.asks("Dry it is. Like the humour of my father.", after=25)
    session.append_label(liked, "decided")
    session.branch(asked)
    author.asks("Be bold for a moment: what if there were only one command?", after=300)
    author.answers(
        "`tidewatch` alone: the next tide, the curve and the dry hours on one screen. Commands are for "
        "machines; people look.",
        thinking="One screen is the better product, the commands stay for scripts.",
    )
    author.asks("Oh. That is better than all three names.")
    author.answers("Keep `next`, `draw` and `dry` for scripts. Nobody has to learn them.")
    session.set_title("What to call things")
    return author


# -- Thursday, in Claude Code: the README, with a step back -----------------------------------------------


def readme() -> tuple[str, bytes]:
    clock = DemoClock("readme", "2026-03-05T10:30:00+00:00")
    session_id = clock.session_id()
    lines: list[bytes] = []
    common = {
        "isSidechain": False,
        "userType": "external",
        "cwd": CWD,
        "sessionId": session_id,
        "version": "2.1.220",
        "gitBranch": "main",
    }

    def write(parent: str | None, kind: str, **fields: Any) -> str:
        entry = clock.session_id()
        clock.wait(12)
        lines.append(
            compact(
                {
                    "parentUuid": parent,
                    **common,
                    "type": kind,
                    **fields,
                    "uuid": entry,
                    "timestamp": stamp(clock),
                }
            )
        )
        return entry

    def ask(parent: str | None, text: str) -> str:
        return write(parent, "user", message={"role": "user", "content": text})

    def answer(parent: str, *blocks: dict[str, Any], tokens: tuple[int, int, int]) -> str:
        call = any(block["type"] == "tool_use" for block in blocks)
        name = clock.entry_id()[:12]
        usage = {
            "input_tokens": tokens[0],
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": tokens[1],
            "output_tokens": tokens[2],
            "service_tier": "standard",
        }
        message = {
            "id": f"msg_{name}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-5-20251101",
            "content": list(blocks),
            "stop_reason": "tool_use" if call else "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
        return write(parent, "assistant", requestId=f"req_{name}", message=message)

    def use(call: str, name: str, **arguments: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"toolu_{call}", "name": name, "input": arguments}

    def result(parent: str, call: str, text: str) -> str:
        content = [
            {"tool_use_id": f"toolu_{call}", "type": "tool_result", "content": text, "is_error": False}
        ]
        return write(
            parent, "user", message={"role": "user", "content": content}, sourceToolAssistantUUID=parent
        )

    def says(text: str) -> dict[str, Any]:
        return {"type": "text", "text": text}

    asked = ask(None, "Write a README for tidewatch. People who read it stand on a jetty in the rain.")
    thought = {
        "type": "thinking",
        "thinking": "Short. First what it tells, then how to run it.",
        "signature": "c2ln",
    }
    reading = answer(
        asked, thought, use("01", "Read", file_path=f"{CWD}/tidewatch/show.py"), tokens=(1900, 0, 96)
    )
    read = result(reading, "01", "     1\tdef screen(day): ...")
    long = answer(
        read,
        use("02", "Write", file_path=f"{CWD}/README.md", content="# tidewatch\n\n## Philosophy\n…"),
        tokens=(420, 1900, 780),
    )
    written = result(long, "02", "File created successfully")
    essay = answer(
        written,
        says(
            "I wrote a README of four screens: philosophy, architecture, a glossary of tides, contributing."
        ),
        tokens=(260, 2320, 64),
    )
    ask(essay, "In the rain, I said.")
    clock.wait(60)
    again = ask(read, "At most twelve lines. What it tells, how to install it, what dry means. Nothing else.")
    short = answer(
        again,
        use("03", "Write", file_path=f"{CWD}/README.md", content="# tidewatch\n\nIs the slipway dry?\n"),
        tokens=(300, 1996, 210),
    )
    done = result(short, "03", "File created successfully")
    end = answer(
        done,
        says("Eleven lines. It fits on a phone, and the word philosophy is gone."),
        tokens=(180, 2296, 38),
    )
    thanks = ask(end, "Perfect. Now pyproject.toml, so that `pipx install` works.")
    packed = answer(
        thanks,
        use("04", "Write", file_path=f"{CWD}/pyproject.toml", content='[project]\nname = "tidewatch"\n'),
        use("05", "Bash", command="pipx install . && tidewatch"),
        tokens=(240, 2476, 320),
    )
    first = result(packed, "04", "File created successfully")
    second = result(first, "05", "installed package tidewatch 0.1\nHW 18:31  5.2 m   ▆▇█▇▅▃▁▁▂▄")
    answer(second, says("Installed and run from a clean environment. 0.1 is ready."), tokens=(210, 2796, 27))
    lines.append(
        compact({"type": "custom-title", "customTitle": "README for the rain", "sessionId": session_id})
    )
    return f"{session_id}.jsonl", b"".join(lines)


# -- Thursday, in oh-my-pi: the warning -------------------------------------------------------------------


def warning(shelf: Shelf) -> Author:
    clock = DemoClock("warning", "2026-03-05T15:10:00+00:00")
    session_id = clock.session_id()
    begun = stamp(clock)
    slot = slot_line(TitleSlot(title="Is the slipway dry?", source="user", updated=begun))
    header = {"type": "session", "version": 3, "id": session_id, "timestamp": begun, "cwd": CWD}
    key = f"{begun.replace(':', '-').replace('.', '-')}_{session_id}"
    author = shelf.foreign(key, slot + compact(header), clock, "gpt-5")
    session = author.session
    author.asks(
        "`tidewatch dry` should answer with one word, and with an exit code for the lamp at the gate."
    )
    author.answers(
        "0 for dry, 1 for wet, 2 for «I do not know», so that a missing table never looks like dry.",
        ("bash", {"command": "grep -n 'dry_below' -r tidewatch"}, "tidewatch/settings.py:1:dry_below = 1.1"),
    )
    author.answers(
        "",
        ("write", {"path": "tidewatch/dry.py", "content": "def dry(height, limit): ...\n"}, "ok"),
        ("bash", {"command": "tidewatch dry; echo $?"}, "wet\n1"),
    )
    middle = author.answers("wet, 1. Correct: it is 15:12 and the water stands at 3.4 m.")
    session.append_label(middle, "lamp works")
    kept = author.asks("And in the wind? A west wind of 7 pushes half a metre into the harbour.", after=600)
    author.answers(
        "Then «dry» needs a margin that depends on the wind. We have no forecast here, so I would rather print "
        "the margin than guess: `dry (0.4 m to spare)`.",
        thinking="Do not invent a surge model. Honest output beats a wrong one.",
    )
    session.append_compaction(
        "The command `tidewatch dry` prints dry, wet or unknown with exit codes 0, 1 and 2; the lamp at the gate "
        "uses them. Open: how to show the margin when the wind pushes water into the harbour.",
        kept,
        31_400,
    )
    author.forgets(2100)
    author.asks("Print the margin. People can judge wind.")
    author.answers(
        "",
        (
            "edit",
            {"path": "tidewatch/dry.py", "old": '"dry"', "new": 'f"dry ({spare:.1f} m to spare)"'},
            "ok",
        ),
        ("bash", {"command": "python -m pytest -q"}, "................\n16 passed in 0.12s"),
    )
    author.answers("`dry (0.4 m to spare)`. The lamp reads the exit code, the people read the number.")
    return author


# -- Friday: the release, and the day the laptop got wet --------------------------------------------------


def release(shelf: Shelf) -> tuple[str, bytes]:
    """A session damaged by a power cut: a line in the middle is torn, and the last one too."""
    author = shelf.native("release", "2026-03-06T11:45:00+00:00", "claude-sonnet-4-5")
    author.asks("Release 0.1. Tag, changelog, and the boat house gets it first.")
    author.answers(
        "",
        (
            "bash",
            {"command": "git log --oneline | head -4"},
            "9f1c2aa README for the rain\n41d7b0e Dry, with margin",
        ),
        ("write", {"path": "CHANGELOG.md", "content": "# 0.1\n\nThe slipway speaks.\n"}, "Wrote 3 lines"),
    )
    author.answers("The changelog has one sentence. Shall I tag?")
    author.asks("Tag it. And hurry, there is spray coming in.")
    author.answers(
        "",
        (
            "bash",
            {"command": "git tag v0.1 && git push --tags"},
            "To git.example.org:ada/tidewatch\n * [new tag] v0.1",
        ),
    )
    author.answers("v0.1 is tagged and pushed.")
    author.asks("The laptop is getting w")
    author.session.set_title("Release 0.1")
    key = author.session.key
    lines = shelf.take(author).splitlines(keepends=True)
    del shelf.files[f"{key}.jsonl"]
    torn = lines[5]
    lines[5] = torn[: len(torn) * 2 // 3].rstrip(b"\n") + b"\n"
    return f"{key}.jsonl", b"".join(lines) + b'{"type":"message","id":"5e1f09aa'


def library() -> dict[str, bytes]:
    """Return all files of the demo library, and their modification times."""
    shelf = Shelf()
    first, columns_work = parser(shelf)
    second = summer_time(shelf, first, columns_work)
    third = curve(shelf)
    fourth = sparkline(shelf, third)
    for author in (first, second, third, fourth, names(shelf), warning(shelf)):
        shelf.take(author)
    files = dict([*shelf.files.items(), readme(), release(shelf)])
    times = {name: _last_time(data) for name, data in files.items()}
    files["times.json"] = (json.dumps(dict(sorted(times.items())), indent=2) + "\n").encode()
    return files


def _last_time(data: bytes) -> str:
    """Return the latest time in a file; all agents start timestamps in the same format."""
    return max(re.findall(r'"(?:timestamp|ts|time)":"(2026-[\d-]+T[\d:]+)', data.decode())) + "Z"


def main() -> None:
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    for name, data in library().items():
        (TARGET / name).write_bytes(data)
    size = sum(path.stat().st_size for path in TARGET.iterdir())
    sys.stdout.write(f"{len(list(TARGET.iterdir()))} files, {size:,} bytes in {TARGET}\n")


if __name__ == "__main__":
    main()
