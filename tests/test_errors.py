"""The family of exceptions is what its docstring draws."""

from __future__ import annotations

import errno
import pickle
import re

import pytest

from branchline import errors
from branchline.errors import BranchlineError, CannotOpen, FileMissing, IsADirectory, PermissionDenied


def drawn() -> dict[str, tuple[str | None, str]]:
    """Each exception in the docstring: the one it hangs from in the drawing, and what is said of it."""
    found: dict[str, tuple[str | None, str]] = {}
    above: list[str] = []
    for line in errors.__doc__.splitlines():
        if match := re.fullmatch(r"    ((?:[│ ] {3})*(?:[├└]── )?)([A-Z]\w+)(?: +(.*))?", line):
            depth = len(match[1]) // 4
            above[depth:] = [match[2]]
            found[match[2]] = (above[depth - 1] if depth else None, match[3] or "")
    return found


def test_the_docstring_draws_every_exception_and_no_other():
    assert sorted(drawn()) == sorted(errors.__all__)


@pytest.mark.parametrize("name", errors.__all__)
def test_an_exception_derives_from_the_one_above_it_and_from_those_that_are_named_with_it(name):
    above, said = drawn()[name]
    kind = getattr(errors, name)

    bases = [base.__name__ for base in kind.__bases__]

    also = re.search(r"\(also (.*)\)", said)
    named = re.findall(r"an? (\w+)", also[1]) if also else []
    assert bases == [above or "Exception", *named]


@pytest.mark.parametrize(
    ("kind", "builtin", "number"),
    [
        (FileMissing, FileNotFoundError, errno.ENOENT),
        (PermissionDenied, PermissionError, errno.EACCES),
        (IsADirectory, IsADirectoryError, errno.EISDIR),
        (CannotOpen, OSError, errno.EIO),
    ],
)
def test_a_file_that_cannot_be_opened_is_an_error_of_ours_and_of_the_system(kind, builtin, number):
    problem = kind(number, "the reason", "talk.jsonl")

    copy = pickle.loads(pickle.dumps(problem))

    assert isinstance(problem, BranchlineError)
    assert isinstance(problem, builtin)
    assert str(problem) == str(copy) == "cannot open talk.jsonl: the reason"
    assert (copy.errno, copy.strerror, copy.filename) == (number, "the reason", "talk.jsonl")
