"""What many tests need: the sample files, and transcripts made of bytes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from branchline.formats import PI, EntryLog

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "corpus"
SHARED = Path(os.environ.get("BRANCHLINE_SAMPLES", ROOT.parent / "shared" / "formats" / "samples"))


def sample(*parts: str) -> Path:
    """A third-party sample that is not part of this repository; the test is skipped where it is not there."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the sample {'/'.join(parts)} is not on this machine")
    return path


def transcript(data: bytes | Path) -> EntryLog:
    """A transcript over bytes in memory."""
    content = data.read_bytes() if isinstance(data, Path) else data
    return EntryLog(PI, lambda offset, size: content[offset : offset + size])


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
