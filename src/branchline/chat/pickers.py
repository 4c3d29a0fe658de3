"""The pickers of a chat: entries of the tree, turns of the path, sessions, models, choices of a flow."""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import overload

from branchline.chat.frontend import Picker, PickerOption, TreeChoice, options_with
from branchline.context.prices import PriceList
from branchline.flows import Choose
from branchline.library import Prompt, SessionRow
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
    """Options that are created on demand."""

    @overload
    def __getitem__(self, index: int) -> PickerOption: ...
    @overload
    def __getitem__(self, index: slice) -> list[PickerOption]: ...
    def __getitem__(self, index: int | slice) -> PickerOption | list[PickerOption]:
        if isinstance(index, slice):
            return [self._option(number) for number in range(*index.indices(len(self)))]
        return self._option(range(len(self))[index])

    @abstractmethod
    def _option(self, number: int) -> PickerOption: ...


class _Rows(_LazyOptions):
    """The rows of an outline as options, created on demand."""

    def __init__(self, session: Session, outline: Outline) -> None:
        self._session = session
        self._outline = outline
        self._texts = RowTexts(session.transcript, home=os.path.expanduser("~"))

    def __len__(self) -> int:
        return len(self._outline)

    def _option(self, number: int) -> PickerOption:
        row = self._outline[number]
        tree = self._session.index
        words = outline_line(
            row,
            self._texts(row.position),
            role=entry_role(tree, row.position),
            label=self._session.transcript.reading.labels.get(row.key),
        )
        here = "› " if row.key == self._session.leaf else "  "
        before = (Span(here, "cursor"), Span(indentation(row, self._outline.gutters(number)), "dim"))
        return PickerOption(key=row.key, line=make_line(*before, *words))


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
        return _Rows(session, whole if found is None else session.outline(filter, matches=found.__contains__))

    here = -1 if session.leaf is None else session.index.position(session.leaf)
    at = max(0, whole.nearest(here))
    state = TreeCursor(session, home=os.path.expanduser("~"))
    if filter != "default":
        state.set_filter(filter)
    return Picker(
        question=question,
        options=_Rows(session, whole),
        find=find,
        selected=at,
        tree=TreeChoice(state=state, label=label or session.append_label),
    )


def turn_picker(session: Session, question: str) -> Picker | None:
    """Pick a prompt of the path, at first the last one; None if there are none."""
    turns: list[Prompt] = list(prior_turns(session))
    labels = session.labels
    options = [
        PickerOption(
            key=turn.id,
            line=make_line(
                Span(f"[{labels[turn.id]}] " if turn.id in labels else "", "label"),
                Span(turn.preview, "user"),
            ),
        )
        for turn in turns
    ]
    return _picker(question, options, at=len(options) - 1) if options else None


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
    return _picker(question, options, at=at)


def _is_current(row: SessionRow, current: str | None) -> bool:
    return current is not None and row.path == current


class _Models(_LazyOptions):
    """Models with their prices, which are looked up on demand."""

    def __init__(self, names: Sequence[str], prices: PriceList) -> None:
        self._names = names
        self._prices = prices
        self._room = min(_MODEL_COLUMNS, max(map(len, names), default=0))

    def __len__(self) -> int:
        return len(self._names)

    def _option(self, number: int) -> PickerOption:
        name = self._names[number]
        return PickerOption(
            key=name,
            line=make_line(Span(f"{name:<{self._room}}", "model"), Span(f"  {self._price(name)}", "dim")),
        )

    def _price(self, name: str) -> str:
        if name.startswith(f"{OFFLINE}:"):
            return "free"
        rates = self._prices.rates(name.replace(":", "/", 1))
        if rates is None:
            return "no price"
        return f"${rates.input * 1e6:.4g} / ${rates.output * 1e6:.4g}"

    def find(self, words: str) -> _Models:
        wanted = words.lower().split()
        names = [name for name in self._names if all(word in name.lower() for word in wanted)]
        return _Models(names, self._prices)


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
    usable = _Models(ready, prices)
    unusable_rows = [
        PickerOption(key=name, line=make_line(Span(f"{name}  ", "dim"), Span(why, "warning")))
        for name, why in others
    ]

    def find(words: str) -> Sequence[PickerOption]:
        return _Joined(usable.find(words), options_with(unusable_rows, words))

    return Picker(
        question=f"Which model shall answer? Now: {current or 'none'}",
        options=_Joined(usable, unusable_rows),
        find=find,
        selected=0 if current is None else ready.index(current),
    )


class _Joined(Sequence[PickerOption]):
    """The concatenation of two sequences."""

    def __init__(self, first: Sequence[PickerOption], second: Sequence[PickerOption]) -> None:
        self._first = first
        self._second = second

    def __len__(self) -> int:
        return len(self._first) + len(self._second)

    @overload
    def __getitem__(self, index: int) -> PickerOption: ...
    @overload
    def __getitem__(self, index: slice) -> list[PickerOption]: ...
    def __getitem__(self, index: int | slice) -> PickerOption | list[PickerOption]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        first = len(self._first)
        return self._first[number] if number < first else self._second[number - first]


def unpickable(provider: ProviderStatus) -> str | None:
    """Return why no model of a provider can be picked, and the way out; None if some can."""
    if provider.ready and not provider.models:
        return f"name a model of it: /model {provider.name}:MODEL"
    return provider.needs


def choice_picker(step: Choose) -> Picker:
    """Pick a choice of a flow; the cursor is on the one that is taken where no question can be asked."""
    options = [PickerOption(key=choice.key, line=make_line(choice.label)) for choice in step.choices]
    at = next((number for number, choice in enumerate(step.choices) if choice.key == step.default), 0)
    return _picker(step.question, options, at=at)


def yes_or_no(question: str, yes: str) -> Picker:
    """Ask a question that is answered with ``yes`` or not; the cursor is on No."""
    options = [
        PickerOption(key="no", line=make_line("No")),
        PickerOption(key="yes", line=make_line(yes)),
    ]
    return _picker(question, options)


def _picker(question: str, options: Sequence[PickerOption], at: int = 0) -> Picker:
    find: Callable[[str], Sequence[PickerOption]] = lambda words: options_with(options, words)  # noqa: E731
    return Picker(question=question, options=options, find=find, selected=at)
