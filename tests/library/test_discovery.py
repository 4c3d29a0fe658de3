"""The sessions of every program are one collection: found where each keeps them, told apart, never touched."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.errors import Ambiguous, SessionNotFound
from branchline.formats import detect
from branchline.library import AsyncSessionLibrary
from homes import ELSEWHERE, PROGRAMS, build_home, compressed, folder, place_sample
from library.kit import state
from support import CORPUS

CWD = "/home/dev/acme"


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory):
    """A home that nobody changes."""
    return build_home(tmp_path_factory.mktemp("home"), CWD)


@pytest.fixture
def home(tmp_path):
    """A home of its own for a test that changes it."""
    return build_home(tmp_path / "home", CWD)


def discovery(home, cwd=CWD, **options):
    scope = None if options.pop("all_projects", False) else cwd
    environment = options.pop("environment", {})
    return SessionLibrary.everywhere(scope, environment=environment, home=home.path, **options)


def paths(listing):
    found = {}
    for row in listing:
        found.setdefault(row.agent, set()).add(row.path)
    return found


def expected(*groups):
    return {
        agent: {str(path) for group in groups for path in group.get(agent, ())}
        for agent in PROGRAMS
        if any(group.get(agent) for group in groups)
    }


# -- which sessions ---------------------------------------------------------------------------------------


@pytest.mark.parity("OPR-13", "ZOT-13", part="across programs")
@pytest.mark.parametrize("deep", [False, True])
def test_the_sessions_of_a_directory_are_found_in_every_program(shared_home, deep):
    listing = discovery(shared_home).list(deep)

    assert paths(listing) == expected(shared_home.files)
    assert not listing.unreadable


@pytest.mark.parametrize("deep", [False, True])
def test_the_sessions_of_all_projects_are_found_in_every_program(shared_home, deep):
    listing = discovery(shared_home, all_projects=True).list(deep)

    assert paths(listing) == expected(shared_home.files, shared_home.elsewhere)


def test_sessions_of_another_directory_are_hidden_with_their_reason_where_folders_are_shared(shared_home):
    hidden = dict(discovery(shared_home).list(deep=False).hidden)

    together = ("pi", "operator", "piglet", "claude-code", "codex")
    for agent in together:
        for path in shared_home.elsewhere[agent]:
            assert hidden.pop(str(path)) == "another working directory"
    earlier, subagent = shared_home.earlier["codex"][0], shared_home.subagents["codex"][0]
    assert hidden.pop(str(earlier)) == "a later file continues the same session"
    assert [os.path.basename(path) for path in hidden] == [subagent.name]


@pytest.mark.parametrize("agents", [["zot"], ["pi", "codex"], ["branchline"]])
def test_only_the_programs_that_were_asked_for_are_looked_at(shared_home, agents):
    listing = discovery(shared_home, agents=agents).list(deep=False)

    assert paths(listing) == {agent: {str(path) for path in shared_home.files[agent]} for agent in agents}


@pytest.mark.parametrize(
    ("name", "meant"), [("claud", "'claude-code'"), ("opperator", "'operator'"), ("xyz", "known are")]
)
def test_an_unknown_program_is_an_error_that_names_the_nearest(name, meant):
    with pytest.raises(ValueError, match=f"unknown agent '{name}'.*{meant}"):
        SessionLibrary.everywhere(agents=[name])


def test_rows_come_newest_first_and_name_their_program_and_format(shared_home):
    listing = SessionLibrary.everywhere(CWD, environment={}, home=shared_home.path).list(deep=True)

    assert [row.active_ms for row in listing] == sorted((row.active_ms for row in listing), reverse=True)
    assert {row.agent: row.format for row in listing} == {
        agent: "pi" if agent == "branchline" else agent for agent in PROGRAMS
    }


def test_a_shallow_row_says_what_the_header_says(shared_home):
    deep = {row.path: row for row in discovery(shared_home).list(deep=True)}

    for row in discovery(shared_home).list(deep=False):
        same = deep[row.path]
        fields = ("key", "id", "cwd", "parent_session", "format", "version", "agent", "subagent")
        assert [getattr(row, field) for field in fields] == [getattr(same, field) for field in fields]
        assert row.messages is None


def test_a_place_and_the_first_bytes_agree_about_the_format(shared_home):
    """Who opens a listed file by its path alone gets the same format as the listing."""
    for row in discovery(shared_home, all_projects=True, subagents=True).list(deep=True):
        assert detect(Path(row.path).read_bytes()[: 1 << 16], row.path).name == row.format


def test_names_that_codex_keeps_in_its_index_are_titles(shared_home):
    titles = {row.id: row.title for row in discovery(shared_home, agents=["codex"]).list(deep=False)}

    assert titles["019f1000-0000-7000-8000-000000000001"] == "rollbacks"


# -- sub-agents -------------------------------------------------------------------------------------------


def test_sub_agents_are_left_out_unless_asked_for(shared_home):
    agents = {str(path) for files in shared_home.subagents.values() for path in files}

    plain = discovery(shared_home).list(deep=True)
    every = discovery(shared_home, subagents=True).list(deep=True)

    assert not agents & {row.path for row in plain}
    assert agents == {row.path for row in every if row.subagent}
    assert len(every) == len(plain) + len(agents)


# -- files that are odd -----------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_a_marked_row_where_its_folder_tells_the_project(home):
    (home.of("pi").parent / "broken.jsonl").write_bytes(b"no session at all")

    row = next(row for row in discovery(home).list(deep=True) if row.problem)

    assert (row.agent, row.key) == ("pi", "broken")
    assert "is not a session of any known agent (tried: " in row.problem


def test_a_file_that_cannot_be_read_among_all_projects_is_hidden_from_one_of_them(home):
    broken = home.path / ".config" / "piglet" / "sessions" / "broken.jsonl"
    broken.write_bytes(b"no session at all")

    here = discovery(home).list(deep=True)
    everywhere = discovery(home, all_projects=True).list(deep=True)

    assert not here.unreadable
    assert "working directory" in dict(here.hidden)[str(broken)]
    assert [row.path for row in everywhere.unreadable] == [str(broken)]
    assert here.seen == len(here.readable) + len(here.hidden)


def test_one_file_under_several_names_counts_once(home, tmp_path):
    before = discovery(home, all_projects=True).list(deep=False)
    zot = home.of("zot")
    (zot.parent / "20261115-000000-aaaaaaaa.jsonl").symlink_to(zot)
    (zot.parent.parent / "a-second-name").symlink_to(zot.parent)
    (zot.parent / "in-a-ring").symlink_to(zot.parent.parent)

    after = discovery(home, all_projects=True).list(deep=False)

    assert len(after) == len(before)
    assert after.seen == before.seen


def test_a_folder_that_two_programs_share_is_listed_once_and_the_format_tells_the_program(tmp_path):
    root = tmp_path / "agent"
    pi_folder = root / "sessions" / "--opt-app--"
    place_sample(CORPUS / "pi" / "golden" / "g004.jsonl", pi_folder / "one.jsonl", "/opt/app")
    place_sample(CORPUS / "oh-my-pi" / "branches.jsonl", pi_folder / "two.jsonl", "/opt/app")

    listing = SessionLibrary.everywhere(
        "/opt/app", environment={"PI_CODING_AGENT_DIR": str(root)}, home=tmp_path / "home"
    ).list(deep=True)

    assert {row.key: row.agent for row in listing} == {"one": "pi", "two": "oh-my-pi"}


def test_a_folder_that_cannot_be_looked_at_is_told(tmp_path):
    (tmp_path / ".config" / "piglet").mkdir(parents=True)
    (tmp_path / ".config" / "piglet" / "sessions").write_bytes(b"a file")

    listing = SessionLibrary.everywhere(CWD, environment={}, home=tmp_path).list(deep=True)

    assert [item.reason for item in listing.hidden] == ["cannot be read: not a directory (ENOTDIR)"]


def test_a_directory_reached_by_a_link_is_the_directory_that_it_leads_to(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    home = build_home(tmp_path / "home", str(real))

    listing = discovery(home, cwd=link).list(deep=False)

    assert paths(listing) == expected(home.files)


def test_where_nothing_was_ever_kept_nothing_is_found(tmp_path):
    found = SessionLibrary.everywhere(CWD, environment={}, home=tmp_path)

    assert len(found.list(deep=True)) == len(found.forest()) == 0
    assert found.latest() is None
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_anywhere_but_the_cache(home):
    before = state(home.path)

    found = discovery(home, subagents=True)
    found.list(deep=False)
    found.list(deep=True)
    found.forest()
    found.find(found.list(deep=True)[0].id)

    cache = os.path.join(home.path, ".cache")
    after = {path: what for path, what in state(home.path).items() if not path.startswith(cache)}
    assert after == before


# -- compressed -------------------------------------------------------------------------------------------


def test_a_compressed_rollout_is_listed_and_opens_to_read(home):
    path = compressed(home)
    found = next(row for row in discovery(home, all_projects=True).list(deep=True) if row.path == str(path))

    with Session.open(found.path) as session:
        assert (session.id, session.key, session.file) == (found.id, found.key, found.path)
        assert found.messages > 0
        assert "read-only" in session.read_only


def test_a_rollout_beside_its_compressed_form_counts_once(home):
    plain = home.of("codex")
    shutil.copy(compressed(home), f"{plain}.zst")

    listing = discovery(home, all_projects=True).list(deep=True)

    assert str(plain) in {row.path for row in listing}
    assert dict(listing.hidden)[f"{plain}.zst"] == "an uncompressed copy of this session exists"


def test_without_what_unpacks_it_a_compressed_rollout_says_what_to_install(home, monkeypatch):
    path = compressed(home)
    monkeypatch.setitem(sys.modules, "zstandard", None)

    row = discovery(home, all_projects=True).list(deep=True).unreadable[0]

    assert row.path == str(path)
    assert "pip install '.[zstd]'" in row.problem


# -- as they are read -------------------------------------------------------------------------------------


def test_rows_can_be_taken_one_by_one_while_counts_grow(shared_home):
    look = discovery(shared_home).iter_rows(deep=False)
    total, hidden = look.total, len(look.hidden)

    first = next(look)

    assert (look.loaded, look.rows, first.agent) == (1, [first], "branchline")
    assert look.listing().unscanned == total - 1
    rest = list(look)
    assert len(rest) + 1 == len(look.rows) == len(look.listing())
    assert look.loaded == total == look.listing().seen - hidden
    assert look.unreadable == 0


def test_the_newest_few_are_read_and_no_others(shared_home):
    listing = discovery(shared_home).list(deep=True, limit=3)

    assert [row.path for row in listing] == [row.path for row in discovery(shared_home).list(deep=True)[:3]]
    assert listing.unscanned > 40
    assert listing.seen == discovery(shared_home).list(deep=True).seen


def test_progress_is_told_after_every_file(shared_home):
    told = []

    discovery(shared_home).list(deep=False, progress=lambda *facts: told.append(facts[:2]))

    total = told[-1][1]
    assert told == [(number, total) for number in range(1, total + 1)]


def test_the_async_adapter_gives_the_same(shared_home):
    async def ask():
        found = AsyncSessionLibrary(discovery(shared_home))
        rows = [row async for row in found.iter_rows(deep=False)]
        listing = await found.list(deep=False)
        latest, forest = await found.latest(), await found.forest()
        return rows, listing, latest, forest, await found.find(latest.id)

    rows, listing, latest, forest, found = asyncio.run(ask())

    assert sorted(row.path for row in rows) == sorted(row.path for row in listing)
    assert latest == discovery(shared_home).latest()
    assert latest.path == found.path
    assert len(forest) == len(listing)


# -- finding ----------------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-05", "ZOT-07", part="across programs")
@pytest.mark.parametrize("agent", [agent for agent in PROGRAMS if agent != "codex"])
def test_a_session_of_any_program_is_found_by_its_id_and_by_the_beginning_of_it(shared_home, agent):
    found = discovery(shared_home, all_projects=True)
    row = next(row for row in discovery(shared_home, agents=[agent]).list(deep=False))

    assert found.find(row.id).path == row.path
    assert found.find(row.id[:14]).path == row.path
    assert found.find(row.key).path == row.path


def test_finding_by_id_opens_only_files_whose_names_tell_it(shared_home, monkeypatch):
    opened = []
    monkeypatch.setattr(
        "branchline.library.machine_scanner.snapshot_of",
        lambda path: opened.append(path) or snapshot_of(path),
    )
    from branchline.stores import snapshot_of

    row = discovery(shared_home).find("aaaaaaaa")

    assert opened == [row.path]


def test_a_session_is_found_by_its_title_in_any_program(shared_home):
    assert discovery(shared_home).find("FIX the build").agent == "zot"
    assert discovery(shared_home, all_projects=True).find("rollbacks").agent == "codex"


def test_of_a_thread_of_codex_the_rollout_that_it_goes_on_in_is_meant(shared_home):
    found = discovery(shared_home)

    assert found.find("019f1000-0000-7000-8000-000000000008").key.endswith(
        "_019f1000-0000-7000-8000-0000000000b8"
    )
    assert found.find("019f1000-0000-7000-8000-0000000000b8").key.endswith("0000000000b8")


def test_several_sessions_of_one_name_are_told_with_their_programs(shared_home):
    with pytest.raises(Ambiguous, match=r"matches \d+ sessions: .*\(operator"):
        discovery(shared_home).find("2026-06-10")


@pytest.mark.parametrize("text", ["nobody-has-this", "zzzzzzzz"])
def test_what_no_session_is_called_is_not_found(shared_home, text):
    with pytest.raises(SessionNotFound, match=f"no session matches '{text}' in /home/dev/acme"):
        discovery(shared_home).find(text)


def test_finding_nothing_in_particular_is_a_mistake_of_the_caller(shared_home):
    with pytest.raises(ValueError, match="to find a session"):
        discovery(shared_home).find(" ")


# -- the forest -------------------------------------------------------------------------------------------


def parents(forest):
    """For each session the name of the one that it hangs from, by the names of their files."""
    return {item.row.key: item.parent for item in forest}


@pytest.mark.parity("ZOT-03", part="across programs")
def test_forks_of_all_programs_hang_in_one_forest(shared_home):
    forest = discovery(shared_home, subagents=True).forest()
    found = parents(forest)

    assert sorted(found) == sorted(row.key for row in discovery(shared_home, subagents=True).list(deep=True))
    assert found["20261115-072817-412e9ea9"] == "20261115-072816-8812b373"  # zot: an id
    assert found["d2bf80bf-b917-41df-8e93-c586f4c1cde5"] == "302f642e-51a8-48e5-a27b-f0c8451ddc14"  # piglet
    assert found["bbbbbbbb-0000-4000-8000-000000000002"] == "aaaaaaaa-0000-4000-8000-000000000001"  # /branch
    assert found["Scout"] == "2026-11-15T07-25-31-381Z_01a1de18-d375-7203-a171-ae8a7c213d6f"
    assert found["agent-ag00001"] == "5a000000-0000-4000-8000-000000000010"
    assert found["5a000000-0000-4000-8000-000000000010"] is None


def test_a_copy_of_claude_code_that_names_no_parent_hangs_from_the_original(shared_home):
    """A background session shares the records of the session that it was split from, and nothing says so."""
    forest = discovery(shared_home, agents=["claude-code"]).forest(deep=True)

    assert parents(forest)["cccccccc-0000-4000-8000-000000000003"] == "aaaaaaaa-0000-4000-8000-000000000001"


def test_rollouts_of_codex_hang_from_the_rollout_that_they_begin_with(shared_home):
    found = parents(discovery(shared_home, agents=["codex"], subagents=True).forest())
    thread = "019f1000-0000-7000-8000-0000000000"
    reverted = f"rollout-2026-09-02T09-00-00-{thread}08_{thread}b8"

    assert f"rollout-2026-09-02T08-00-00-{thread}08" not in found
    assert found[reverted] is None
    assert found[f"rollout-2026-09-02T10-00-00-{thread}10"] == reverted
    assert found[f"rollout-2026-09-02T04-00-05-{thread}05"] == f"rollout-2026-09-02T04-00-00-{thread}04"


def test_a_fork_of_operator_hangs_from_the_file_that_it_names(shared_home):
    forest = discovery(shared_home, all_projects=True, agents=["operator"]).forest()

    fork = shared_home.elsewhere["operator"][0].stem
    assert parents(forest)[fork] == "2026-06-10T09-16-29-617503_019eb0d1-9d8d-7e70-af49-47da2f6f936a"


@pytest.mark.parametrize("agent", [agent for agent in PROGRAMS if agent != "branchline"])
def test_a_native_fork_of_any_program_hangs_from_its_origin(home, agent, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(home.path / "ours"))
    origin = home.of(agent)
    with Session.fork_from(origin, CWD, to="branchline") as fork:
        key = fork.key

    found = SessionLibrary.everywhere(
        CWD, home=home.path, environment={"BRANCHLINE_HOME": str(home.path / "ours")}
    ).forest()

    item = next(item for item in found if item.row.key == key)
    assert item.row.agent == "branchline"
    assert item.parent == next(row.key for row in discovery(home).list(deep=False) if row.path == str(origin))


def test_a_copy_that_keeps_the_id_of_its_origin_hangs_from_it_and_not_from_itself(home):
    origin = home.of("zot")
    session_id = next(row.id for row in discovery(home).list(deep=True) if row.path == str(origin))
    copy = home.of("pi").parent / "copy.jsonl"
    copy.write_text(
        f'{{"type":"session","version":3,"id":"{session_id}","timestamp":"2026-01-01T00:00:00.000Z",'
        f'"cwd":"{CWD}","parentSession":"{session_id}"}}\n'
    )

    item = next(item for item in discovery(home).forest() if item.row.key == "copy")

    assert item.parent == origin.stem
    assert "2 sessions have the id" in item.note


# -- places -----------------------------------------------------------------------------------------------


def test_each_variable_moves_the_sessions_of_its_program(tmp_path, shared_home):
    moved = {
        "BRANCHLINE_HOME": (".local/share/branchline", "branchline"),
        "PI_CODING_AGENT_DIR": (".pi/agent", "pi"),
        "PI_CONFIG_DIR": (".omp", "oh-my-pi"),
        "INDUSAGI_HOME": (".pindusagi", "induscode"),
        "ZOT_HOME": (".local/state/zot", "zot"),
        "XDG_CONFIG_HOME": (".config", "piglet"),
        "CLAUDE_CONFIG_DIR": (".claude", "claude-code"),
        "CODEX_HOME": (".codex", "codex"),
    }
    for variable, (folder_name, agent) in moved.items():
        value = folder_name if variable == "PI_CONFIG_DIR" else str(shared_home.path / folder_name)
        home = shared_home.path if variable == "PI_CONFIG_DIR" else tmp_path

        found = SessionLibrary.everywhere(CWD, agents=[agent], environment={variable: value}, home=home).list(
            deep=False
        )

        assert len(found) == len(shared_home.files[agent]), variable


def test_a_session_directory_of_its_own_is_filtered_by_the_header(tmp_path):
    place_sample(CORPUS / "pi" / "golden" / "g004.jsonl", tmp_path / "all" / "a.jsonl", CWD)
    place_sample(CORPUS / "pi" / "golden" / "g006.jsonl", tmp_path / "all" / "b.jsonl", ELSEWHERE)
    environment = {"PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "all")}

    listing = SessionLibrary.everywhere(CWD, agents=["pi"], environment=environment, home=tmp_path).list(
        deep=True
    )

    assert [row.key for row in listing] == ["a"]
    assert [item.reason for item in listing.hidden] == ["another working directory"]


@pytest.mark.parametrize("where", ["project", "person"])
def test_the_session_directory_in_the_settings_of_pi_is_looked_into(tmp_path, where):
    project, home = tmp_path / "project", tmp_path / "home"
    settings = (project / ".pi" if where == "project" else home / ".pi" / "agent") / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"sessionDir": "kept"}')
    place_sample(
        CORPUS / "pi" / "golden" / "g004.jsonl", tmp_path / "project" / "kept" / "a.jsonl", str(project)
    )

    listing = SessionLibrary.everywhere(project, agents=["pi"], environment={}, home=home).list(deep=True)

    assert [row.key for row in listing] == ["a"]


def test_former_names_of_folders_are_looked_into(tmp_path):
    home = build_home(tmp_path, str(tmp_path / "code"))
    old = tmp_path / ".omp" / "agent" / "sessions" / ("-" + str(tmp_path / "code").replace("/", "-") + "--")
    place_sample(CORPUS / "oh-my-pi" / "untitled.jsonl", old / "old.jsonl", str(tmp_path / "code"))

    listing = discovery(home, cwd=tmp_path / "code", agents=["oh-my-pi"]).list(deep=False)

    assert "old" in {row.key for row in listing}
    assert folder(home, "oh-my-pi", str(tmp_path / "code")).name == "-code"


def test_sql_has_the_earlier_parts_of_sessions_whatever_ran_before(shared_home, tmp_path, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "index"))
    library = discovery(shared_home, all_projects=True)
    statement = "select path from sessions order by path"

    alone = library.sql(statement)
    with library.statistics():
        pass
    after = library.sql(statement)
    monkeypatch.setenv("BRANCHLINE_INDEX", "off")
    scanned = library.sql(statement)

    assert (str(shared_home.earlier["codex"][0]),) in alone.rows
    assert alone.rows == after.rows == scanned.rows
