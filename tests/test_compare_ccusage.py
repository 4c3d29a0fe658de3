"""The script that compares our sums with ccusage's, against a stand-in for ccusage."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from support import CORPUS, ROOT

STAND_IN = """
import json, os, sys
if "claude" in sys.argv:
    sys.exit("unknown command")
assert os.path.isdir(os.path.join(os.environ["CLAUDE_CONFIG_DIR"], "projects"))
print(json.dumps({"daily": json.load(open(os.environ["COUNTED"]))}))
"""


def counted(day, model, *tokens):
    names = ("inputTokens", "cacheCreationTokens", "cacheReadTokens", "outputTokens")
    spent = dict(zip(names, tokens, strict=True))
    return {"date": day, **spent, "modelBreakdowns": [{"modelName": model, **spent}]}


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """Run the script on a directory; ccusage says what it is told to say."""
    program = tmp_path / "ccusage.py"
    program.write_text(STAND_IN)
    monkeypatch.setenv("COUNTED", str(tmp_path / "counted.json"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))

    def run(directory, *days):
        (tmp_path / "counted.json").write_text(json.dumps(days))
        command = [sys.executable, ROOT / "scripts" / "compare_ccusage.py", directory]
        return subprocess.run(
            [*command, "--ccusage", f"{sys.executable} {program}"],
            capture_output=True,
            text=True,
            check=False,
        )

    return run


MODEL = "claude-opus-4-5-20251101"


def test_equal_sums_are_told_so_and_output_decides_nothing(compare):
    directory = CORPUS / "claude-code" / "synthetic" / "sidechain-inline"

    result = compare(directory, counted("2026-09-01", MODEL, 500, 0, 0, 1))

    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 of 1 equal" in result.stdout
    assert "output   2026-09-01" in result.stdout


def test_other_sums_are_shown_with_their_day_and_model(compare):
    directory = CORPUS / "claude-code" / "synthetic" / "sidechain-inline"

    result = compare(directory, counted("2026-09-01", MODEL, 499, 0, 0, 32))

    assert result.returncode == 1
    assert (
        f"DIFFERS  2026-09-01 {MODEL}: branchline (500, 0, 0, 32), ccusage (499, 0, 0, 32)" in result.stdout
    )


def test_an_answer_in_several_files_counts_once(compare):
    directory = CORPUS / "claude-code" / "synthetic" / "lineage"

    result = compare(directory, counted("2026-08-20", MODEL, 60, 600, 0, 30))

    assert result.returncode == 0, result.stdout + result.stderr
