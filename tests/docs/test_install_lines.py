"""Every line of README and docs that installs branchline works as it is printed, and names no package index.

No index holds the name: whoever registers it first would reach everybody who types it. The lines themselves
run with `make dist`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from branchline import __version__
from branchline._version import install_extra
from support import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.joinpath("docs").rglob("*.md"))]
SOURCES = sorted(ROOT.joinpath("src").rglob("*.py"))
INSTALLER = r"(?:uv tool install|uv pip install|uvx|pipx install|pipx run|pip install|uv add)"
OURS = re.compile(rf"{INSTALLER}[^`\n#|]*?(?P<what>'?\.(?=[\s'\[`]|$)|dist/branchline|\bbranchline\b)")
INSTALLED = {"src", "requirements", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}


def lines_that_install() -> list[str]:
    """Return the distinct commands of the pages that install branchline, without their comments."""
    found = set()
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            if (start := OURS.search(line)) and "/tmp/" not in line:
                said = re.match(r"[^`#|]*", line[start.start() :])
                found.add(said[0].strip())
    return sorted(found)


def test_nothing_tells_people_to_install_a_name_from_an_index():
    named = re.compile(rf"{INSTALLER}(?: --?[\w-]+)* ['\"]?branchline\b")
    told = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in (*PAGES, *SOURCES)
        for line in path.read_text(encoding="utf-8").splitlines()
        if named.search(line)
    ]

    assert told == []


def test_the_built_wheel_that_the_pages_name_is_that_of_this_version():
    named = {name for line in lines_that_install() for name in re.findall(r"dist/([\w.-]+\.whl)", line)}

    assert named == {f"branchline-{__version__}-py3-none-any.whl"}


@pytest.fixture(scope="module")
def index():
    """Skip where packages cannot be had: the lines fetch what branchline depends on."""
    asked = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "download", "--no-deps")
    with_hatchling = (*asked, "--dest", os.devnull, "hatchling")
    try:
        answer = subprocess.run(with_hatchling, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("no package index answers")
    if "No matching distribution" in answer.stderr:
        pytest.skip("no package index answers")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a copy of the project with its built wheel, as `make dist` leaves it."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in INSTALLED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, copy / name)
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist")
    subprocess.run(build, cwd=copy, check=True, capture_output=True, timeout=120)
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("line", [*lines_that_install(), install_extra("prices").partition(": ")[2]])
def test_a_line_that_installs_branchline_works_in_a_clean_environment(line, checkout, index, tmp_path):
    place = tmp_path / "environment"
    venv.create(place, with_pip=line.startswith("pip"))
    programs = [str(place / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "BRANCHLINE_"))
    }
    environment |= {
        "PATH": os.pathsep.join(programs),
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(place / "bin"),
        "VIRTUAL_ENV": str(place),
    }

    done = subprocess.run(
        ("bash", "-c", line),
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    asked = (place / "bin" / "branchline", "--version")
    told = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert told.stdout == f"branchline {__version__}\n"
