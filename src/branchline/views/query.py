"""The query language of lists and of full-text search: words, ``"phrases"``, ``re:patterns`` and fields.

Every term must match. Words and phrases are searched in title, first prompt, id, working directory and
messages; ``role:`` selects the messages by role, and ``in:`` their text or their tool calls and results. The
other fields match one property each. Case is ignored.

An invalid query is a value with a ``problem``, not an exception, because the user may still be typing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, get_args

import msgspec

from branchline.formats import agent_name
from branchline.formats.detect import builtin_agents
from branchline.views.fuzzy import fuzzy_score
from branchline.views.times import WRITTEN_AS, time_of

__all__ = [
    "FIELDS",
    "Match",
    "Query",
    "Search",
    "SearchFields",
    "Term",
    "parse_query",
    "role_name",
    "unknown_fields",
]

Field = Literal[
    "agent",
    "cwd",
    "model",
    "role",
    "tool",
    "after",
    "before",
    "label",
    "tag",
    "in",
    "is",
    "file",
    "branch",
    "cost",
    "tokens",
]
FIELDS: tuple[Field, ...] = get_args(Field)

_TOKEN = re.compile(
    r'(?P<empty>[a-z]+:)(?=\s|$)|(?:(?P<field>[A-Za-z]+):)?(?:"(?P<phrase>[^"]*)"|(?P<word>\S+))'
)
_RANK = 1_000_000.0
_MOST_TERMS = 200
_LONGEST = 10_000
"""Characters of a term; SQLite refuses patterns of more than 50,000 bytes."""
_CHOICES: dict[str, tuple[str, ...]] = {
    "in": ("said", "tools"),
    "is": ("branch", "abandoned", "compacted", "fork", "archived"),
}
_ALIASES: dict[str, Field] = {"path": "file"}
_AMOUNT = r"([<>]=?)(\d+(?:\.\d+)?)([km]?)"
_SCALE = {"": 1.0, "k": 1e3, "m": 1e6}
_MEANT: dict[str, str] = {
    "dir": "cwd",
    "directory": "cwd",
    "project": "cwd",
    "folder": "cwd",
    "repo": "cwd",
    "date": "after",
    "since": "after",
    "from": "after",
    "until": "before",
    "to": "before",
    "program": "agent",
    "source": "agent",
    "provider": "model",
    "author": "role",
    "who": "role",
    "files": "file",
    "tools": "tool",
    "labels": "label",
    "price": "cost",
    "title": "",
    "session": "",
    "id": "",
    "text": "",
    "content": "",
    "type": "",
    "tags": "tag",
}
"""Fields of other programs, and their names here, if there is one."""
_ROLES = {
    "result": "toolResult",
    "tool": "toolResult",
    "prompt": "user",
    "me": "user",
    "answer": "assistant",
    "bash": "bashExecution",
}
_KNOWN_ROLES = ("user", "assistant", "result", "bash", "summary", "custom")


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """One condition; ``text`` is in lower case. Only terms without a field can be patterns."""

    kind: Literal["word", "phrase", "pattern"] = "word"
    field: Field | None = None
    text: str
    moment_ms: int = 0
    """For ``after`` and ``before``."""
    sign: Literal["<", "<=", ">", ">="] = ">"
    amount: float = 0.0
    """For ``cost`` and ``tokens``, with the sign."""

    def allows(self, value: float) -> bool:
        """Return whether a number satisfies a ``cost`` or ``tokens`` term."""
        match self.sign:
            case "<":
                return value < self.amount
            case "<=":
                return value <= self.amount
            case ">":
                return value > self.amount
            case ">=":
                return value >= self.amount

    def names_agent(self, agent: str) -> bool:
        """Whether an ``agent`` term matches: a name or alias exactly, anything else a part of the name."""
        name = agent_name(self.text)
        return agent == name or (name not in builtin_agents() and self.text in agent)


class SearchFields(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The searchable fields of a row. Texts are in lower case, with runs of spaces collapsed."""

    name: str
    """The title, or the first prompt without a title."""
    around: str
    """The other searchable text: prompt, id, working directory."""
    cwd: str = ""
    agent: str = ""
    model: str = ""
    active_ms: int = 0
    tags: frozenset[str] = frozenset()
    archived: bool = False


