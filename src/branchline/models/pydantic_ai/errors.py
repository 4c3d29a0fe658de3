"""Convert provider errors to branchline errors that name the model, the cause and a remedy."""

from __future__ import annotations

import re

import httpx2
from pydantic_ai import exceptions as theirs

from branchline.errors import (
    AuthMissing,
    ContextOverflow,
    MalformedStream,
    ModelError,
    ModelRefused,
    NetworkFailure,
    RateLimited,
    UnknownModel,
)

__all__ = ["construction_error", "request_error"]

_KEY = re.compile(r"`(\w*(?:KEY|TOKEN)\w*)`")
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`")
_OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size)|prompt is too long|too many tokens|maximum context", re.IGNORECASE
)
_MAX_LENGTH = 500
_FIRST_ERROR = 400


def construction_error(name: str, problem: Exception) -> ModelError:
    """Convert an error raised while constructing a model from its name."""
    provider = name.partition(":")[0]
    text = str(problem)
    if isinstance(problem, ImportError):
        group = re.search(r"pydantic-ai-slim\[([\w-]+)\]", text)
        package = f"pydantic-ai-slim[{group.group(1) if group else provider}]"
        return UnknownModel(f"{name} needs a client library that is not installed: pip install '{package}'")
    if key := _KEY.search(text):
        return AuthMissing(f"{name} needs an API key: set {key.group(1)}")
    if variable := _VARIABLE.search(text):
        return UnknownModel(f"{name} needs a setting: set {variable.group(1)} ({_short(text)})")
    hint = re.search(r"Did you mean '([^']+)'", text)
    meant = f"; did you mean {hint.group(1)}?" if hint else ""
    return UnknownModel(
        f"unknown model {name}: {_short(text)}{meant}" if not hint else f"unknown model {name}{meant}"
    )


def request_error(name: str, problem: Exception, *, key_hint: str) -> ModelError:
    """Convert an error raised by a request. ``key_hint`` is the advice for a refused API key."""
    detail = _error_text(problem)
    match problem:
        case ModelError():
            return problem
        case theirs.ModelContextWindowExceededError():
            return ContextOverflow(f"the request is too long for {name}: {detail}")
        case theirs.ModelRateLimitError():
            return RateLimited(
                f"{name} accepts no more requests for now: {detail}", retry_after=problem.retry_after
            )
        case theirs.ModelAuthenticationError():
            return AuthMissing(f"{name} refused the request: {detail}; {key_hint}")
        case theirs.ModelNotFoundError():
            return UnknownModel(f"the provider does not know {name}: {detail}")
        case theirs.ModelRequestRejectedError() | theirs.ModelHTTPError() if _OVERFLOW.search(detail):
            return ContextOverflow(f"the request is too long for {name}: {detail}")
        case theirs.ModelRequestTimeout():
            return NetworkFailure(f"{name} did not answer in time: {detail}", retry_after=problem.retry_after)
        case theirs.ModelConnectionError():
            return NetworkFailure(f"{name} could not be reached: {detail}", retry_after=problem.retry_after)
        case theirs.ModelUnavailableError() | theirs.ModelServerError():
            return _answered_with_error(name, problem, detail)
        case theirs.ModelHTTPError() if problem.status_code >= 500 or problem.status_code == 408:
            return _answered_with_error(name, problem, detail)
        case (
            theirs.ModelRequestRejectedError()
            | theirs.ModelQuotaExceededError()
            | theirs.ModelHTTPError()
            | theirs.ContentFilterError()
            | theirs.UserError()
        ):
            return ModelRefused(f"{name} rejected the request: {detail}")
        case httpx2.TransportError() | OSError():
            return NetworkFailure(f"connection to {name} lost: {detail}")
        case _:
            return MalformedStream(f"{name} sent an invalid response ({type(problem).__name__}: {detail})")


def _answered_with_error(name: str, problem: theirs.ModelAPIError, detail: str) -> NetworkFailure:
    """Return the error for a server that was reached and could not do its work; it may later."""
    answer = "an error of its server"
    cause: BaseException | None = problem
    while cause is not None:  # the client libraries know the status, under two names
        status = getattr(cause, "status_code", getattr(cause, "code", None))
        if isinstance(status, int) and status >= _FIRST_ERROR:
            answer = f"error {status}"
        cause = cause.__cause__
    return NetworkFailure(f"{name} answered with {answer}: {detail}", retry_after=problem.retry_after)


def _error_text(problem: Exception) -> str:
    """Return the provider's own error message if there is one."""
    body = getattr(problem, "body", None)
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        if isinstance(message, str) and message:
            return _short(message)
    cause = problem.__cause__
    return _short(str(problem) or str(cause) or type(problem).__name__)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "…"
