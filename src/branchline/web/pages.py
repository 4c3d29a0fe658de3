"""The pages of the viewer, filled from templates that escape by default."""

from __future__ import annotations

import os
import shlex
from datetime import date, timedelta
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from branchline.library import SessionRow
from branchline.settings import price_list
from branchline.views.compare import Side, compare_view
from branchline.views.figures import tokens
from branchline.views.html.markup import Html, join, template
from branchline.views.html.page import session_body
from branchline.views.humanize import count
from branchline.views.text import one_line, safe
from branchline.views.tool_calls import short_path
from branchline.web.charts import calendar, daily_bars, ranked_bars
from branchline.web.viewed import ViewedLibrary, ViewedSession

__all__ = ["WEEKS", "Pages", "compare_page", "session_page", "statistics_page"]

WEEKS = (4, 13, 26, 52)
"""The periods offered by the statistics page."""
_YEAR_DAYS = 371
_SERIES = 4
_RANKED = 8
_MOST_COMPARED = 300
_SHARE = template('<a class="btn quiet" id="share" href="{}/share"><i class="i share"></i>Share</a>')
_CHANGE = template(
    '<button class="btn quiet" id="change-button" type="button"><i class="i edit"></i>Change</button>'
)
_NOSCRIPT = template(
    '<noscript><div class="without-script">'
    "<p>The conversation is shown here with JavaScript. Without it, read it in the terminal:</p>"
    '<pre class="plain">branchline show {}</pre>'
    "<p>or write it into one page that shows its text in any browser:</p>"
    '<pre class="plain">branchline share {} -o FILE.html</pre></div></noscript>'
)


