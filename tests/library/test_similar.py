"""Search by meaning with an embedder that another package brings."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import branchline.catalog.record
from branchline import SessionLibrary
from branchline.errors import NotSupported
from branchline.plugins import embedders
from library.kit import talk
from session.kit import assistant

TOPICS = ("secret password key token", "cat dog pet animal", "database table row")
calls: list[int] = []


def branchline_embed(texts: Sequence[str]) -> list[list[float]]:
    calls.append(len(texts))
    return [
        [float(sum(word in text.lower() for word in topic.split())) for topic in TOPICS] for text in texts
    ]


def failing(texts: Sequence[str]) -> list[list[float]]:
    raise RuntimeError(f"no model for {len(texts)}")


def short(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0]][: len(texts) - 1]


@pytest.fixture
def library(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> SessionLibrary:
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRANCHLINE_EMBEDDER", "mine")
    monkeypatch.setattr(branchline.catalog.record, "_RACE_NS", 0)
    install(monkeypatch, "branchline_embed")
    calls.clear()
    with talk(place, 0, "Where do I store the API token?") as session:
        session.append_message(assistant("Never put a password or a key into the repository."))
        session.append_message(assistant("My cat is called Mo."))
    return SessionLibrary(place)


def install(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    point = EntryPoint("mine", f"{__name__}:{function}", embedders.GROUP)
    monkeypatch.setattr(embedders, "entry_points", lambda group: [point] if group == embedders.GROUP else [])


def test_the_nearest_messages_come_first(library: SessionLibrary) -> None:
    hits = library.search_similar("hide secret keys and passwords", limit=4)

    texts = [hit.snippet.text for hit in hits]
    assert all("token" in text or "password" in text for text in texts[:3])
    assert texts[3] == "My cat is called Mo."
    assert hits[2].score > hits[3].score


def test_messages_are_embedded_once(library: SessionLibrary) -> None:
    library.search_similar("pets")
    embedded = sum(calls)

    library.search_similar("pets")

    assert sum(calls) == embedded + 1  # the query


def test_the_file_of_vectors_may_vanish_or_be_damaged(library: SessionLibrary, tmp_path: Path) -> None:
    library.search_similar("pets")
    vectors = tmp_path / "home" / "cache" / "embeddings-1.db"
    assert vectors.stat().st_mode & 0o777 == 0o600
    vectors.write_bytes(b"not a database, but long enough to be one" * 100)

    hits = library.search_similar("animal", limit=1)

    assert hits[0].snippet.text == "My cat is called Mo."
    vectors.unlink()
    assert library.search("cat")


@pytest.mark.parametrize(
    ("function", "says"),
    [("failing", "no model for"), ("short", "one vector of one length"), ("missing", "cannot be loaded")],
)
def test_an_embedder_that_fails_is_named_and_words_are_found_without_it(
    library: SessionLibrary, monkeypatch: pytest.MonkeyPatch, function: str, says: str
) -> None:
    install(monkeypatch, function)

    with pytest.raises(NotSupported, match=f"embedder mine.*{says}"):
        library.search_similar("pets")

    assert library.search("cat")


def test_without_a_setting_nothing_is_embedded(
    library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BRANCHLINE_EMBEDDER")

    with pytest.raises(NotSupported, match="setting `embedder`"):
        library.search_similar("pets")

    library.update_index()
    assert calls == []
