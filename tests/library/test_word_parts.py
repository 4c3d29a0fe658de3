"""Parts of words are found through the vocabulary of the index, in messages of any age."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import branchline.catalog.record
import branchline.library.search
from branchline import SessionLibrary
from branchline.catalog import Catalog, vocabulary
from branchline.catalog.vocabulary import terms_holding
from branchline.library import search_text
from library.kit import talk


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(branchline.catalog.record, "_RACE_NS", 0)


@pytest.fixture
def library(place: Path) -> SessionLibrary:
    texts = ("the hovercraft is full", "loadUserProfile failed at the Übertragung", "a plain question")
    for number, text in enumerate(texts):
        with talk(place, number, text):
            pass
    found = SessionLibrary(place)
    found.update_index()
    return found


@pytest.fixture
def no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a search reads session files line by line."""

    def read(*_arguments: object) -> None:
        raise AssertionError("a search read files")

    monkeypatch.setattr(branchline.library.search._Run, "_lines_of", read)


@pytest.mark.usefixtures("no_files")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("vercraf", ["hovercraft"]),
        ("serprof", ["loadUserProfile"]),
        ("bertragun", ["Übertragung"]),
        ("übertragun", ["Übertragung"]),
        ("vercraf full", ["hovercraft", "full"]),
        ("vercraf serprof", []),
        ("vercrag", []),
        ("role:toolResult vercraf", []),
    ],
)
def test_a_part_of_a_word_is_found_without_reading_files(
    library: SessionLibrary, query: str, found: list[str]
) -> None:
    hits = library.search(query)

    assert all(any(word in hit.snippet.text for hit in hits) for word in found)
    assert bool(hits) == bool(found)
    assert hits.searched == hits.sessions == 3
    assert hits.notes == ()


def test_parts_of_several_words_are_looked_for_in_the_files(library: SessionLibrary) -> None:
    (hit, *_) = library.search('"craft is fu"')

    assert "hovercraft is full" in hit.snippet.text


def test_common_and_short_parts_are_left_to_the_files(
    library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "_MOST", 1)
    with Catalog.open() as catalog:
        common = terms_holding(catalog, ["vercraf", "e"], seconds=1)
        many = terms_holding(catalog, ["load"], seconds=1)

    assert common == ({"vercraf": ["hovercraft"]}, False)
    assert many == ({}, False)  # load, loaduserprofile


def test_reading_the_vocabulary_ends_when_its_time_is_over(
    library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "_STEPS", 1)
    with Catalog.open() as catalog:
        found = terms_holding(catalog, ["vercraf"], seconds=-1)
        again = terms_holding(catalog, ["vercraf"], seconds=1)

    assert found == ({}, False)
    assert again == ({"vercraf": ["hovercraft"]}, True)


def test_words_with_accents_occur_wherever_a_pattern_over_the_whole_text_finds_them() -> None:
    draw = random.Random(7)
    pieces = ["n", "e", "d", "l", "é", "ë", "\\u00e9", "\\n", "x", "日", "ß", " "]
    for _ in range(2_000):
        word = "".join(draw.choices("nedl", k=draw.randrange(1, 5)))
        data = "".join(draw.choices(pieces, k=draw.randrange(60))).encode().lower()

        expected = search_text._accented(word).search(data) is not None

        assert search_text.may_hold([word], data) == expected, (word, data)
