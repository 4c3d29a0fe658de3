"""Build wheel and sdist, and test both in clean environments: `make dist`.

The wheel is installed into two environments, one with only the base requirements and one with every extra,
both from locked and hashed files. The sdist must build the same wheel and pass a part of its own tests. Then every
line of README and docs that installs branchline runs in an environment of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SMOKE = ROOT / "scripts" / "smoke.py"
ENVIRONMENTS = {"base": "base.txt", "all": "run.txt"}
SDIST_TESTS = (
    "tests/test_package.py",
    "tests/test_errors.py",
    "tests/test_project.py",
    "tests/test_parity_table.py",
    "tests/docs/test_reference.py",
    "tests/demo",
    "tests/flows/test_example_plugin.py",
    "tests/session/test_factories.py",
)
_FROM_OUTSIDE = ("PYTHON", "BRANCHLINE_")


def run(*command: str | Path, cwd: Path = ROOT, **more: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_FROM_OUTSIDE)}
    subprocess.run(command, cwd=cwd, env={**environment, **more}, check=True)


def build(source: Path, target: Path, *kinds: str) -> None:
    """Build with the backend directly: a build frontend would download it again."""
    run(sys.executable, "-m", "hatchling", "build", "-d", target, *kinds, cwd=source)


def only(directory: Path, pattern: str) -> Path:
    (found,) = directory.glob(pattern)
    return found


def contents(wheel: Path) -> dict[str, int]:
    """Return the name and checksum of every file in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {item.filename: item.CRC for item in archive.infolist()}


def try_wheel(wheel: Path, name: str, directory: Path) -> None:
    place = directory / name
    venv.create(place)
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(place),
        "--disable-pip-version-check",
        "install",
        "-q",
    )
    locked = ROOT / "requirements" / ENVIRONMENTS[name]
    run(*pip, "--no-compile", "--no-deps", "--require-hashes", "-r", locked)
    run(*pip, "--no-compile", "--no-deps", "--no-index", wheel)
    run(place / "bin" / "python", "-I", SMOKE, name, cwd=directory)


def try_sdist(sdist: Path, wheel: Path, directory: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(directory, filter="data")
    source = only(directory, "branchline-*")
    build(source, directory / "again", "-t", "wheel")
    if contents(only(directory / "again", "*.whl")) != contents(wheel):
        raise SystemExit("the wheel built from the sdist differs from the wheel built from the repository")
    imported = "import branchline, sys; sys.exit(not branchline.__file__.startswith(sys.argv[1]))"
    path = str(source / "src")
    run(sys.executable, "-c", imported, path, cwd=source, PYTHONPATH=path)
    run(
        *(sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow"),
        *SDIST_TESTS,
        cwd=source,
        PYTHONPATH=path,
    )


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    build(ROOT, DIST)
    wheel, sdist = only(DIST, "*.whl"), only(DIST, "*.tar.gz")
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:
        work = [pool.submit(try_wheel, wheel, name, Path(scratch)) for name in ENVIRONMENTS]
        work.append(pool.submit(try_sdist, sdist, wheel, Path(scratch)))
        for job in work:
            job.result()
    run(sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "slow", "tests/docs/test_install_lines.py")


main()
