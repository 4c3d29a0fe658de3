"""Sharing from the viewer: review of the secrets to replace, and the exported page."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from branchline.actions.export import ExportRequest, render
from branchline.actions.redactor import Choices, FoundSecret
from branchline.actions.review import review
from branchline.web.viewed import ViewedSession

__all__ = ["PageRequest", "findings", "single_page"]


class LeftSecret(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A secret that a search of the finished file found."""

    kind: Annotated[str, msgspec.Meta(pattern="^[0-9a-z -]{1,40}$")]
    value: Annotated[str, msgspec.Meta(min_length=1)]


class PageRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contents of the file.

    ``keep`` are values of findings to keep, ``literals`` more texts to mask, ``left`` what a search of the
    finished file found, to mask as well.
    """

    branch: bool = False
    portable: bool = False
    tools: bool = True
    thinking: bool = True
    images: bool = True
    keep: list[str] = []
    literals: list[Annotated[str, msgspec.Meta(min_length=1)]] = []
    left: list[LeftSecret] = []


def findings(viewed: ViewedSession, asked: PageRequest) -> dict[str, Any]:
    """Return the secrets that would be replaced, for review."""
    return {"findings": [msgspec.to_builtins(one) for one in review(viewed.session, _request(asked))]}


def single_page(viewed: ViewedSession, asked: PageRequest) -> bytes:
    """Return the exported file. Raises SecretsLeft if a final scan finds a secret in it."""
    return render(viewed.session, _request(asked)).data


def _request(asked: PageRequest) -> ExportRequest:
    return ExportRequest(
        format="html",
        branch=asked.branch,
        portable=asked.portable,
        tools=asked.tools,
        thinking=asked.thinking,
        images=asked.images,
        choices=Choices(
            keep=frozenset(asked.keep),
            literals=tuple(asked.literals),
            left=tuple(FoundSecret(kind=one.kind, value=one.value) for one in asked.left),
        ),
    )
