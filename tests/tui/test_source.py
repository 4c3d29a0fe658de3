"""The app sees the sessions of every program through one source."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary, demo
from branchline.actions.remove import remove, undo
from branchline.errors import ReadOnly
from branchline.library import SessionRow
from branchline.library.browser_source import LibrarySource
from branchline.views.browser.source import Scope
from branchline.views.browser.state import ScopeRows
from branchline.views.query import parse_query
from branchline.views.session_row import row_name

NOW = datetime(2026, 3, 7, tzinfo=UTC)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LibrarySource:
    made = demo.prepare(str(tmp_path / "demo"))
    monkeypatch.setenv("BRANCHLINE_HOME", made.home)
    monkeypatch.setenv("HOME", made.home)
    monkeypatch.chdir(made.project)
    return LibrarySource.everywhere()


def rows(source: LibrarySource) -> dict[str, SessionRow]:
    batches = list(source.rows("here"))
    assert batches[-1].loaded == batches[-1].total
    return {row.title or row.id: row for batch in batches for row in batch.rows}


def test_sessions_of_several_programs_come_in_one_list_each_with_its_program(source: LibrarySource) -> None:
    found = rows(source)

    assert len(found) == 8
    assert {source.agent(row) for row in found.values()} >= {"branchline", "zot", "piglet", "claude-code"}
    assert len(source.forest("all")) == 8


def test_a_directory_that_a_program_keeps_is_listed_under_its_name_and_others_under_their_format(
    source: LibrarySource, tmp_path: Path
) -> None:
    path = rows(source)["Parse the tide tables"].path
    assert path is not None
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(path, elsewhere)

    ours = LibrarySource(SessionLibrary(os.path.dirname(path)))
    others = LibrarySource(SessionLibrary(str(elsewhere)))

    assert {title: ours.agent(row) for title, row in rows(ours).items()} == {
        title: source.agent(row) for title, row in rows(source).items()
    }
    assert [others.agent(row) for row in rows(others).values()] == ["pi"]


def test_one_session_is_opened_added_up_searched_read_again_and_renamed(
    source: LibrarySource,
) -> None:
    row = rows(source)["Parse the tide tables"]

    with source.open(row) as session:
        assert session.title == "Parse the tide tables"
    with source.statistics("all") as sums:
        costs = {group.keys[0]: group.figures.cost for group in sums.groups("session")}
    assert costs[row.id] > 0
    found = source.search("all", parse_query("tide", now=NOW), limit=100)
    assert row_name(row) in {row_name(hit.row) for hit in found}
    assert len(source.search("all", parse_query("xylophone", now=NOW), limit=100)) == 0
    source.rename(row, "Tables")
    again = source.reload_row(row)
    assert again is not None
    assert again.title == "Tables"
    assert row_name(again) == row_name(row)
    (moved,) = remove([row_name(row)])
    assert source.reload_row(row) is None
    undo(moved)
    assert source.reload_row(row) is not None


def test_what_may_only_be_read_is_not_renamed_and_says_so(source: LibrarySource) -> None:
    (row,) = [row for row in rows(source).values() if source.agent(row) == "claude-code"]
    assert row.path is not None
    before = Path(row.path).read_bytes()

    with pytest.raises(ReadOnly):
        source.rename(row, "x")

    assert Path(row.path).read_bytes() == before
    with Session.open(row.path) as session:
        assert session.read_only is not None


@pytest.mark.parametrize("scope", ["here", "all"])
def test_a_second_look_shows_what_the_index_knows_before_a_file_is_looked_at(
    source: LibrarySource, scope: Scope
) -> None:
    checked = {row_name(row): row for batch in source.rows(scope) for row in batch.rows}

    first, *later = source.rows(scope)

    assert first.is_provisional
    assert first.loaded < first.total
    assert {row_name(row): row for row in first.rows} == checked
    assert {row_name(row): row for batch in later for row in batch.rows} == checked
    assert not any(batch.is_provisional for batch in later)


def test_a_session_that_is_gone_leaves_the_list_when_everything_was_checked(source: LibrarySource) -> None:
    (gone,) = [row for row in rows(source).values() if row.title == "Parse the tide tables"]
    loaded = ScopeRows(source.rows("here"))
    assert gone.path is not None
    os.unlink(gone.path)

    loaded.take(next(loaded.batches))
    at_once = set(loaded.rows)
    for batch in loaded.batches:
        loaded.take(batch)

    assert row_name(gone) in at_once
    assert set(loaded.rows) == at_once - {row_name(gone)}
