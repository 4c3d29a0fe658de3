"""Sums of messages and usage, grouped by any keys, from roll-ups per file.

There are two roll-ups: by quarter of an hour, which gives the days of any time zone, and by hour of this
machine's zone, which has a third of the rows and is the usual one.

Everything counts once: a copy in a fork counts where it was first seen, unless that is out of scope. Recorded
costs are summed; tokens without one are summed separately, by model, and priced later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import add
from typing import Any, Literal, NamedTuple

from branchline.catalog.catalog import Catalog
from branchline.context.prices import CONTEXT_SIZES, FULL_RATE_TOKENS, PriceList
from branchline.entries import COUNTED_ROLES
from branchline.views.stats import Dimension, StatsTotals

__all__ = [
    "OpenTokens",
    "Period",
    "ScopeFile",
    "Sums",
    "copied_files",
    "in_scope",
    "repeated",
    "roll_up",
    "sessions_beside",
    "sums",
    "whole",
]

_QUARTER = 900_000
_SUMMED = ("calls", "input", "output", "cache_read", "cache_write", "total", "cost", "metered")
_KINDS = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
_UNPRICED = ("open_total", *(f"open_{kind}" for kind in _KINDS), *(f"beyond_{kind}" for kind in _KINDS))
_FIGURES = ("messages", "prompts", "answers", *_SUMMED, *_UNPRICED)
_ROLLED = ", ".join(("file", "quarter", "model", "size", *_FIGURES))
_HOURLY = ", ".join(("file", "day", "hour", "model", "size", *_FIGURES))
_HOURS = (
    "SELECT file, date(quarter * 900, 'unixepoch', 'localtime'),"
    " strftime('%H', quarter * 900, 'unixepoch', 'localtime'), model, size,"
    f" {', '.join(f'total({name})' for name in _FIGURES)} FROM {{table}} WHERE {{where}}"
    " GROUP BY 1, 2, 3, 4, 5"
)
_ZONE = " || ' ' || ".join(
    f"datetime({seconds}, 'unixepoch', 'localtime')"
    for seconds in range(1_577_836_800, 1_900_000_000, 15_811_200)
)
"""Identifies this machine's time zone: the local date and time at two moments of each year."""
_UNPRICED_TOTALS = ", ".join(f"total({name})" for name in _UNPRICED)
"""The columns of ``OpenTokens`` over rows of a roll-up."""
_ROLES = ", ".join(f"'{role}'" for role in sorted({*COUNTED_ROLES, "custom"}))
"""The roles of messages that count, as in lists; the task of a sub-agent has the role ``custom``."""
_OPEN = "CASE WHEN spent.cost IS NULL THEN {0} ELSE 0 END"
_CONTEXT = "spent.input + spent.cache_read + spent.cache_write"
_SIZE = " + ".join(f"({_CONTEXT} > {size})" for size in CONTEXT_SIZES)
"""The ``size_class`` of a request."""
_HOUR = f"max(0, spent.cache_write_1h - {FULL_RATE_TOKENS})"
_BEYOND = (
    f"max(0, spent.input - {FULL_RATE_TOKENS})",
    f"max(0, spent.output - {FULL_RATE_TOKENS})",
    f"max(0, spent.cache_read - {FULL_RATE_TOKENS})",
    f"max(0, spent.cache_write - spent.cache_write_1h - {FULL_RATE_TOKENS}) + {_HOUR}",
    _HOUR,
)
"""The ``tokens_beyond`` of a call."""
_OPEN_FIGURES = ", ".join(
    f"total({_OPEN.format(tokens)})"
    for tokens in (
        "spent.total",
        *(f"spent.{kind}" for kind in _KINDS),
        *_BEYOND,
    )
)
_GROUPED = f"""
SELECT doc.file, doc.ms / {_QUARTER},
    CASE WHEN spent.model IS NOT NULL THEN spent.model
         WHEN doc.role = 'assistant' THEN doc.model END,
    ifnull({_SIZE}, 0),
    total(doc.type = 'message' AND doc.role IN ({_ROLES}) AND {{said}}),
    total(doc.type = 'message' AND doc.role = 'user' AND {{said}}
          AND NOT EXISTS (SELECT 1 FROM file WHERE file.id = doc.file AND file.is_subagent)),
    total(doc.type = 'message' AND doc.role = 'assistant' AND {{said}}),
    total(CASE WHEN doc.role = 'assistant' AND doc.tool <> '' AND {{said}}
          THEN 1 + length(doc.tool) - length(replace(doc.tool, char(10), '')) ELSE 0 END),
    total(spent.input), total(spent.output), total(spent.cache_read), total(spent.cache_write),
    total(spent.total), total(spent.cost),
    total(spent.doc IS NOT NULL OR ({{said}} AND EXISTS (SELECT 1 FROM usage WHERE usage.doc = doc.id))),
    {_OPEN_FIGURES}
FROM doc LEFT JOIN usage AS spent ON spent.doc = doc.id AND {{spent}}
WHERE {{where}} AND doc.type <> 'custom_message' GROUP BY 1, 2, 3, 4
"""


