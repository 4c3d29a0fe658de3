"""The search language of session lists: words, ``"phrases"``, ``re:patterns`` and fields.

Every term must match. A word or phrase is looked for in title, first prompt, id, working directory and,
where they have been read, the messages; ``role:`` says in whose messages. The other fields (``agent: cwd:
model: tool: label: after: before:``) look at one thing each. Case never matters.

A query that cannot be understood is a value with a ``problem``, not an exception: a person is still typing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from branchline.formats import agent_name
from branchline.views.fuzzy import fuzzy_score
from branchline.views.times import WRITTEN_AS, time_of

__all__ = ["FIELDS", "Match", "Query", "Search", "SearchFields", "SearchText", "Term", "parse_query"]

Field = Literal["agent", "cwd", "model", "role", "tool", "label", "after", "before"]
FIELDS: tuple[Field, ...] = ("agent", "cwd", "model", "role", "tool", "after", "before", "label")

_TOKEN = re.compile(
    r'(?P<empty>[a-z]+:)(?=\s|$)|(?:(?P<field>[a-z]+):)?(?:"(?P<phrase>[^"]*)"|(?P<word>\S+))'
)
_RANK = 1_000_000.0
_CONTENT = frozenset({"role", "tool", "label"})
_ROLES = {"result": "toolResult", "tool": "toolResult", "me": "user", "bash": "bashExecution"}


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """One condition; ``text`` is in lower case. Only terms without a field can be patterns."""

    kind: Literal["word", "phrase", "pattern"] = "word"
    field: Field | None = None
    text: str
    moment_ms: int = 0
    """For ``after`` and ``before``."""


class SearchFields(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a list knows of a session without its messages. Texts in lower case, runs of blanks as one."""

    name: str
    """Title, or the first prompt where there is none."""
    around: str
    """The rest of what words are looked for in: prompt, id, working directory."""
    cwd: str = ""
    agent: str = ""
    model: str = ""
    active_ms: int = 0


class SearchText(msgspec.Struct, frozen=True, kw_only=True):
    """What is said inside a session: texts by role, names of tools, labels, models; all in lower case."""

    texts: Mapping[str, str] = {}
    tools: frozenset[str] = frozenset()
    labels: tuple[str, ...] = ()
    models: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        return sum(map(len, self.texts.values()))


class Match(NamedTuple):
    """Whether a session is found, and how well (lower is better).

    ``open`` means: not by what is known so far, but perhaps by its contents.
    """

    found: bool
    score: float = 0.0
    open: bool = False


_NO = Match(found=False)
Search = Callable[[Sequence[str]], bool | None]
"""Whether a pattern is in any of some texts; None while nobody can say."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A query that was understood, or the ``problem`` with it. An empty one finds everything."""

    terms: tuple[Term, ...] = ()
    problem: str | None = None

    def __bool__(self) -> bool:
        return bool(self.terms) or self.problem is not None

    @property
    def words(self) -> tuple[str, ...]:
        """What a reader may mark in the text: words and phrases."""
        return tuple(term.text for term in self.terms if term.field is None and term.kind != "pattern")

    @property
    def pattern(self) -> str | None:
        """The regular expression that is looked for, if it is one."""
        return next((term.text for term in self.terms if term.kind == "pattern"), None)

    def match(
        self,
        face: SearchFields,
        contents: SearchText | None = None,
        *,
        fuzzy: bool = False,
        search: Search | None = None,
    ) -> Match:
        """Whether a session is found. ``fuzzy`` also takes letters in their order, in name and directory.

        ``search`` looks for the pattern, if there is one, where a person may not wait for it; else it is
        looked for here.
        """
        if self.problem is not None:
            return _NO
        roles = [term.text for term in self.terms if term.field == "role"]
        score, unknown = 0.0, False
        for term in self.terms:
            found = (
                self._field(term, face, contents)
                if term.field
                else _text(term, face, contents, roles, fuzzy, search)
            )
            if found is None:
                unknown = True
            elif found < 0:
                return _NO
            else:
                score += found
        return Match(found=False, open=True) if unknown else Match(found=True, score=score)

    @staticmethod
    def _field(term: Term, face: SearchFields, contents: SearchText | None) -> float | None:
        """0 for a match, -1 for none, None while nobody can say."""
        if term.field in _CONTENT and contents is None:
            return None
        match term.field:
            case "agent":
                hit = term.text in face.agent or agent_name(term.text) == face.agent
            case "cwd":
                hit = term.text in face.cwd
            case "model":
                hit = term.text in face.model
                if not hit:
                    if contents is None:
                        return None
                    hit = any(term.text in model for model in contents.models)
            case "after":
                hit = face.active_ms >= term.moment_ms
            case "before":
                hit = face.active_ms < term.moment_ms
            case "role":
                hit = contents is not None and bool(contents.texts.get(_role(term.text)))
            case "tool":
                hit = contents is not None and any(term.text in name for name in contents.tools)
            case _:
                hit = contents is not None and any(term.text in label for label in contents.labels)
        return 0.0 if hit else -1.0


