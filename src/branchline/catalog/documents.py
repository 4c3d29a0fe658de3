"""The text of a session as documents, one for each message, with its usage.

``said`` is the text of users and models; ``tools`` is the input and output of tools, both without the escape
sequences of terminals: a word in colour is the same word. Everything in a file counts, on any branch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from branchline.context import milliseconds
from branchline.context.usage import TOOLS_AND_SUMMARIES, model_name
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessage,
    Entry,
    MessageEntry,
    Text,
    Thinking,
    ToolResult,
    UnknownMessage,
    Usage,
    UsageEntry,
    amount,
    blocks_text,
    message_text,
)
from branchline.formats import ByteRange, EntryLog, EntryText, FormatReader
from branchline.formats.entry_text import files_in, strings_in
from branchline.tree import ROOT
from branchline.views.text import without_escapes
from branchline.views.tool_calls import calls_of

__all__ = [
    "Document",
    "Spending",
    "documents_of",
    "off_path",
    "spending_before",
    "text_of",
    "traits_of",
]

_TOGETHER = 512
_WINDOW = 64  # entries over which the records of one answer are spread at most
_TYPES = frozenset({"message", "custom_message", "compaction", "branch_summary", "usage"})
_RENEWED = ("msg_", "prt_")
"""How ids of opencode begin, whose forks renew them: only the time and the text of a copy are the same."""
_LONGEST_TEXT = 1 << 20


class Spending(NamedTuple):
    """The tokens and the recorded cost of one call."""

    model: str
    """``provider/model``, as programs record it."""
    input: int | float
    output: int | float
    cache_read: int | float
    cache_write: int | float
    cache_write_1h: int | float
    total: int | float
    cost: float | None
    """None where the program does not record it."""
    answer: int | None = None
    """The same for every record of one answer, in all files; of these the one with the most output counts."""


class Document(NamedTuple):
    """An entry of a session with text, tool calls or usage."""

    position: int
    entry: str
    offset: int
    length: int
    type: str
    role: str
    ms: int | None
    on_path: bool
    mark: int
    """The same for every copy of the entry in other files."""
    state: int
    """-1 for what came with a fork and has no time by which its copies are known, -2 for what is another
    session's; 0 for everything else."""
    said: str
    tools: str
    tool_names: str
    """The names of the tools that were called or answered, one per line."""
    files: tuple[str, ...]
    """The files that its tool calls name."""
    model: str
    """``provider/model`` of an answer; empty for other entries."""
    failed: bool
    """Whether it is the result of a failed call, or a failed answer."""
    spending: Spending | None


def documents_of(transcript: EntryLog, start: int = 0) -> Iterator[Document]:
    """Yield the documents of a session from a position on. Payloads are decoded in chunks."""
    reading, tree = transcript.reading, transcript.tree
    active = _active(transcript)
    inherited, skipped = reading.inherited_entries, reading.counted_elsewhere
    answers, priced = reading.answer_ids, transcript.records_cost
    session = "" if reading.header is None else reading.header.id
    types, times, keys = tree.types, tree.times, tree.keys
    continuations, tasks = tree.continuations, reading.tasks
    wanted = [
        position
        for position in range(start, len(tree))
        if types[position] in _TYPES and position not in tree.placeholders
    ]
    for position, span, text in _texts(transcript, wanted):
        time, key, kind, usage = times[position], keys[position], types[position], text.usage
        name = f"{text.said}\n{text.tools}" if time and key.startswith(_RENEWED) else key
        yield Document(
            position,
            key,
            span.offset,
            span.size,
            "continuation" if kind == "message" and position in continuations else kind,
            "custom" if text.role == "user" and position in tasks else text.role,
            milliseconds(time) if time else None,
            active is None or position in active,
            _hash(f"{name}\n{time or session}\n{text.role}"),
            -2 if position < skipped else -1 if not time and position < inherited else 0,
            without_escapes(text.said[:_LONGEST_TEXT]),
            without_escapes(text.tools[:_LONGEST_TEXT]),
            text.tool_names,
            text.files,
            text.model,
            text.failed,
            _spending(text.spender, usage, answers.get(position), priced=priced),
        )


def _texts(transcript: EntryLog, positions: Sequence[int]) -> Iterator[tuple[int, ByteRange, EntryText]]:
    """Yield the texts of these entries, without those that have none."""
    reading, texts = transcript.reading, transcript.format.texts
    number = 0
    while number < len(positions):
        if texts is None:
            wanted = positions[number : number + _TOGETHER]
            found: Sequence[EntryText | None] = [None] * len(wanted)
        else:
            block = reading.block_of(positions[number])
            first, size = block.first, len(block.ends)
            wanted = positions[number : bisect_left(positions, first + size, number)]
            many = None
            if 16 * len(wanted) >= size:
                data = transcript.bytes_between(block.offset, block.offset + block.ends[-1])
                many = texts.texts(data, reading, block)
            found = [None if many is None else many[position - first] for position in wanted]
        number += len(wanted)
        left = [position for position, text in zip(wanted, found, strict=True) if text is None]
        decoded = dict(zip(left, transcript.entries(left), strict=True)) if left else {}
        for position, text in zip(wanted, found, strict=True):
            if text is not None or (text := text_of(decoded[position])) is not None:
                yield position, reading.span(position), text