_COUNTED = _GROUPED.format(
    where="(doc.counted = 1 OR spent.counted) AND doc.file = ?", said="doc.counted = 1", spent="spent.counted"
)
_EXTRA = _GROUPED.format(where="doc.id IN (SELECT id FROM temp.extra)", said=1, spent=1)


class ScopeFile(NamedTuple):
    """A file that counts, and the keys of its sums."""

    file: int
    agent: str
    directory: str
    session: str
    branch: str
    row: int
    """The file that lists show: another one if that continues the session of this one."""


class Period(NamedTuple):
    """The first and the last day that count, as ISO dates; None for no limit.

    Days are those of this machine, or of a zone ``offset`` seconds east of UTC.
    """

    since: str | None = None
    until: str | None = None
    offset: int | None = None


class OpenTokens(NamedTuple):
    """Tokens whose cost was not recorded."""

    model: str
    size: int
    """The ``size_class`` of the requests."""
    total: float
    tokens: tuple[float, ...]
    """Of each kind, in the order of ``Rates``."""
    beyond: tuple[float, ...]
    """Those of them that ``tokens_beyond`` counts."""


class Sums(NamedTuple):
    """The sums of one group."""

    keys: tuple[str, ...]
    sessions: int
    messages: float
    prompts: float
    answers: float
    calls: float
    input: float
    output: float
    cache_read: float
    cache_write: float
    total: float
    cost: float
    metered: float
    open: list[OpenTokens]

    def totals(self, prices: PriceList) -> StatsTotals:
        """Return the totals; tokens without a recorded cost are priced by model."""
        estimated = unpriced = 0.0
        for spent in self.open:
            price = prices.of_calls(spent.model, spent.tokens, size=spent.size, beyond=spent.beyond)
            if price is None:
                unpriced += spent.total
            else:
                estimated += price
        return StatsTotals(
            sessions=self.sessions,
            messages=int(self.messages),
            prompts=int(self.prompts),
            answers=int(self.answers),
            tool_calls=int(self.calls),
            input=whole(self.input),
            output=whole(self.output),
            cache_read=whole(self.cache_read),
            cache_write=whole(self.cache_write),
            tokens=whole(self.total),
            cost=self.cost + estimated,
            estimated=estimated,
            unpriced=whole(unpriced),
            metered=int(self.metered),
        )


def whole(number: float) -> int | float:
    """Return a sum as an integer if it is one."""
    return int(number) if number.is_integer() else number


