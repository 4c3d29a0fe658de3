"""Errors of use cases as failures of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from branchline.errors import BranchlineError, FileExists, InvalidArgument

__all__ = ["existing_file", "usage_errors"]


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn a caller's mistake into a usage error."""
    try:
        yield
    except InvalidArgument as problem:
        raise click.UsageError(str(problem)) from None
    except BranchlineError:
        raise
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


@contextmanager
def existing_file(hint: str) -> Iterator[None]:
    """Turn FileExists into a failure that ends with a hint."""
    try:
        yield
    except FileExists as problem:
        raise click.ClickException(f"{problem}{hint}") from None
