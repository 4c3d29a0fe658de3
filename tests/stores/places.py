"""Directories in which permissions are enforced, even if the tests run as root."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534


@pytest.fixture
def common_place() -> Iterator[Path]:
    """A directory of a person without privileges, who runs the test."""
    place = Path(tempfile.mkdtemp())
    if os.geteuid() != 0:
        yield place
    else:
        os.chown(place, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            yield place
        finally:
            os.seteuid(0)
    for folder, folders, _files in os.walk(place):
        for name in folders:
            os.chmod(os.path.join(folder, name), 0o700)
    shutil.rmtree(place)
