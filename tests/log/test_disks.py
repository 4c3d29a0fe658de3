"""Real disks: full, with a quota, and with a power failure."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from log.processes import records_in, run

SCRIPT = Path(__file__).with_name("disks.py")


def in_private_mounts(*arguments: object) -> dict:
    """Run `disks.py` with mounts of its own; skip the test where that is not possible."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("this system gives no private mount namespace")
    command = ["unshare", "-m", sys.executable, "-B", str(SCRIPT), *(str(each) for each in arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode and "mount" in done.stderr and "CalledProcessError" in done.stderr:
        pytest.skip(f"a disk could not be mounted: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def require_tool(kind: str):
    if shutil.which(f"mkfs.{kind}") is None:
        pytest.skip(f"mkfs.{kind} is not installed")


@pytest.mark.parametrize("kind", ["tmpfs", pytest.param("ext4", marks=pytest.mark.slow)])
def test_a_full_disk_loses_nothing_and_room_on_it_heals_it(tmp_path, kind):
    if kind != "tmpfs":
        require_tool(kind)

    result = in_private_mounts("full", tmp_path, kind)

    assert result["saved"] > 10
    assert len(result["said"]) == 4
    for said in result["said"]:
        assert "disk full (ENOSPC)" in said
    assert result["said"][0].endswith("nothing was saved, the file is unchanged")


def test_a_limit_for_the_size_of_files_is_reported_and_nothing_half_written_stays(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"name":"header","number":0}\n')

    refused, healed = run("limited", path, 10_000)

    assert refused.startswith("NotSaved True 28 ")
    assert "file larger than allowed (EFBIG); nothing was saved, the file is unchanged" in refused
    assert healed == "True"
    assert records_in(path.read_bytes()) == ([("header", 0), *(("limited", n) for n in range(29))], 0)


def test_a_full_disk_under_a_database_saves_nothing_and_room_on_it_heals_it(tmp_path):
    result = in_private_mounts("full_database", tmp_path)

    assert result["saved"] > 10
    assert len(result["said"]) == 3
    for said in result["said"]:
        assert "full" in said
        assert said.endswith("nothing was saved")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["s.jsonl", "s.db"])
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_an_acknowledged_record_survives_a_power_cut(tmp_path, kind, name):
    require_tool(kind)

    result = in_private_mounts("power", tmp_path, kind, "fsync", 60, name)

    assert result["acknowledged"] > 60
    assert result["lost"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["s.jsonl", "s.db"])
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_power_cut_does_take_what_was_not_synced_but_never_a_created_file(tmp_path, kind, name):
    """So the cut cuts, and the test above can fail."""
    require_tool(kind)

    result = in_private_mounts("power", tmp_path, kind, "os", 20, name)

    assert result["lost"] > 0