def sums(
    catalog: Catalog, scope: Iterable[ScopeFile], by: Sequence[Dimension | Literal["row"]], period: Period
) -> list[Sums]:
    """Return the groups of these keys, unordered. ``tool`` counts calls and sessions only."""
    with catalog.guarded():
        run = catalog.connection.execute
        _prepare(catalog, scope)
        if "tool" in by:
            return _tool_sums(run, by, period)
        where, values = _conditions(period, _day(period))
        names = [_expression(key, _day(period), _hour(period)) for key in by]
        if "model" in by:
            where += " AND model IS NOT NULL"
        said = ("answers", "0", "answers") if "model" in by else ("messages", "prompts", "answers")
        keys = "".join(f"{name}, " for name in names)
        columns = ", ".join((*(f"total({name})" for name in (*said, *_SUMMED)), _UNPRICED_TOTALS))
        source = f"FROM {_rolled(run, period)} JOIN temp.scope AS scope USING (file) WHERE {where}"
        size = len(by)
        # By model in any case: tokens without a recorded cost are priced by it.
        numbers = ", ".join(map(str, range(1, size + 3)))
        query = f"SELECT {keys} ifnull(model, ''), size, {columns} {source} GROUP BY {numbers}"
        figures: dict[tuple[str, ...], list[float]] = {}
        opened: dict[tuple[str, ...], list[OpenTokens]] = {}
        for row in run(query, values):
            key = tuple(map(_text, row[:size]))
            summed, tokens = row[size + 2 : -len(_UNPRICED)], row[-len(_UNPRICED) :]
            before = figures.get(key)
            figures[key] = list(summed if before is None else map(add, before, summed))
            if any(tokens[:5]):
                opened.setdefault(key, []).append(
                    OpenTokens(row[size], row[size + 1], tokens[0], tokens[1:6], tokens[6:])
                )
        group = f"GROUP BY {', '.join(map(str, range(1, size + 1)))}" if by else ""
        sessions = {
            tuple(map(_text, row[:size])): row[size]
            for row in run(f"SELECT {keys} count(DISTINCT scope.row) {source} {group}", values)
        }
        return [
            Sums._make((key, sessions[key], *summed, opened.get(key, []))) for key, summed in figures.items()
        ]


def _rolled(run: Any, period: Period) -> str:
    """Return the table to sum over: a roll-up, unless copies count in this scope."""
    (more,) = run("SELECT EXISTS (SELECT 1 FROM temp.more)").fetchone()
    if period.offset is None:
        return "rolled_hour" if more else "main.rollup_hour AS rolled_hour"
    return "rolled" if more else "main.rollup AS rolled"


def sessions_beside(
    catalog: Catalog, scope: Iterable[ScopeFile], by: Dimension, names: Sequence[str], period: Period
) -> int:
    """Return the number of sessions in the groups of a key without these names, each counted once."""
    with catalog.guarded():
        run = catalog.connection.execute
        _prepare(catalog, scope)
        where, values = _conditions(period, _day(period))
        key = _expression(by, _day(period), _hour(period))
        if by == "model":
            where += " AND model IS NOT NULL"
        marks = ", ".join("?" * len(names))
        (count,) = run(
            f"SELECT count(DISTINCT scope.row) FROM {_rolled(run, period)} JOIN temp.scope AS scope"
            f" USING (file) WHERE {where} AND ifnull({key}, '') NOT IN ({marks})",
            (*values, *names),
        ).fetchone()
        return int(count)


def copied_files(catalog: Catalog, files: Iterable[int]) -> set[int]:
    """Return those of these files of which others count all usage, or all answers if no usage is recorded.

    The files are in the scope of the last :func:`sums`.
    """
    count = "counted = 1 OR {id} IN (SELECT id FROM temp.extra)"
    usage = f"SELECT max({count.format(id='doc')}) FROM usage WHERE file = ?"
    answers = f"SELECT max({count.format(id='id')}) FROM doc WHERE file = ? AND role = 'assistant'"
    with catalog.guarded():
        run = catalog.connection.execute
        copied = set()
        for file in files:
            (counts,) = run(usage, (file,)).fetchone()
            if counts is None:
                (counts,) = run(answers, (file,)).fetchone()
            if counts == 0:
                copied.add(file)
        return copied


def in_scope(catalog: Catalog, scope: Iterable[ScopeFile]) -> None:
    """Let the temporary tables ``scope``, ``extra`` and the views ``rolled…`` be those of these files."""
    with catalog.guarded():
        _prepare(catalog, scope)