class Pages:
    """The templates, with the CSRF token and whether changes are allowed."""

    def __init__(self, *, csrf: str, writable: bool) -> None:
        folder = files("branchline.web") / "templates"
        self._environment = Environment(
            loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters["shown"] = _shown
        self._environment.globals.update(csrf=csrf, writable=writable)

    def render(self, name: str, **values: Any) -> str:
        """Render a page. Text is escaped; HTML from the renderer is inserted unchanged."""
        return self._environment.get_template(f"{name}.html").render(**values)


def _shown(value: str) -> Markup | str:
    return Markup(value) if isinstance(value, Html) else safe(value)  # noqa: S704  made by views.html only


def session_page(row: SessionRow, base: str, id: str, *, writable: bool = False) -> Html:  # noqa: A002
    """Return the body of a session page; its script loads the conversation. ``base`` begins all links."""
    home = os.path.expanduser("~")
    facts = [
        row.agent or row.format or "",
        row.model or "",
        short_path(row.cwd or "", home),
        row.git_branch or "",
        *(f"#{tag}" for tag in row.tags),
    ]
    if row.branches and row.branches > 1:
        facts.append(count(row.branches, "branch", "branches"))
    if row.findings:
        facts.append(count(row.findings, "finding"))
    share = _SHARE(f"{base}/s/{id}")
    name = shown_name(row)
    return session_body(
        title=row.title or row.first_prompt or "untitled",
        facts=[fact for fact in facts if fact],
        after=_NOSCRIPT(name, name),
        home=f"{base}/",
        tools=join((_CHANGE(), share)) if writable else share,
        keys={
            "Sessions": {
                "All sessions": "s",
                "Compare with the other branch": "c",
                "Share as one file": "x",
                **({"Change: label, title, tags, branch, fork": "e"} if writable else {}),
            }
        },
    )


def shown_name(row: SessionRow) -> str:
    """Return how a command line names a session, without saying where its file is."""
    return shlex.quote(one_line(row.id or row.key))


def statistics_page(viewed: ViewedLibrary, *, weeks: int, today: date) -> dict[str, Any]:
    """Return the statistics of the last ``weeks``; 0 chooses the shortest period that covers all data."""
    home = os.path.expanduser("~")
    with viewed.library.statistics(since=today - timedelta(days=_YEAR_DAYS), until=today) as year:
        days = {
            date.fromisoformat(group.name): group.figures.sessions
            for group in year.groups("day")
            if group.name
        }
        weeks = weeks or _usual_weeks(min(days, default=today), today)
        first = today - timedelta(weeks=weeks) + timedelta(days=1)
        found = year.during(first, today)
        stats = found.stats()
        by_model = found.groups("day", "model")
        hours = found.groups("hour")
        notes = tuple(map(viewed.sentence, found.notes))
    total = stats.total
    models = [group.name for group in stats.model[:_SERIES]]
    cost: dict[date, list[float]] = {}
    for group in by_model:
        day, model = group.keys
        if not day or not group.figures.cost:
            continue
        place = models.index(model) if model in models else len(models)
        cost.setdefault(date.fromisoformat(day), [0.0] * (len(models) + 1))[place] += group.figures.cost
    prompt_tokens = total.input + total.cache_read + total.cache_write
    return {
        "weeks": weeks,
        "notes": notes,
        "figures": [
            ("Cost", str(total.cost_figure), _unpriced(total.unpriced)),
            (
                "Tokens",
                total.in_words(total.tokens),
                _cached(total.cache_read, prompt_tokens),
            ),
            ("Sessions", f"{total.sessions:,}", f"{total.prompts:,} prompts"),
            (
                "Active days",
                f"{sum(1 for group in stats.day if group.figures.messages):,}",
                f"of {weeks * 7}",
            ),
            ("Tool calls", f"{total.tool_calls:,}", f"{total.answers:,} answers"),
        ],
        "legend": [*models, *(["other models"] if len(stats.model) > len(models) else [])],
        "bars": daily_bars(cost, [*models, "other"], first, today),
        "has_cost": bool(cost),
        "calendar": calendar(days, today),
        "models": _ranked(stats.model, home),
        "projects": _ranked(stats.directory, home),
        "agents": _ranked(stats.agent, home),
        "tools": ranked_bars([(t.name, t.name, t.calls, f"{t.calls:,}") for t in stats.tools[:_RANKED]]),
        "hours": ranked_bars(
            [
                (f"{group.name:>02}:00", group.name, group.figures.prompts, f"{group.figures.prompts:,}")
                for group in sorted(hours, key=lambda group: group.name)
                if group.name
            ]
        ),
    }


def _usual_weeks(oldest: date, today: date) -> int:
    return next((weeks for weeks in WEEKS if oldest > today - timedelta(weeks=weeks)), WEEKS[-1])


def _ranked(groups: Any, home: str) -> Html:
    rows = []
    for group in groups[:_RANKED]:
        figures, name = group.figures, group.name
        full = short_path(name, home)
        short = name.rstrip("/").rpartition("/")[2]
        known = figures.cost_figure.amount is not None or not figures.knows_tokens
        value = str(figures.cost_figure) if known else f"{tokens(figures.tokens)} tokens"
        rows.append((short or "unknown", full or "unknown", float(figures.cost or 0), value))
    return ranked_bars(rows)


def _unpriced(number: float) -> str:
    return f"without {tokens(number)} tokens of unknown price" if number else "forks counted once"


def _cached(read: float, prompt: float) -> str:
    return f"{100 * read / prompt:.0f} % from cache" if prompt else "nothing from cache"


def compare_page(
    left: ViewedSession, left_leaf: int, right: ViewedSession, right_leaf: int
) -> dict[str, Any]:
    """Return the values of the comparison page: the last common entry, and the entries of each side."""
    one, other = left.session.transcript, right.session.transcript
    view = compare_view(one, left_leaf, other, right_leaf, prices=price_list())
    ancestor = view.common_ancestor
    before = [] if ancestor is None else left.pieces([left.session.index.position(ancestor)])
    return {
        "shared": view.shared,
        "before": before,
        "sides": [_side_values(left, view.left, left_leaf), _side_values(right, view.right, right_leaf)],
    }


def _side_values(viewed: ViewedSession, side: Side, leaf: int) -> dict[str, Any]:
    index = viewed.session.index
    positions = [index.position(key) for turn in side.turns for key in turn.ids]
    models = sorted({model for turn in side.turns for model in turn.models})
    facts = [*models, count(side.messages, "message")]
    calls = sum(number for _, number in side.tools)
    facts += [count(calls, "tool call")] if calls else []
    facts += [f"{side.tokens} tokens", side.cost.words] if side.answers else []
    labels = viewed.session.labels
    names = [labels[key] for turn in side.turns for key in turn.ids if key in labels]
    first = next((turn.prompt for turn in side.turns if turn.prompt), "")
    return {
        "name": (names or [first[:60]])[-1] or "This branch",
        "current": leaf >= 0 and index.keys[leaf] == viewed.session.leaf,
        "facts": facts,
        "files": side.changed,
        "pieces": viewed.pieces(positions[:_MOST_COMPARED], frozenset(index.path_positions(leaf))),
        "left_out": max(0, len(positions) - _MOST_COMPARED),
    }
