"""The searchable text of a session, and a test for files that cannot match."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from branchline.catalog.documents import documents_of, git_branch_of, traits_of
from branchline.entries import ModelChange
from branchline.formats import EntryLog
from branchline.views.query import Query, SearchText

__all__ = ["contents_of", "may_hold", "may_match", "needles"]

_PLAIN = re.compile(rb"[a-z0-9_.,;:=+@#% -]+")
_PLAIN_RUN = re.compile(rb"[a-z0-9]+")
_TOKEN = re.compile(r"[^\W_]+")
"""What every program writes into JSON as it is, so that bytes can be searched for it."""


def contents_of(transcript: EntryLog) -> SearchText:
    """All text of a session, on all branches. Payloads are read a few hundred at a time."""
    reading, tree = transcript.reading, transcript.tree
    texts: dict[str, list[str]] = {}
    tools: set[str] = set()
    models: set[str] = set()
    files: set[str] = set()
    cost = tokens = 0.0
    for one in documents_of(transcript):
        role = one.role.lower()
        heard = "toolcall" if role == "assistant" else role
        for name, text in ((role, one.said), (heard, one.tools)):
            if text:
                texts.setdefault(name, []).append(" ".join(text.lower().split()))
        tools.update(one.tool_names.lower().split("\n") if one.tool_names else ())
        files.update(map(str.lower, one.files))
        if one.model:
            models.add(one.model.lower())
        if one.spending is not None:
            cost += one.spending.cost or 0.0
            tokens += one.spending.total
    for position in (place for place, kind in enumerate(tree.types) if kind == "model_change"):
        entry = transcript.entry(position)
        if isinstance(entry, ModelChange):
            models.add(f"{entry.provider}/{entry.model_id}".lower())
    return SearchText(
        texts={role: "\n".join(parts) for role, parts in texts.items()},
        tools=frozenset(tools),
        labels=tuple(label.text.lower() for label in reading.labels.values()),
        models=frozenset(models),
        files=frozenset(files),
        traits=traits_of(transcript),
        git_branch=(git_branch_of(transcript) or "").lower(),
        cost=cost,
        tokens=tokens,
    )


def may_match(query: Query, data: bytes) -> bool:
    """Whether a file of these bytes may hold what is looked for; a quick look before the long one."""
    lowered = data.lower()
    for term in query.terms:
        if term.kind == "pattern" or term.field not in (None, "tool", "label", "model", "file"):
            continue
        for word in term.text.split():
            wanted = word.encode("utf-8", "surrogatepass")
            if _PLAIN.fullmatch(wanted) and wanted not in lowered:
                return False
    return True


def may_hold(words: Sequence[str], data: bytes) -> bool:
    """Whether a file of these bytes may hold all words of a full-text search, with any accents."""
    lowered = data.lower()
    return all(
        any(needle in lowered for needle in needles(word)) or _accented(word).search(lowered) is not None
        for word in words
    )


def needles(word: str) -> list[bytes]:
    """Byte strings of which a file that holds a word as it is has at least one, in lower case."""
    plain = max(_PLAIN_RUN.findall(word.encode("utf-8", "surrogatepass")), key=len, default=b"")
    if plain:
        return [plain]
    longest = max(_TOKEN.findall(word), key=len, default=word.strip() or word)
    forms = [form for text in (longest.lower(), longest.upper()) for form in (text, _escaped(text))]
    return list(dict.fromkeys(form.encode("utf-8", "surrogatepass") for form in forms))


def _escaped(text: str) -> str:
    """A text as JSON writes it where everything beyond ASCII is escaped, in lower case."""
    return json.dumps(text)[1:-1].lower()


@lru_cache(maxsize=64)
def _accented(word: str) -> re.Pattern[bytes]:
    """The longest token of a word in bytes, each letter perhaps with an accent, written out or escaped."""
    longest = max(_TOKEN.findall(word.lower()), key=len, default="")
    letters = [
        b"(?:%s|[\xc2-\xcb][\x80-\xbf]|\\\\u0[012][0-9a-f]{2})" % char.encode()
        if char.isascii()
        else b".{1,12}?"
        for char in longest
    ]
    return re.compile(b"".join(letters) or b".", re.DOTALL)