class Match(msgspec.Struct, frozen=True):
    """Whether a session matches, and how well (lower is better).

    ``open`` means that only its messages can tell.
    """

    found: bool
    score: float = 0.0
    open: bool = False


_NO = Match(found=False)
Search = Callable[[Sequence[str]], bool | None]
"""Whether a pattern matches any of these texts; None if it is not known yet."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed query, or the ``problem`` with it. An empty query matches everything."""

    terms: tuple[Term, ...] = ()
    problem: str | None = None

    def __bool__(self) -> bool:
        return bool(self.terms) or self.problem is not None

    @property
    def words(self) -> tuple[str, ...]:
        """The words and phrases, to highlight in texts."""
        return tuple(term.text for term in self.terms if term.field is None and term.kind != "pattern")

    @property
    def pattern(self) -> str | None:
        """The regular expression, if there is one."""
        return next((term.text for term in self.terms if term.kind == "pattern"), None)

    def match(self, face: SearchFields, *, fuzzy: bool = False, search: Search | None = None) -> Match:
        """Match a session by its row. A term about its messages leaves the result ``open``.

        ``fuzzy`` also accepts letters that occur in this order, and scores their positions. ``search`` runs
        the pattern, if there is one; without it, the pattern runs here, for as long as it takes.
        """
        if self.problem is not None:
            return _NO
        inside = any(term.field in ("role", "in") for term in self.terms)
        score, unknown = 0.0, False
        for term in self.terms:
            if term.field:
                found = _field(term, face)
            else:
                found = None if inside else _text(term, face, fuzzy=fuzzy, search=search)
            if found is None:
                unknown = True
            elif found < 0:
                return _NO
            else:
                score += found
        return Match(found=False, open=True) if unknown else Match(found=True, score=score)


def _field(term: Term, face: SearchFields) -> float | None:
    """Return 0 for a match, -1 for a mismatch, None if only the messages can tell."""
    match term.field:
        case "agent":
            hit = term.names_agent(face.agent)
        case "cwd":
            hit = term.text in face.cwd
        case "tag":
            hit = term.text in face.tags
        case "is" if term.text == "archived":
            hit = face.archived
        case "after":
            hit = face.active_ms >= term.moment_ms
        case "before":
            hit = face.active_ms < term.moment_ms
        case "model" if term.text in face.model:
            hit = True
        case _:
            return None
    return 0.0 if hit else -1.0


def _text(term: Term, face: SearchFields, *, fuzzy: bool, search: Search | None) -> float | None:
    """Return the score of a word, phrase or pattern; None if it is not in the row."""
    if term.kind == "pattern":
        look = search or _searching(term.text)
        return 0.0 if look((face.name, face.around)) else None
    if term.text in face.name:
        # Without fuzzy matching the position is not scored: that takes longer than finding the word.
        return max(0.0, _fine(term, face.name)) if fuzzy else _RANK / 2
    if term.text in face.around:
        return _RANK
    if fuzzy and term.kind == "word":
        scores = [
            score for text in (face.name, face.cwd) if (score := fuzzy_score(term.text, text)) is not None
        ]
        if scores:
            return max(0.0, 2 * _RANK + min(scores))
    return None


def _searching(pattern: str) -> Search:
    compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    return lambda texts: any(map(compiled.search, texts))


def _fine(term: Term, name: str) -> float:
    """The score within a rank, limited to the rank."""
    score = fuzzy_score(term.text, name)
    return _RANK / 2 + max(-_RANK / 4, min(_RANK / 4, 0.0 if score is None else score))


def role_name(name: str) -> str:
    """Return the role for a name in a query, in lower case."""
    return _ROLES.get(name, name).lower()


# -- parsing ----------------------------------------------------------------------------------------------