def _text(
    term: Term,
    face: SearchFields,
    contents: SearchText | None,
    roles: list[str],
    fuzzy: bool,  # noqa: FBT001
    search: Search | None,
) -> float | None:
    """The score of a word, phrase or pattern; -1 for none, None while nobody can say."""
    if term.kind == "pattern":
        look = search or _searching(term.text)
        found = False if roles else look((face.name, face.around))
        if found is None or (not found and contents is None):
            return None
        return 0.0 if found or (contents is not None and look(_said(contents, roles))) else -1.0
    if not roles:
        if term.text in face.name:
            return max(0.0, _fine(term, face.name))
        if term.text in face.around:
            return _RANK
    if contents is not None and any(term.text in text for text in _said(contents, roles)):
        return _RANK
    if fuzzy and not roles and term.kind == "word":
        scores = [
            score for text in (face.name, face.cwd) if (score := fuzzy_score(term.text, text)) is not None
        ]
        if scores:
            return max(0.0, 2 * _RANK + min(scores))
    return None if contents is None else -1.0


def _searching(pattern: str) -> Search:
    compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    return lambda texts: any(map(compiled.search, texts))


def _fine(term: Term, name: str) -> float:
    """The place within a rank: never outside of it, whatever the text is like."""
    score = fuzzy_score(term.text, name)
    return _RANK / 2 + max(-_RANK / 4, min(_RANK / 4, 0.0 if score is None else score))


def _said(contents: SearchText, roles: list[str]) -> list[str]:
    if not roles:
        return list(contents.texts.values())
    return [contents.texts.get(_role(role), "") for role in roles]


def _role(name: str) -> str:
    return _ROLES.get(name, name).lower()


# -- parsing ----------------------------------------------------------------------------------------------


def parse_query(text: str, *, now: datetime) -> Query:
    """Understand what a person typed. ``today``, ``7d`` and dates without a zone count from ``now``."""
    text = text.strip()
    if text.lower().startswith("re:"):
        return _pattern(text[3:])
    if text.count('"') % 2:
        text = text.replace('"', " ")  # half a phrase is words, until the other quote is typed
    terms: list[Term] = []
    for token in _TOKEN.finditer(text):
        field, phrase, word = token["field"], token["phrase"], token["word"]
        if token["empty"] is not None or (word is None and not (phrase or "").strip()):
            name = (token["empty"] or "").rstrip(":")
            if name in FIELDS:
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
        if field is not None and field not in FIELDS:
            value, field = f"{field}:{value}", None  # a word with a colon, such as std::string
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
    return Query(terms=tuple(terms))


def _pattern(pattern: str) -> Query:
    if not pattern.strip():
        return Query(problem="re: needs a regular expression after the colon")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as problem:
        return Query(problem=f"invalid regular expression: {problem}")
    return Query(terms=(Term(kind="pattern", text=pattern),))