def off_path(transcript: EntryLog, end: int) -> list[int]:
    """Return the positions before ``end`` that are not on the active path."""
    active = _active(transcript)
    return [] if active is None else [place for place in range(end) if place not in active]


def spending_before(transcript: EntryLog, end: int) -> dict[int, Spending | None]:
    """Return the usage of the last entries before ``end``, in formats with several records per answer.

    Only the last of these records tells which one counts.
    """
    if type(transcript.format.reader).merge_answers is FormatReader.merge_answers:
        return {}
    types = transcript.tree.types
    window = [place for place in range(max(0, end - _WINDOW), end) if types[place] == "message"]
    answers, priced = transcript.reading.answer_ids, transcript.records_cost
    spent: dict[int, Spending | None] = dict.fromkeys(window)
    for position, _span, text in _texts(transcript, window):
        spent[position] = _spending(text.spender, text.usage, answers.get(position), priced=priced)
    return spent


def traits_of(transcript: EntryLog) -> frozenset[str]:
    """Return the traits that ``is:`` finds: ``branch``, ``abandoned``, ``compacted``, ``fork``."""
    reading, tree = transcript.reading, transcript.tree
    traits = set()
    active = _active(transcript)
    if active is not None and any(
        kind == "message" and place not in active for place, kind in enumerate(tree.types)
    ):
        traits |= {"branch", "abandoned"}
    if "compaction" in tree.types:
        traits.add("compacted")
    if reading.header is not None and reading.header.parent_session:
        traits.add("fork")
    return frozenset(traits)


def _active(transcript: EntryLog) -> set[int] | None:
    """Return the positions on the active path; None if these are all."""
    reading, tree = transcript.reading, transcript.tree
    path = tree.path_positions(reading.leaf) if reading.leaf != ROOT else []
    if len(path) == len(tree):
        return None
    return set(path)


def _hash(words: str) -> int:
    text = words.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little", signed=True)


def text_of(entry: Entry) -> EntryText | None:
    """Return the text of a decoded entry; None if it is not a document."""
    match entry:
        case MessageEntry(message=AssistantMessage() as message):
            return _answer(entry, message)
        case MessageEntry(message=ToolResult() as message):
            return EntryText(
                "toolResult",
                "",
                blocks_text(message.content, "\n"),
                message.tool_name,
                failed=message.is_error is True,
                usage=message.usage,
                spender=TOOLS_AND_SUMMARIES if message.usage is not None else "",
            )
        case MessageEntry(message=BashExecution() as message):
            failed = isinstance(message.exit_code, int) and message.exit_code != 0
            return EntryText("bashExecution", message.command, message.output, failed=failed)
        case MessageEntry(message=UnknownMessage() as message):
            return EntryText(message.role, message_text(message))
        case MessageEntry():
            return EntryText(str(entry.message.role), message_text(entry.message, "\n"))
        case CustomMessage():
            return EntryText("custom", blocks_text(entry.content, "\n"))
        case Compaction() | BranchSummary():
            spender = TOOLS_AND_SUMMARIES if entry.usage is not None else ""
            return EntryText("summary", entry.summary, usage=entry.usage, spender=spender)
        case UsageEntry():
            spender = f"{entry.provider or ''}/{entry.model or ''}".strip("/")
            return EntryText("usage", usage=entry.usage, spender=spender)
        case _:
            return None


def _answer(entry: Entry, message: AssistantMessage) -> EntryText:
    words: list[str] = []
    tools: list[str] = []
    names: list[str] = []
    files: dict[str, None] = {}
    content = message.content
    if isinstance(content, str):
        words.append(content)
    else:
        for block in content:
            if isinstance(block, Text):
                words.append(block.text)
            elif isinstance(block, Thinking):
                words.append(block.thinking)
        for call in calls_of(entry):
            names.append(call.name)
            texts = strings_in(call.arguments)
            tools += (call.name, *texts)
            files.update(dict.fromkeys(files_in(call.arguments, texts)))
        if message.error_message:
            words.append(message.error_message)
    usage = message.usage if message.usage is not None and message.usage.is_recorded else None
    return EntryText(
        "assistant",
        "\n".join(words),
        "\n".join(tools),
        "\n".join(names),
        tuple(files),
        _model(message),
        message.stop_reason == "error",
        usage,
        "" if usage is None else model_name(message).strip("/"),
    )


def _model(message: AssistantMessage) -> str:
    return model_name(message).strip("/") if message.model or message.response_model else ""


def _spending(model: str, usage: Usage | None, answer: str | None, *, priced: bool) -> Spending | None:
    if usage is None or not usage.is_recorded:
        return None
    return Spending(
        model,
        _number(usage.input),
        _number(usage.output),
        _number(usage.cache_read),
        _number(usage.cache_write),
        _number(usage.cache_write_1h),
        _number(usage.context_tokens),
        float(_number(usage.cost.total)) if priced and usage.cost.known is not False else None,
        None if answer is None else _hash(answer),
    )


def _number(value: Any) -> int | float:
    """Return a number that SQLite can store and add; impossible amounts count as 0."""
    number = amount(value) if isinstance(value, int | float) else 0
    return int(number) if isinstance(number, float) and number.is_integer() else number