def parse_query(text: str, *, now: datetime) -> Query:
    """Parse a query. ``today``, ``7d`` and dates without a zone are relative to ``now``."""
    text = text.strip()
    if text.lower().startswith("re:"):
        return _pattern(text[3:])
    if text.count('"') % 2:
        text = text.replace('"', " ")  # an unclosed phrase is words until the quote is typed
    terms: list[Term] = []
    for token in _TOKEN.finditer(text):
        field, phrase, word = token["field"] and token["field"].lower(), token["phrase"], token["word"]
        if token["empty"] is not None or (word is None and not (phrase or "").strip()):
            name = (token["empty"] or "").rstrip(":")
            if name in FIELDS or name in _ALIASES:
                return Query(
                    terms=tuple(terms),
                    problem=f"{name}: the value is missing; write it directly after the colon",
                )
            if token["empty"] is not None:
                terms.append(Term(text=token["empty"]))
            continue
        value = " ".join((word if phrase is None else phrase).lower().split())
        if field == "re":
            return Query(problem="re: must be the whole query")
        field = _ALIASES.get(field or "", field)
        if field is not None and field not in FIELDS:
            if field in _MEANT and not value.startswith((":", "/")):
                return Query(terms=tuple(terms), problem=_unknown_field(field))
            value, field = f"{field}:{value}", None  # a word with a colon, such as std::string
        if field in _CHOICES and value not in _CHOICES[field]:
            choices = ", ".join(f"{field}:{one}" for one in _CHOICES[field])
            return Query(terms=tuple(terms), problem=f"there is no {field}:{value}; there are {choices}")
        if field in ("cost", "tokens"):
            amount = re.fullmatch(_AMOUNT, value)
            if amount is None:
                example = "cost:>1 or cost:<0.5" if field == "cost" else "tokens:>100k or tokens:<5000"
                return Query(terms=tuple(terms), problem=f"{field}:{value} compares nothing; write {example}")
            number = float(amount[2]) * _SCALE[amount[3]]
            terms.append(Term(field=field, text=value, sign=amount[1], amount=number))  # type: ignore[arg-type]
            continue
        if field in ("after", "before"):
            moment = time_of(value, now)
            if moment is None:
                return Query(
                    terms=tuple(terms),
                    problem=f"{field}:{value} is not a valid time; use {WRITTEN_AS}",
                )
            terms.append(Term(field=field, text=value, moment_ms=round(moment.timestamp() * 1000)))
        else:
            kind: Literal["word", "phrase"] = "word" if phrase is None else "phrase"
            terms.append(Term(kind=kind, field=field, text=value))
    different = tuple(dict.fromkeys(terms))
    if len(different) > _MOST_TERMS:
        return Query(problem=f"a query of {len(different)} words is too long; use at most {_MOST_TERMS}")
    longest = max((len(term.text) for term in different), default=0)
    return Query(problem=_too_long(longest)) if longest > _LONGEST else Query(terms=different)


def _too_long(length: int) -> str:
    return f"a word or pattern of {length:,} characters is too long; use at most {_LONGEST:,}"


def _unknown_field(name: str) -> str:
    meant = _MEANT[name]
    hint = f", did you mean {meant}:" if meant else ""
    return f'unknown field {name}:{hint}; the fields are {_known()}; quote "{name}:…" to search for the text'


def _known() -> str:
    return " ".join(f"{field}:" for field in (*FIELDS, *_ALIASES))


def unknown_fields(query: Query) -> list[str]:
    """Describe text that looks like a field, and unknown roles, for a search that found nothing."""
    roles = {role_name(role) for role in _KNOWN_ROLES}
    inside = re.search(rf"\s((?:{'|'.join((*FIELDS, *_ALIASES))}):\S+)", query.pattern or "")
    swallowed = [] if inside is None else [f"{inside[1]} is part of the pattern; re: must be the whole query"]
    return (
        swallowed
        + [
            f"{term.field}:{term.text} is not a common role; these are {', '.join(_KNOWN_ROLES)}"
            for term in query.terms
            if term.field == "role" and role_name(term.text) not in roles
        ]
        + [
            f"{term.text} was searched as text: unknown field {found[1]}:; the fields are {_known()}"
            for term in query.terms
            if term.field is None
            and term.kind == "word"
            and (found := re.match(r"([a-z]+):[^:/\\]", term.text))
        ]
    )


def _pattern(pattern: str) -> Query:
    if not pattern.strip():
        return Query(problem="re: needs a regular expression after the colon")
    if len(pattern) > _LONGEST:
        return Query(problem=_too_long(len(pattern)))
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as problem:
        return Query(problem=f"invalid regular expression: {problem}")
    return Query(terms=(Term(kind="pattern", text=pattern),))
