"""oh-my-pi's sessions are looked for where that program keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from branchline.entries import Header
from branchline.formats import OH_MY_PI
from formats.oh_my_pi_kit import SAMPLES
from support import load


def test_sessions_lie_below_home():
    assert OH_MY_PI.home.roots({}, "/home/u") == ["/home/u/.omp/agent/sessions"]


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({"PI_CODING_AGENT_DIR": "/agents"}, "/agents/sessions"),
        ({"PI_CODING_AGENT_DIR": "~/agents"}, "/home/u/agents/sessions"),
        ({"PI_CONFIG_DIR": ".other"}, "/home/u/.other/agent/sessions"),
        ({"OMP_PROFILE": "work"}, "/home/u/.omp/profiles/work/agent/sessions"),
        ({"PI_PROFILE": "work"}, "/home/u/.omp/profiles/work/agent/sessions"),
        ({"OMP_PROFILE": "", "PI_PROFILE": "work"}, "/home/u/.omp/agent/sessions"),
        ({"OMP_PROFILE": " default "}, "/home/u/.omp/agent/sessions"),
        ({"OMP_PROFILE": "a", "PI_PROFILE": "b"}, "/home/u/.omp/profiles/a/agent/sessions"),
        ({"OMP_PROFILE": "../evil"}, "/home/u/.omp/agent/sessions"),
        ({"OMP_PROFILE": "con.txt"}, "/home/u/.omp/agent/sessions"),
        (
            {"OMP_PROFILE": "work", "PI_CODING_AGENT_DIR": "/agents"},
            "/home/u/.omp/profiles/work/agent/sessions",
        ),
        ({"PI_CONFIG_DIR": ".other", "OMP_PROFILE": "work"}, "/home/u/.other/profiles/work/agent/sessions"),
        ({"XDG_DATA_HOME": "/nowhere"}, "/home/u/.omp/agent/sessions"),
    ],
)
def test_the_environment_moves_them(environment, root):
    assert OH_MY_PI.home.roots(environment, "/home/u") == [root]


def test_a_data_directory_counts_once_the_person_has_moved_there(tmp_path: Path):
    environment = {"XDG_DATA_HOME": str(tmp_path)}
    (tmp_path / "omp").mkdir()

    assert OH_MY_PI.home.roots(environment, "/home/u") == [str(tmp_path / "omp" / "sessions")]
    assert OH_MY_PI.home.roots({**environment, "OMP_PROFILE": "work"}, "/home/u") == [
        "/home/u/.omp/profiles/work/agent/sessions"
    ]


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/demo", "-"),
        ("/home/demo/code/proj", "-code-proj"),
        ("/home/demo/my proj/a:b", "-my proj-a-b"),
        ("/opt/app", "--opt-app--"),
        ("/", "----"),
        ("/temporary", "-tmp"),
        ("/temporary/x/y", "-tmp-x-y"),
        ("/home/demonstration", "--home-demonstration--"),
    ],
)
def test_a_directory_is_named_after_its_way_from_home_or_from_the_temporary_one(cwd, name):
    found = OH_MY_PI.home.directory(cwd, {"TMPDIR": "/temporary"}, "/home/demo")

    assert found == f"/home/demo/.omp/agent/sessions/{name}"


def test_names_are_those_of_the_sample():
    """The sample's project was called work/demo when its directory was named."""
    named = load(SAMPLES / "expected.json")["directories (home = /home/demo)"]
    cwds = {"/home/demo/code/demo": "/home/demo/work/demo", "<temporary directory>/x/y": "/temporary/x/y"}

    for cwd, name in named.items():
        found = OH_MY_PI.home.directory(cwds.get(cwd, cwd), {"TMPDIR": "/temporary/"}, "/home/demo")
        assert found == f"/home/demo/.omp/agent/sessions/{name}"


def test_links_are_followed_before_a_directory_is_named(tmp_path: Path):
    home, outside = tmp_path / "home", tmp_path / "outside"
    (home / "real").mkdir(parents=True)
    outside.mkdir()
    (outside / "link").symlink_to(home / "real")
    (home / "away").symlink_to(outside)
    environment = {"TMPDIR": "/temporary"}

    inside = OH_MY_PI.home.directory(str(outside / "link"), environment, str(home))
    away = OH_MY_PI.home.directory(str(home / "away"), environment, str(home))

    assert inside == str(home / ".omp/agent/sessions/-real")
    assert away == str(home / ".omp/agent/sessions" / ("--" + str(outside)[1:].replace("/", "-") + "--"))


def test_files_are_named_by_time_and_id():
    header = Header(id="01a1de18", timestamp="2026-11-15T07:25:31.381Z")

    assert (
        OH_MY_PI.home.file_key(header) + OH_MY_PI.traits.suffix == "2026-11-15T07-25-31-381Z_01a1de18.jsonl"
    )