def repeated(catalog: Catalog, scope: Iterable[ScopeFile], period: Period) -> int:
    """Return how many messages in the scope are copies of others that count."""
    with catalog.guarded():
        _prepare(catalog, scope)
        where, values = _conditions(period, _date(period, f"doc.ms / {_QUARTER}"))
        (count,) = catalog.connection.execute(
            "SELECT count(*) FROM doc WHERE counted IN (0, -2) AND type = 'message'"
            " AND file IN (SELECT file FROM temp.scope) AND id NOT IN (SELECT id FROM temp.extra)"
            f" AND {where}",
            values,
        ).fetchone()
        return int(count)


def _prepare(catalog: Catalog, scope: Iterable[ScopeFile]) -> None:
    """Update the roll-ups and create the views of the scope, with the copies that count in it."""
    run, many = catalog.connection.execute, catalog.connection.executemany
    run(
        "CREATE TEMP TABLE IF NOT EXISTS scope"
        " (file INTEGER PRIMARY KEY, agent, directory, session, branch, row INTEGER)"
    )
    run("DELETE FROM temp.scope")
    many("INSERT OR REPLACE INTO temp.scope VALUES (?, ?, ?, ?, ?, ?)", scope)
    roll_up(catalog)
    run("CREATE TEMP TABLE IF NOT EXISTS extra (id INTEGER PRIMARY KEY)")
    run("DELETE FROM temp.extra")
    run(
        "INSERT INTO temp.extra SELECT id FROM"
        " (SELECT doc.id, min(file.precedence || printf('%020d', doc.id))"
        " FROM doc INDEXED BY doc_copies JOIN temp.scope USING (file) JOIN file ON file.id = doc.file"
        " WHERE doc.counted = 0 AND NOT EXISTS"
        " (SELECT 1 FROM doc AS other WHERE other.mark = doc.mark AND other.counted = 1"
        " AND other.file IN (SELECT file FROM temp.scope)) GROUP BY doc.mark)"
    )
    run(f"CREATE TEMP TABLE IF NOT EXISTS more ({_ROLLED})")
    run("DELETE FROM temp.more")
    run(f"INSERT INTO temp.more {_EXTRA}")
    run(f"CREATE TEMP TABLE IF NOT EXISTS more_hour ({_HOURLY})")
    run("DELETE FROM temp.more_hour")
    run(f"INSERT INTO temp.more_hour {_HOURS.format(table='temp.more', where=1)}")
    run("CREATE TEMP TABLE IF NOT EXISTS more_tool (file, quarter, model, tool, calls)")
    run("DELETE FROM temp.more_tool")
    many(
        "INSERT INTO temp.more_tool VALUES (?, ?, ?, ?, ?)",
        _calls(run, "doc.id IN (SELECT id FROM temp.extra)"),
    )
    run(
        "CREATE TEMP VIEW IF NOT EXISTS rolled_tool AS"
        " SELECT file, quarter, model, tool, calls FROM main.rollup_tool"
        " UNION ALL SELECT file, quarter, model, tool, calls FROM temp.more_tool"
    )
    run(
        f"CREATE TEMP VIEW IF NOT EXISTS rolled AS SELECT {_ROLLED} FROM main.rollup"
        f" UNION ALL SELECT {_ROLLED} FROM temp.more"
    )
    run(
        f"CREATE TEMP VIEW IF NOT EXISTS rolled_hour AS SELECT {_HOURLY} FROM main.rollup_hour"
        f" UNION ALL SELECT {_HOURLY} FROM temp.more_hour"
    )


