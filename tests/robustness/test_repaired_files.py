"""A repaired file checks clean, or the repair says what it left and why."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from branchline import BranchlineError
from branchline.actions.check import check_file
from branchline.actions.repair import repair
from branchline.cli.app import cli
from branchline.tree import severity
from robustness.damage_trials import damaged_files
from support import CORPUS

WRITABLE = ("pi", "oh-my-pi", "operator", "induscode", "zot", "piglet")


def outcomes(format_name: str, seed: int, count: int, where: Path) -> Counter[str]:
    """What became of so many damaged files."""
    found: Counter[str] = Counter()
    for number, damaged in enumerate(damaged_files(format_name, seed, count)):
        file = where / str(number) / damaged.name
        file.parent.mkdir()
        file.write_bytes(damaged.data)
        if check_file(file).status != "damaged":
            continue
        try:
            report = repair(file)
        except BranchlineError:
            found["refused"] += 1
            assert [path.name for path in file.parent.iterdir()] == [file.name], damaged.damage
            continue
        looked_at = check_file(report.output or file)
        damage = tuple(one for one in looked_at.findings if severity(one.kind) == "damage")
        assert damage == report.left, damaged.damage
        assert looked_at.problem is None, damaged.damage
        assert file.read_bytes() == damaged.data
        found["left" if damage else "clean"] += 1
    return found


@pytest.mark.parametrize("format_name", WRITABLE)
def test_a_repaired_file_checks_clean_or_the_repair_says_what_is_left(format_name, tmp_path):
    found = outcomes(format_name, 0, 60, tmp_path)

    assert found["clean"] >= 0.9 * found.total()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("format_name", WRITABLE)
def test_nearly_all_damaged_files_can_be_repaired(format_name, seed, tmp_path):
    found = outcomes(format_name, seed, 500, tmp_path)

    assert found["clean"] >= 0.9 * found.total()
    assert found["left"] <= 0.01 * found.total()


@pytest.mark.parametrize(
    ("sample", "line"),
    [
        (
            "oh-my-pi/branches.jsonl",
            b'{"type":"message","id":5,"parentId":null,"timestamp":"x","message":{}}',
        ),
        (
            "pi/edge/labels.jsonl",
            b'{"type":"message","id":null,"parentId":null,"timestamp":"x","message":{}}',
        ),
    ],
)
def test_an_entry_without_an_id_is_set_aside(sample, line, tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_bytes((CORPUS / sample).read_bytes() + line + b"\n")
    assert check_file(file).status == "damaged"

    result = CliRunner().invoke(cli, ["repair", str(file)])

    assert result.exit_code == 0, result.output
    assert check_file(tmp_path / "x.repaired.jsonl").status != "damaged"
    assert line in (tmp_path / "x.unreadable.txt").read_bytes()
