"""Every built-in format keeps what the suite for formats of other packages asks for."""

from __future__ import annotations

import pytest

from branchline.formats import FormatContract, builtin_formats
from branchline.formats.cline.documents import ClineDocuments
from robustness.field_trials import SAMPLES

CASES = [format_ for format_ in builtin_formats() if format_.database is None]


class TestBuiltinFormats(FormatContract):
    places = 12

    @pytest.fixture(autouse=True, params=CASES, ids=lambda format_: format_.name)
    def _one(self, request):
        self.format = request.param

    def samples(self):
        files = [path for path in SAMPLES[self.format.name] if path.stat().st_size < 40_000][:3]
        return {str(path): path.read_bytes() for path in files}


def test_the_suite_has_samples_of_every_format():
    assert {format_.name for format_ in CASES} <= set(SAMPLES)
    assert ClineDocuments().recognizes(str(SAMPLES["cline"][0]))
