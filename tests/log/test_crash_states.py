"""Whenever the power fails, what was acknowledged is on the disk, and the next line stands alone."""

import pytest

from log.crash import Recorder
from log.proofs import prove_crashes


@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_nothing_that_was_promised_is_missing_in_any_state_that_a_power_cut_may_leave(tmp_path, durability):
    count = prove_crashes(tmp_path, Recorder, durability=durability)

    print(count)
    assert count > 1000
