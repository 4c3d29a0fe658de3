"""The quick look for entry points never misses one that the long look finds."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import DistributionFinder, entry_points
from pathlib import Path

import pytest

from branchline.plugins.packages import may_have_entry_points


def test_every_group_of_the_installed_packages_is_seen_and_no_other() -> None:
    for group in entry_points().groups:
        assert may_have_entry_points(group)

    assert not may_have_entry_points("no.package.has.this.group")


def test_packages_in_an_archive_are_not_looked_through_and_may_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("brought-1.0.dist-info/entry_points.txt", "[some.group]\nx = y:z\n")
        file.writestr(
            "brought-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n"
        )

    monkeypatch.syspath_prepend(str(archive))

    assert [point.name for point in entry_points(group="some.group")] == ["x"]
    assert may_have_entry_points("some.group")


@pytest.mark.parametrize("folder", ["brought-1.0.dist-info", "brought.egg-info", "brought-1.0.egg/EGG-INFO"])
def test_every_place_of_entry_points_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    about = tmp_path / folder
    about.mkdir(parents=True)
    (about / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[some.group]\nx = y:z\n")
    monkeypatch.syspath_prepend(str(tmp_path / "brought-1.0.egg" if ".egg/" in folder else tmp_path))

    assert [point.name for point in entry_points(group="some.group")] == ["x"]
    assert may_have_entry_points("some.group")


def test_where_something_else_finds_packages_only_the_long_look_can_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Elsewhere(DistributionFinder):
        def find_distributions(self, context: object = None) -> list[object]:  # type: ignore[override]
            return []

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Elsewhere()])

    assert may_have_entry_points("no.package.has.this.group")


def test_without_such_packages_the_long_look_is_never_loaded() -> None:
    code = (
        "import sys; from branchline.plugins import installed_formats; installed_formats(); "
        "print('importlib.metadata' in sys.modules)"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "False"