def roll_up(catalog: Catalog) -> None:
    """Update the sums per file."""
    run, many = catalog.connection.execute, catalog.connection.executemany
    stale = [file for (file,) in run("SELECT id FROM file WHERE NOT rolled AND indexed = consumed")]
    (zone,) = run(f"SELECT {_ZONE}").fetchone()
    known = run("SELECT value FROM meta WHERE key = 'zone'").fetchone()
    moved = known is None or known[0] != zone
    if not stale and not moved:
        return
    with catalog.transaction():
        if moved:  # the hours are those of another zone
            run("DELETE FROM rollup_hour")
            run(f"INSERT INTO rollup_hour {_HOURS.format(table='rollup', where=1)}")
            run("INSERT OR REPLACE INTO meta VALUES ('zone', ?)", (zone,))
        for file in stale:
            run("DELETE FROM rollup WHERE file = ?", (file,))
            run("DELETE FROM rollup_hour WHERE file = ?", (file,))
            run("DELETE FROM rollup_tool WHERE file = ?", (file,))
            run(f"INSERT INTO rollup {_COUNTED}", (file,))
            run(f"INSERT INTO rollup_hour {_HOURS.format(table='rollup', where='file = ?')}", (file,))
            calls = _calls(run, "doc.counted = 1 AND doc.file = ?", (file,))
            many("INSERT INTO rollup_tool VALUES (?, ?, ?, ?, ?)", calls)
            run("UPDATE file SET rolled = 1 WHERE id = ?", (file,))


def _calls(run: Any, where: str, values: tuple[int, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the calls of each tool in some documents, by file, quarter of an hour and model."""
    calls: Counter[tuple[int, int | None, str, str]] = Counter()
    rows = run(
        f"SELECT doc.file, doc.ms / {_QUARTER}, ifnull(usage.model, doc.model), doc.tool"
        " FROM doc LEFT JOIN usage ON usage.doc = doc.id"
        f" WHERE {where} AND doc.tool <> '' AND doc.role = 'assistant'",
        values,
    )
    for file, quarter, model, tools in rows:
        calls.update((file, quarter, model, tool) for tool in tools.split("\n"))
    return [(*key, count) for key, count in calls.items()]


def _tool_sums(run: Any, by: Sequence[Dimension | Literal["row"]], period: Period) -> list[Sums]:
    day, hour = _date(period), _time("strftime('%H', {0})", period)
    where, values = _conditions(period, day)
    names = ", ".join(_expression(key, day, hour) for key in by)
    group = ", ".join(map(str, range(1, len(by) + 1)))
    rows = run(
        f"SELECT {names}, count(DISTINCT scope.row), total(calls) FROM rolled_tool"
        f" JOIN temp.scope AS scope USING (file) WHERE {where} GROUP BY {group}",
        values,
    )
    nothing = (0.0,) * 7
    return [
        Sums(tuple(map(_text, row[: len(by)])), row[-2], 0.0, 0.0, 0.0, row[-1], *nothing, []) for row in rows
    ]


def _conditions(period: Period, day: str) -> tuple[str, list[str]]:
    conditions, values = ["1"], []
    for sign, limit in ((">=", period.since), ("<=", period.until)):
        if limit is not None:
            conditions.append(f"{day} {sign} ?")
            values.append(limit)
    return " AND ".join(conditions), values


def _expression(key: Dimension | Literal["row"], day: str, hour: str) -> str:
    match key:
        case "day":
            return day
        case "week":
            return f"date({day}, 'weekday 0', '-6 days')"
        case "month":
            return f"substr({day}, 1, 7)"
        case "hour":
            return hour
        case "model" | "tool":
            return key
        case _:
            return f"scope.{key}"


def _day(period: Period) -> str:
    return "day" if period.offset is None else _date(period)


def _hour(period: Period) -> str:
    return "hour" if period.offset is None else _time("strftime('%H', {0})", period)


def _date(period: Period, quarter: str = "quarter") -> str:
    return _time("date({0})", period, quarter)


def _time(function: str, period: Period, quarter: str = "quarter") -> str:
    seconds = f"{quarter} * {_QUARTER // 1000}"
    if period.offset is None:
        return function.format(f"{seconds}, 'unixepoch', 'localtime'")
    return function.format(f"{seconds} + {int(period.offset)}, 'unixepoch'")


def _text(value: Any) -> str:
    return "" if value is None else str(value)
