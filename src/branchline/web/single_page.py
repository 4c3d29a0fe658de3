"""Sharing from the viewer: review of the secrets to replace, and the exported page."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from branchline.actions.export import ExportRequest, render
from branchline.actions.redactor import Choices
from branchline.actions.review import review
from branchline.web.viewed import ViewedSession

__all__ = ["PageRequest", "findings", "single_page"]


class PageRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contents of the file. ``keep`` are values of findings to keep, ``literals`` more texts to mask."""

    branch: bool = False
    portable: bool = False
    tools: bool = True
    thinking: bool = True
    images: bool = True
    keep: list[str] = []
    literals: list[Annotated[str, msgspec.Meta(min_length=1)]] = []


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
        choices=Choices(keep=frozenset(asked.keep), literals=tuple(asked.literals)),
    )
