"""Every call to the system may fail, in every way: nothing is lost, nothing half-written stays, nothing sticks."""

import errno
import itertools
import os
from pathlib import Path

import pytest
from log.faults import ERRORS, KINDS, Faulty
from log.proofs import HEADER, lines_of, prove_failures, record

from branchline.errors import NotSaved, ReadOnly
from branchline.log import SYSTEM, FileLog, System, publish_file, replace_file


@pytest.mark.parametrize("durability", ["fsync", "os"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_whichever_call_of_an_append_fails_nothing_is_lost_and_the_next_append_works(
    tmp_path, lasting, durability
):
    runs = prove_failures(tmp_path, Faulty, lasting=lasting, durability=durability)

    assert runs > 200
