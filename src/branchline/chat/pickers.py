"""The pickers of a chat: entries of the tree, turns of the path, sessions, models, choices of a flow."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import overload

from branchline.chat.frontend import Picker, PickerOption, TreeChoice, options_with
from branchline.context.prices import PriceList
from branchline.flows import Choose
from branchline.library import SessionRow
from branchline.library.turns import prior_turns
from branchline.models import ProviderStatus
from branchline.models.providers import OFFLINE
from branchline.places import NATIVE_AGENT
from branchline.session import Session
from branchline.tree import Filter, Outline
from branchline.views.browser.tree_cursor import TreeCursor
from branchline.views.entry_rows import RowTexts
from branchline.views.forest import ForestRow, drawn_branches
from branchline.views.outline import entry_role, indentation, outline_line
from branchline.views.session_lines import list_columns, session_line
from branchline.views.session_row import row_name
from branchline.views.spans import Span, make_line
from branchline.views.tree_search import Search

__all__ = [
    "answer_picker",
    "choice_picker",
    "forest_picker",
    "model_picker",
    "session_picker",
    "tree_picker",
    "turn_picker",
    "unpickable",
    "yes_or_no",
]

_MODEL_COLUMNS = 44


class _LazyOptions(Sequence[PickerOption]):
    """Options that are made on demand."""

    def __init__(self, size: int, make: Callable[[int], PickerOption]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> PickerOption: ...
    @overload
    def __getitem__(self, index: slice) -> list[PickerOption]: ...
    def __getitem__(self, index: int | slice) -> PickerOption | list[PickerOption]:
        if isinstance(index, slice):
            return [self._make(number) for number in range(self._size)[index]]
        return self._make(range(self._size)[index])


def _rows(session: Session, outline: Outline) -> _LazyOptions:
    texts = RowTexts(session.transcript, home=os.path.expanduser("~"))
    labels = session.transcript.reading.labels

    def option(number: int) -> PickerOption:
        row = outline[number]
        role = entry_role(session.index, row.position)
        words = outline_line(row, texts(row.position), role=role, label=labels.get(row.key))
        here = "› " if row.key == session.leaf else "  "
        before = (Span(here, "cursor"), Span(indentation(row, outline.gutters(number)), "dim"))
        return PickerOption(key=row.key, line=make_line(*before, *words))

    return _LazyOptions(len(outline), option)


def tree_picker(
    session: Session,
    question: str,
    filter: Filter = "default",  # noqa: A002
    *,
    label: Callable[[str, str | None], object] | None = None,
) -> Picker:
    """Pick from all branches of a session; typing searches all messages. ``label`` labels an entry."""
    search = Search(session.transcript, session.transcript.reading.labels)
    whole = session.outline(filter)

    def find(words: str) -> Sequence[PickerOption]:
        found = search.find(words)
        return _rows(session, whole if found is None else session.outline(filter, matches=found.__contains__))

    here = -1 if session.leaf is None else session.index.position(session.leaf)
    at = max(0, whole.nearest(here))
    state = TreeCursor(session, home=os.path.expanduser("~"))
    if filter != "default":
        state.set_filter(filter)
    return Picker(
        question=question,
        options=_rows(session, whole),
        search=find,
        selected=at,
        tree=TreeChoice(state=state, label=label or session.append_label),
    )


def turn_picker(session: Session, question: str) -> Picker | None:
    """Pick a prompt of the path, at first the last one; None if there are none."""
    labels = session.labels
    options = [
        PickerOption(
            key=turn.id,
            line=make_line(
                Span(f"[{labels[turn.id]}] " if turn.id in labels else "", "label"),
                Span(turn.preview, "user"),
            ),
        )
        for turn in prior_turns(session)
    ]
    return Picker(question=question, options=options, selected=len(options) - 1) if options else None


def session_picker(rows: Iterable[SessionRow], question: str, *, current: str | None = None) -> Picker:
    """Pick a session, in the given order; the key is the file, ``current`` the file of this chat."""
    listed = [(row, "") for row in rows if row.problem is None]
    return _session_picker(listed, question, current)


def forest_picker(forest: Sequence[ForestRow], question: str, *, current: str | None = None) -> Picker:
    """Pick a session from a forest of forks; the key is the file, ``current`` that of this chat."""
    drawn = zip(forest, drawn_branches(forest), strict=True)
    listed = [(item.row, branches) for item, branches in drawn if item.row.problem is None]
    return _session_picker(listed, question, current)


def _session_picker(listed: list[tuple[SessionRow, str]], question: str, current: str | None) -> Picker:
    """Show sessions as in every list, each with the tree lines before its name."""
    now, home = time.time(), os.path.expanduser("~")
    columns = list_columns([row for row, _ in listed], own_agent=NATIVE_AGENT)
    options = [
        PickerOption(
            key=row_name(row),
            line=make_line(
                *session_line(row, columns, now=now, home=home, branch=branches),
                Span("  [current]" if _is_current(row, current) else "", "dim"),
            ),
        )
        for row, branches in listed
    ]
    at = next((number for number, (row, _) in enumerate(listed) if _is_current(row, current)), 0)
    return Picker(question=question, options=options, selected=at)


def _is_current(row: SessionRow, current: str | None) -> bool:
    return current is not None and row.path == current


def model_picker(providers: Iterable[ProviderStatus], current: str | None, prices: PriceList) -> Picker:
    """Pick a model, at first the current one; providers that need something come last.

    Prices are for a million tokens of input and output. The key of a provider whose models cannot be picked
    is its name alone.
    """
    ready: list[str] = []
    others: list[tuple[str, str]] = []
    for one in providers:
        ready += [f"{one.name}:{model}" for model in one.models if one.ready]
        if unusable := unpickable(one):
            others.append((one.name, unusable))
    if current is not None and current not in ready:
        ready.insert(0, current)
    unusable_rows = [
        PickerOption(key=name, line=make_line(Span(f"{name}  ", "dim"), Span(why, "warning")))
        for name, why in others
    ]

    def find(words: str) -> Sequence[PickerOption]:
        wanted = words.lower().split()
        names = [name for name in ready if all(word in name.lower() for word in wanted)]
        return _models(names, options_with(unusable_rows, words), prices)

    return Picker(
        question=f"Which model shall answer? Now: {current or 'none'}",
        options=_models(ready, unusable_rows, prices),
        search=find,
        selected=0 if current is None else ready.index(current),
    )


def _models(names: Sequence[str], others: Sequence[PickerOption], prices: PriceList) -> _LazyOptions:
    """Models with their prices, which are looked up on demand, and then other options."""
    room = min(_MODEL_COLUMNS, max(map(len, names), default=0))

    def option(number: int) -> PickerOption:
        if number >= len(names):
            return others[number - len(names)]
        name = names[number]
        line = make_line(Span(f"{name:<{room}}", "model"), Span(f"  {_price(name, prices)}", "dim"))
        return PickerOption(key=name, line=line)

    return _LazyOptions(len(names) + len(others), option)


def _price(model: str, prices: PriceList) -> str:
    if model.startswith(f"{OFFLINE}:"):
        return "free"
    rates = prices.rates(model.replace(":", "/", 1))
    return "no price" if rates is None else f"${rates.input * 1e6:.4g} / ${rates.output * 1e6:.4g}"


def unpickable(provider: ProviderStatus) -> str | None:
    """Return why no model of a provider can be picked, and the way out; None if some can."""
    if provider.ready and not provider.models:
        return f"name a model of it: /model {provider.name}:MODEL"
    return provider.needs


def choice_picker(step: Choose) -> Picker:
    """Pick a choice of a flow; the cursor is on the one that is taken where no question can be asked."""
    at = next((number for number, choice in enumerate(step.choices) if choice.key == step.default), 0)
    return answer_picker(step.question, {choice.key: choice.label for choice in step.choices}, at)


def yes_or_no(question: str, yes: str) -> Picker:
    """Ask a question that is answered with ``yes`` or not; the cursor is on No."""
    return answer_picker(question, {"no": "No", "yes": yes})


def answer_picker(question: str, answers: Mapping[str, str], selected: int = 0) -> Picker:
    """Pick one of a few answers; they are texts by key."""
    options = [PickerOption(key=key, line=make_line(words)) for key, words in answers.items()]
    return Picker(question=question, options=options, selected=selected)
