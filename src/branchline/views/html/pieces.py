"""One piece of HTML for each entry: prompts, answers and marks in a page.

A piece depends on its entry and, for tool calls, on their results. It does not depend on the shown path, so
that a page can request any range of entries and keep the pieces it has: a call that has results on several
branches is there once for each, and the page shows the one whose entry is on its path. The piece of a result
is empty; if the row of its call is not the one above, it is a link to that row, which the page follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from branchline.context.javascript import number_text
from branchline.entries import (
    SIDE_TYPES,
    AssistantMessage,
    BashExecution,
    Block,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    Content,
    ContextEdit,
    CustomContent,
    CustomMessage,
    Damaged,
    Entry,
    Image,
    MessageEntry,
    ModelChange,
    SystemMessage,
    Text,
    Thinking,
    ThinkingLevelChange,
    ToolResult,
    Unknown,
    UnknownBlock,
    UnknownMessage,
    UserMessage,
    amount,
    blocks_text,
)
from branchline.formats import LabelState
from branchline.tree import ROOT, EntrySource
from branchline.views.call_outcomes import call_outcome, line_count
from branchline.views.call_results import AnsweredCall, CallPairs, ResultPlace, is_result, results_of
from branchline.views.cards import CLEARED_TYPES, bash_facts, system_text
from branchline.views.figures import money, tokens
from branchline.views.html.code import difference, output
from branchline.views.html.markup import EMPTY, Html, escape, join, template
from branchline.views.html.prose import is_plain, prose
from branchline.views.humanize import count, decoded_size, format_size
from branchline.views.times import instant
from branchline.views.tool_calls import Call, call_of, has_failed, single_line, waits_for_result
from branchline.views.tool_results import ResultView, result_view
from branchline.views.tool_views import ToolSection, call_line, call_sections, json_text, tool_kind

__all__ = ["PieceOptions", "PieceRenderer", "day_heading"]

_LONGEST_OUTPUT = 200_000
"""The most characters of a tool's output in a page; the rest is counted."""
_LONGEST_GIST = 32
_NEIGHBOURS = 10
"""The most results below an answer that a page finds it by."""
_WORTH_A_REFERENCE = 160
"""The shortest plain text that may be replaced by a reference, in characters."""
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}", re.ASCII)


class PieceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of entries that pieces show."""

    tools: bool = True
    """Tool calls and results; without them one line says how many there were."""
    thinking: bool = True
    images: bool = True
    home: str = ""
    """The home directory, shown as ``~`` in paths."""


class _Outcome(NamedTuple):
    """What is shown of a result, and the entry that has it."""

    position: int
    view: ResultView
    images: Sequence[Html] = ()


Reference = Callable[[int, str], int | None]
"""Returns the offset of the JSON string of a text in the line of an entry; None if it is not there."""


class PieceRenderer:
    """Renders the entries of one session, which may grow meanwhile.

    With ``reference`` the long plain texts of a piece are empty elements, which the page fills with text from
    the session's own lines: ``data-text`` (outputs, inputs, thoughts, patches), ``data-paragraphs`` (messages
    without any Markdown) or ``data-diff`` (old text, new text, and runs of kept, removed and added lines).
    """

    def __init__(
        self,
        source: EntrySource,
        *,
        labels: Mapping[str, LabelState] | None = None,
        options: PieceOptions | None = None,
        reference: Reference | None = None,
        pairs: CallPairs | None = None,
    ) -> None:
        self.source = source
        self._reference = reference
        self._pairs = CallPairs(source) if pairs is None else pairs
        self.options = PieceOptions() if options is None else options
        self._labels: Mapping[str, LabelState] = {} if labels is None else labels
        self._read: dict[int, Entry] = {}
        self._path: Container[int] | None = None

    def pieces(self, positions: Sequence[int], path: Container[int] | None = None) -> list[Html]:
        """Return the pieces of these entries, in this order; with a ``path``, with the results on it only."""
        entries = self.source.entries(positions)
        self._pairs.note(positions, entries)
        self._read, self._path = dict(zip(positions, entries, strict=True)), path
        try:
            return [self._piece(at, entry) for at, entry in zip(positions, entries, strict=True)]
        finally:
            self._read, self._path = {}, None

    def piece(self, position: int) -> Html:
        """Return the piece of one entry; without text for side records and results shown with their call."""
        return self._piece(position, self.source.entry(position))

    def row_of(self, position: int) -> int:
        """Return the entry whose piece shows this one: itself, or the answer with the call of a result."""
        rows = self.answered_rows(position) if self.source.tree.roles[position] == "toolResult" else []
        return rows[0] if rows else position

    def answered_rows(self, position: int) -> list[int]:
        """Return the entries whose calls have their results in this one: the pieces that it changes."""
        if self.source.tree.roles[position] not in ("assistant", "toolResult"):
            return []
        numbers = range(len(results_of(self._entry(position))))
        found = [self._answered(position, number) for number in numbers]
        return sorted({call.position for call in found if call is not None})

    # -- results and their calls ----------------------------------------------------------------------

    def _answered(self, position: int, number: int = 0) -> AnsweredCall | None:
        """The call that shows a result; None if the result is shown where it is."""
        found = self._pairs.call(position, number)
        return None if found is None or found.repeated else found

    def _entry(self, position: int) -> Entry:
        entry = self._read.get(position)
        return self.source.entry(position) if entry is None else entry

    def _with(self, row: int, position: int) -> Html:
        """The piece of an entry that another row shows: empty if that is the row above its neighbours."""
        tree, above = self.source.tree, position
        for _ in range(_NEIGHBOURS):
            above = tree.parent_position(above)
            if above == row:
                return EMPTY
            if above == ROOT or tree.roles[above] != "toolResult":
                break
        return _WITH(tree.keys[row])

    # -- texts ----------------------------------------------------------------------------------------

    def _place(self, position: int, text: str, row: int | None = None) -> Html | None:
        """The place of a text for the page: an offset in the row's line, or ``offset:distance`` in another.

        ``row`` is the entry whose piece this is, if it is another one: places count from there.
        """
        if self._reference is None or len(text) < _WORTH_A_REFERENCE:
            return None
        at = self._reference(position, text)
        if at is None:
            return None
        return Html(at if row is None else f"{at}:{position - row}")

    def _prose(self, position: int, text: str) -> Html:
        if is_plain(text) and (place := self._place(position, text)) is not None:
            return _PARAGRAPHS(place)
        return _PROSE(prose(text))

    def _difference(self, position: int, text: str) -> tuple[Html, Html]:
        place = self._place(position, text)
        if place is not None:
            return join((_DIFF_CLASS, _TEXT(place))), EMPTY
        if self._reference is not None and len(text) >= _WORTH_A_REFERENCE:
            lines = text.split("\n")
            old = "\n".join([line[1:] for line in lines if line[:1] in (" ", "-")])
            new = "\n".join([line[1:] for line in lines if line[:1] in (" ", "+")])
            places = [self._reference(position, side) if side else "" for side in (old, new)]
            if None not in places:
                marks = groupby([line[:1] for line in lines])
                runs = [f"{mark}{len(list(same))}" for mark, same in marks]
                return join((_DIFF_CLASS, _CHANGE(f"{places[0]}|{places[1]}|{''.join(runs)}"))), EMPTY
        return _DIFF_CLASS, difference(text)

    # -- entries --------------------------------------------------------------------------------------

    def _piece(self, position: int, entry: Entry) -> Html:
        if entry.type in SIDE_TYPES:
            return EMPTY
        match entry:
            case MessageEntry():
                return self._message(position, entry, entry.message)
            case CustomMessage():
                facts = ("hidden",) if entry.display is False else ()
                return self._note(entry, entry.custom_type, blocks_text(entry.content), facts)
            case Compaction():
                before = entry.tokens_before
                facts = () if before is None else (f"{tokens(before)} tokens before",)
                return self._compaction(entry, entry.summary, facts)
            case BranchSummary():
                return self._branch_summary(entry, entry.summary)
            case ModelChange():
                name = "/".join(filter(None, (entry.provider, entry.model_id)))
                return self._setting(entry, "Model", name)
            case ThinkingLevelChange():
                return self._setting(entry, "Thinking level", entry.thinking_level)
            case ContextEdit():
                what = "excluded from" if entry.replacement is None else "replaced in"
                body = "" if entry.replacement is None else blocks_text(entry.replacement.content)
                return self._setting(entry, entry.target, f"{what} the context", body)
            case Damaged():
                return self._raw(entry, "Unreadable line", entry.text, bad=True)
            case Unknown() if entry.type in CLEARED_TYPES:
                return _CLEARED(entry.id)
            case Unknown():
                return self._raw(entry, entry.type, json_text(entry.fields))
            case _:
                return EMPTY

    def _message(self, position: int, entry: MessageEntry, message: Any) -> Html:
        match message:
            case UserMessage():
                text = self._prose(position, blocks_text(message.content, "\n\n"))
                body = join((text, *self._images(message.content), self._chips(entry)))
                return self._article(entry, _USER, _PROMPT, body)
            case AssistantMessage():
                return self._answer(position, entry, message)
            case ToolResult():
                return self._result(position, entry, message)
            case BashExecution():
                return self._bash(position, entry, message)
            case SystemMessage():
                return self._note(entry, "System prompt", system_text(message))
            case CustomContent():
                facts = ("hidden",) if message.display is False else ()
                return self._note(entry, message.custom_type, blocks_text(message.content), facts)
            case BranchSummaryMessage():
                return self._branch_summary(entry, message.summary)
            case CompactionSummaryMessage():
                return self._compaction(entry, message.summary, ())
            case UnknownMessage():
                return self._raw(entry, message.role, json_text(message.fields))
            case _:
                return EMPTY

    def _answer(self, position: int, entry: MessageEntry, message: AssistantMessage) -> Html:
        content = message.content
        blocks: Sequence[Any] = (Text(text=content),) if isinstance(content, str) else content
        results = iter(self._pairs.results(position))
        row = position
        parts: list[Html] = []
        tools: list[Html] = []
        bare, hidden, found = True, 0, 0
        for block in blocks:
            if (call := call_of(block)) is not None:
                if self.options.tools:
                    tools.append(self._tool(position, call, block, next(results)))
                else:
                    hidden += 1
                continue
            match block:
                case Text():
                    if not block.text or block.text.isspace():
                        continue
                    shown = self._prose(position, block.text)
                    bare = False
                case Thinking():
                    if not self.options.thinking:
                        continue
                    shown = self._thought(position, block.thinking)
                    bare = False
                case Image():
                    shown = _PROSE(join(self._images((block,))))
                    bare = False
                case UnknownBlock() if is_result(block):
                    answered = self._answered(position, found)
                    found += 1
                    if answered is not None:
                        row = answered.position
                        continue
                    if not self.options.tools:
                        continue
                    text = result_view(block).text
                    shown = _NOTE(block.type, single_line(text[:200]), _PRE(text[:_LONGEST_OUTPUT]))
                case UnknownBlock():
                    shown = _unknown_block(block)
                case _:
                    continue
            if tools:
                parts.append(_TOOLSET(_joined(tools)))
                tools = []
            parts.append(shown)
        if tools:
            parts.append(_TOOLSET(_joined(tools)))
        if hidden:
            parts.append(_OMITTED(f"{count(hidden, 'tool call')} omitted"))
        failed = message.stop_reason in ("error", "aborted")
        if failed or message.error_message:
            what = "Stopped" if message.stop_reason == "aborted" else "Error"
            reason = (message.error_message or "").strip()
            parts.append(_FAILURE(_ICONS["warn"], f"{what}: {reason}" if reason else what))
            bare = False
        if not parts:
            if row != position:
                return self._with(row, position)
            if not self.options.thinking and blocks:
                return EMPTY
            parts.append(_OMITTED("No content"))
        if entry.id in self._labels:
            parts.append(self._chips(entry))
        return self._article(entry, _BARE if bare else _ASSISTANT, _ANSWER, _joined(parts), message)

    def _article(
        self, entry: Entry, kind: Html, name: str, body: Html, answer: AssistantMessage | None = None
    ) -> Html:
        if self._reference is not None:  # the page knows the time and the address
            return _PACKED_ARTICLE(kind, entry.id, name, body, _margin(answer))
        return _ARTICLE(kind, entry.id, name, body, entry.id, _time(entry), _margin(answer))

    def _chips(self, entry: Entry) -> Html:
        label = self._labels.get(entry.id)
        return EMPTY if label is None else _CHIPS(label.text)

    # -- tools ----------------------------------------------------------------------------------------

    def _tool(self, position: int, call: Call, block: Block, places: Sequence[ResultPlace]) -> Html:
        """A call, once for each of its results."""
        if self._path is not None:
            places = [place for place in places if place.position in self._path]
        if not places:
            return self._line(position, call, failed=has_failed(block), is_open=waits_for_result(block))
        return join(
            [
                self._line(position, call, self._outcome(place), is_variant=number > 0)
                for number, place in enumerate(places)
            ]
        )

    def _outcome(self, place: ResultPlace) -> _Outcome:
        result = results_of(self._entry(place.position))[place.number]
        images = self._images(result.content) if isinstance(result, ToolResult) else ()
        return _Outcome(place.position, result_view(result), images)

    def _result(self, position: int, entry: MessageEntry, result: ToolResult) -> Html:
        """A result: empty if it is shown with its call."""
        if not self.options.tools:
            return EMPTY
        if (answered := self._answered(position)) is not None:
            return self._with(answered.position, position)
        view = result_view(result)
        view = view._replace(facts=("without its call", *view.facts))
        call = Call(result.tool_call_id, result.tool_name, {})
        line = self._line(position, call, _Outcome(position, view, self._images(result.content)))
        return self._tool_article(entry, _BARE, "Tool result", line)

    def _bash(self, position: int, entry: MessageEntry, message: BashExecution) -> Html:
        """A command that the user ran."""
        if not self.options.tools:
            return EMPTY
        call = Call("", "bash", {"command": message.command})
        view = ResultView(message.output, bool(message.exit_code), bash_facts(message))
        line = self._line(position, call, _Outcome(position, view))
        return self._tool_article(entry, _SHELL, _COMMAND, line)

    def _tool_article(self, entry: Entry, kind: Html, name: str, line: Html) -> Html:
        return self._article(entry, kind, name, join((_TOOLSET(line), self._chips(entry))))

    def _line(
        self,
        position: int,
        call: Call,
        outcome: _Outcome | None = None,
        *,
        failed: bool = False,
        is_open: bool = False,
        is_variant: bool = False,
    ) -> Html:
        """A tool call: one line, and what it shows when it is opened.

        ``is_variant`` marks the same call with the result of another branch.
        """
        kind = tool_kind(call.name)
        name, _, subject = call_line(call, self.options.home).partition(": " if kind != "other" else " ")
        sections = call_sections(call, self.options.home)
        parts = [self._section(position, section) for section in sections]
        at, view, images = outcome or _Outcome(position, ResultView("", failed, ()))
        lines = line_count(view.text)
        told = [self._output(at, view.text, lines, position)] if lines else []
        told += images
        if told and at != position:  # a page takes it out where the result is not on its path
            told = [_OUT(_joined(told))]
        parts += told
        words, duration = call_outcome(
            call.name, sections, view.text, view.facts, failed=view.failed, minus="\u2212"
        )
        gist = ", ".join(words)[: 2 * _LONGEST_GIST]
        return _TOOL(
            Html((" bad" if view.failed else "") + (" variant" if is_variant else "")),
            EMPTY if at == position else _ID(self.source.tree.keys[at]),
            _ICONS[kind],
            _name(name),
            subject,
            gist or EMPTY,
            duration or EMPTY,
            _STATES["open" if is_open else "bad" if view.failed else "ok"],
            _IO(_joined(parts)) if parts else EMPTY,
        )

    def _section(self, position: int, section: ToolSection) -> Html:
        if section.kind == "diff":
            return _SECTION(section.title or "Change", *self._difference(position, section.text))
        title = section.title or (_COMMAND if section.language == "sh" else _INPUT)
        return self._text_section(title, position, section.text[:_LONGEST_OUTPUT])

    def _text_section(self, title: str, position: int, text: str, row: int | None = None) -> Html:
        place = self._place(position, text, row)
        return _SECTION(title, EMPTY, output(text)) if place is None else _REFERRED(title, place)

    def _output(self, position: int, text: str, lines: int, row: int) -> Html:
        left = len(text) - _LONGEST_OUTPUT
        title = f"Output, {count(lines, 'line')}"
        if left > 0:
            text = text[:_LONGEST_OUTPUT]
            title = f"{title}, {left:,} more characters not shown"
        return self._text_section(title, position, text, row)

    def _thought(self, position: int, text: str) -> Html:
        shown = text.strip()
        first, place = single_line(shown[:120]) or "(redacted)", self._place(position, text)
        return _THOUGHT(first, EMPTY, output(text)) if place is None else _THOUGHT(first, _TEXT(place), EMPTY)

    # -- marks ----------------------------------------------------------------------------------------

    def _compaction(self, entry: Entry, summary: str, facts: Sequence[str]) -> Html:
        return _COMPACTED(entry.id, join(f", {fact}" for fact in facts), prose(summary))

    def _branch_summary(self, entry: Entry, summary: str) -> Html:
        return _BRANCH(entry.id, prose(summary))

    def _setting(self, entry: Entry, name: str, value: str, body: str = "") -> Html:
        return _SETTING(entry.id, name, value, _PROSE(prose(body)) if body.strip() else EMPTY)

    def _note(self, entry: Entry, name: str, text: str, facts: Sequence[str] = ()) -> Html:
        first = single_line(text[:400])
        title = join((name, *(f", {fact}" for fact in facts)))
        return self._article(
            entry, _NOTED, "Note", join((_NOTE(title, first, prose(text)), self._chips(entry)))
        )

    def _raw(self, entry: Entry, name: str, text: str, *, bad: bool = False) -> Html:
        shown = text[:_LONGEST_OUTPUT]
        kind = Html("note bad") if bad else _NOTED
        return self._article(entry, kind, "Entry", _NOTE(name, single_line(text[:200]), _PRE(shown)))

    def _images(self, content: Content) -> list[Html]:
        if isinstance(content, str):
            return []
        return [self._image(block) for block in content if isinstance(block, Image)]

    def _image(self, block: Image) -> Html:
        kind = block.mime_type.lower()
        size = format_size(decoded_size(block.data))
        if not self.options.images:
            return _OMITTED(f"{kind or 'image'}, {size}, omitted")
        if kind not in _IMAGE_TYPES or not _BASE64.fullmatch(block.data):
            return _OMITTED(f"{kind or 'image'}, {size}, not shown")
        return _IMAGE(kind, block.data, kind.removeprefix("image/"), size)


_PROMPT, _ANSWER, _COMMAND, _INPUT = map(Html, ("Prompt", "Answer", "Command", "Input"))
_USER, _ASSISTANT, _BARE, _SHELL, _NOTED = map(Html, ("user", "assistant", "assistant bare", "shell", "note"))


# -- parts of a piece -------------------------------------------------------------------------------------

_ARTICLE = template(
    '<article class="entry {}" id="e-{}" aria-label="{}"><div class="body">{}</div>'
    '<div class="margin"><a href="#e-{}">{}</a>{}</div></article>'
)
_PACKED_ARTICLE = template(
    '<article class="entry {}" id="e-{}" aria-label="{}"><div class="body">{}</div>'
    '<div class="margin"><a><time></time></a>{}</div></article>'
)
_PROSE = template('<div class="prose">{}</div>')
_CHIPS = template('<div class="chips"><span class="chip">{}</span></div>')
_TOOLSET = template('<div class="toolset">{}</div>')
_ICON = template('<i class="i {}"></i>')
_PARAGRAPHS = template('<div class="prose" data-paragraphs="{}"></div>')
_CHANGE = template(' data-diff="{}"')
_TEXT = template(' data-text="{}"')
_DIFF_CLASS = Html(' class="diff"')
_ID = template(' id="e-{}"')
_TOOL = template(
    '<details class="tool{}"{}><summary>{}<b>{}</b><code>{}</code>'
    '<span class="gist">{}</span><span class="dur">{}</span>{}</summary>{}</details>'
)
_STATE = template('<i class="i st {}" role="img" aria-label="{}"></i>')
_WITH = template('<a class="with" href="#e-{}"></a>')
_OUT = template('<div class="out">{}</div>')
_IO = template('<div class="io fold">{}</div>')
_SECTION = template('<div class="lab">{}</div><pre tabindex="0"{}>{}</pre>')
_REFERRED = template('<div class="lab">{}</div><pre tabindex="0" data-text="{}"></pre>')
_THOUGHT = template(
    '<details class="think"><summary><i class="i chev"></i>'
    '<span>Thought</span><span class="first">{}</span></summary>'
    '<div class="tx fold"{}>{}</div></details>'
)
_NOTE = template(
    '<details class="aside"><summary><i class="i chev"></i>'
    '<b>{}</b><span class="first">{}</span></summary>'
    '<div class="tx fold">{}</div></details>'
)
_PRE = template('<pre tabindex="0"><code>{}</code></pre>')
_OMITTED = template('<p class="omitted">{}</p>')
_FAILURE = template('<p class="failure">{}{}</p>')
_COMPACTED = template(
    '<details class="markline cut" id="e-{}"><summary><i class="i cut"></i>'
    '<span><b>Compacted</b>{}</span><span class="rule"></span><span class="more-s">Summary</span>'
    '</summary><div class="tx fold prose">{}</div></details>'
)
_CLEARED = template(
    '<div class="markline clear" id="e-{}"><div class="m"><i class="i clear"></i>'
    "<span><b>Context cleared.</b> The model saw nothing above this line.</span>"
    '<span class="rule"></span></div></div>'
)
_BRANCH = template(
    '<div class="aside-note" id="e-{}"><i class="i note"></i>'
    '<div class="prose"><b>Summary of the abandoned branch</b>{}</div></div>'
)
_SETTING = template('<div class="setting" id="e-{}"><span>{}</span> <b>{}</b>{}</div>')
_IMAGE = template('<figure><img src="data:{};base64,{}" alt=""><figcaption>{}, {}</figcaption></figure>')
_TIME = template('<time datetime="{}">{}</time>')
_MODEL = template('<span class="mdl">{}</span>')
_ICONS = {kind: _ICON(Html(kind)) for kind in (
    "shell", "read", "write", "edit", "search", "agent", "plan", "web", "ask", "other", "warn", "ok", "bad",
    "note", "wait",
)}  # fmt: skip


_STATES = {
    "ok": _STATE("ok", "done"),
    "bad": _STATE("bad", "failed"),
    "open": _STATE("wait", "no result"),
}


def _joined(parts: list[Html]) -> Html:
    return parts[0] if len(parts) == 1 else join(parts)


def _unknown_block(block: UnknownBlock) -> Html:
    text = json_text(block.fields)
    return _NOTE(block.type or "block", single_line(text[:200]), _PRE(text[:_LONGEST_OUTPUT]))


def _margin(answer: AssistantMessage | None) -> Html:
    """The model, cost and tokens of an answer."""
    if answer is None:
        return EMPTY
    model = answer.response_model or answer.model
    shown = _MODEL(model) if model else ""
    usage = answer.usage
    if usage is None:
        return Html(shown)
    # Numbers cannot be markup: no template is needed for them, and there are very many.
    total = amount(usage.cost.total)
    cost = f'<span class="more cost">{money(total)}</span>' if total else ""
    read, wrote = sum(map(amount, (usage.input, usage.cache_read, usage.cache_write))), amount(usage.output)
    if not read and not wrote:
        return Html(f"{shown}{cost}")
    return Html(f'{shown}{cost}<span class="more tok">{_grouped(read)} in, {_grouped(wrote)} out</span>')


_name = lru_cache(maxsize=256)(escape)
"""Cached: there are few tool names."""


def _grouped(number: float) -> str:
    if -1e15 < number < 1e15:
        return f"{number:,}" if type(number) is int else f"{number:,.0f}"
    return number_text(number)


_USUAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT(\d\d:\d\d):\d\d(?:\.\d+)?Z", re.ASCII)


def _time(entry: Entry) -> Html:
    if usual := _USUAL_TIME.fullmatch(entry.timestamp):
        return _TIME(Html(entry.timestamp), Html(usual[1]))
    moment = instant(entry.timestamp)
    return Html("") if moment is None else _TIME(moment.isoformat(timespec="milliseconds"), f"{moment:%H:%M}")


_DAY = template('<h2 class="day">{}</h2>')


def day_heading(timestamp: str, before: str = "") -> Html:
    """Return the heading of a new day (in UTC) if ``timestamp`` is not on the day of the entry before it."""
    day, last = instant(timestamp), instant(before)
    if day is None or (last is not None and last.date() == day.date()):
        return EMPTY
    return _DAY(f"{day:%A} {day.day} {day:%B} {day.year}")
