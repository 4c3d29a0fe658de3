"""The family of exceptions: everything that the library refuses.

``except BranchlineError`` catches every refusal, a caller's mistakes included. Where a builtin exception says
the same, the refusal is that one too: a ValueError for a value that is not allowed, a TypeError for a wrong
type, a LookupError for what is not there, an OSError for what the system refused. Only Python itself raises
others, for example a TypeError for a missing or unknown argument::

    BranchlineError
    ├── NotASession          nothing in this file is a session (or the format is known and unsupported)
    │   └── IsADirectory     the path is a directory (also a CannotOpen and an IsADirectoryError)
    ├── CannotOpen           the file cannot be opened or read, and why (also an OSError)
    │   ├── FileMissing      no such file (also a FileNotFoundError)
    │   └── PermissionDenied the file or its directory may not be read (also a PermissionError)
    ├── ReadOnly             the session may be read but not appended to, and why
    ├── Closed               the session or library was closed (also a ValueError)
    │   └── StoreClosed      the store was closed; nothing was written
    ├── EntryNotFound        no entry with this id (also a LookupError and a ValueError)
    ├── SessionNotFound      no session with this id, prefix or title (also a LookupError)
    ├── Ambiguous            several sessions or entries answer to this prefix
    ├── InvalidId            a malformed id or address, or one that is no file name (also a ValueError)
    ├── InvalidArgument      an argument has a value that is not allowed (also a ValueError)
    │   ├── InvalidType      or a type that is not allowed (also a TypeError)
    │   └── InvalidMessage   this is no message, or one that no model would see correctly
    ├── NotSupported         the file's format cannot hold this; says what can be done instead
    │   ├── DropsMessages    the new file would lack messages of the path; nothing was written
    │   ├── UnsupportedFormat  no session can be written in this format (also a ValueError)
    │   └── TooLarge         a compressed file unpacks to more than the setting max_unpacked allows
    ├── KeyTaken             the store has a session of this name already (also a FileExistsError)
    ├── SecretsLeft          what was redacted still holds secrets and is not written; names kinds and entries
    ├── FlowError            a flow could not do what was asked; nothing was written
    │   ├── NoSummarizer     a summary is wanted and there is nothing that writes one
    │   ├── SummaryFailed    the summary did not come, is empty or was cut off
    │   ├── NothingToCompact the context is too small, or was compacted just now
    │   └── SessionMoved     another writer continued the conversation; nothing was written
    ├── LogError             the log could not do what was asked
    │   ├── NotSaved         an append failed and was rolled back; nothing was written
    │   │   └── FileExists   something is at the path of a new file already (also a FileExistsError)
    │   ├── LockTimeout      somebody else holds the lock; says who and since when
    │   ├── LogShrank        the file is shorter than what was read before
    │   ├── LogReplaced      another file lies at this path now
    │   └── LogGone          the file was deleted while open
    └── ModelError           a model did not answer
        ├── UnknownModel     no such provider or model, or its client library is not installed
        ├── AuthMissing      the key is missing or was refused; says what to set
        ├── RateLimited      too many requests for now; waiting helps
        ├── NetworkFailure   the provider was not reached, dropped the line or is out of order
        ├── ContextOverflow  the request is longer than the model's context window
        ├── MalformedStream  what came back is not an answer
        └── ModelRefused     the provider does not take this request; sending it again does not help

Messages say what was being done to what, and where there is one, the way out.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "Ambiguous",
    "AuthMissing",
    "BranchlineError",
    "CannotOpen",
    "Closed",
    "ContextOverflow",
    "DropsMessages",
    "EntryNotFound",
    "FileExists",
    "FileMissing",
    "FlowError",
    "InvalidArgument",
    "InvalidId",
    "InvalidMessage",
    "InvalidType",
    "IsADirectory",
    "KeyTaken",
    "LockTimeout",
    "LogError",
    "LogGone",
    "LogReplaced",
    "LogShrank",
    "MalformedStream",
    "ModelError",
    "ModelRefused",
    "NetworkFailure",
    "NoSummarizer",
    "NotASession",
    "NotSaved",
    "NotSupported",
    "NothingToCompact",
    "PermissionDenied",
    "RateLimited",
    "ReadOnly",
    "SecretsLeft",
    "SessionMoved",
    "SessionNotFound",
    "StoreClosed",
    "SummaryFailed",
    "TooLarge",
    "UnknownModel",
    "UnsupportedFormat",
]


class BranchlineError(Exception):
    """Anything that branchline refuses, or cannot do."""


class NotASession(BranchlineError):
    """The file holds no session that we can read."""


class CannotOpen(BranchlineError, OSError):
    """The file cannot be opened or read.

    Takes the arguments of OSError: ``errno``, ``strerror`` (the reason) and ``filename``.
    """

    def __str__(self) -> str:
        return f"cannot open {self.filename}: {self.strerror}"


class FileMissing(CannotOpen, FileNotFoundError):
    """There is no file at this path."""


class PermissionDenied(CannotOpen, PermissionError):
    """The file, or a directory above it, may not be read."""


class IsADirectory(NotASession, CannotOpen, IsADirectoryError):
    """The path of a session leads to a directory."""


class ReadOnly(BranchlineError):
    """The session can be read, but nothing may be appended to it."""


class Closed(BranchlineError, ValueError):
    """The session or library was closed before."""


class StoreClosed(Closed):
    """The store was closed before. Nothing was written."""


class EntryNotFound(BranchlineError, LookupError, ValueError):
    """There is no entry with this id."""


class SessionNotFound(BranchlineError, LookupError):
    """There is no session with this id, prefix or title."""


class Ambiguous(BranchlineError):
    """More than one session or entry answers to what was asked for."""


class InvalidId(BranchlineError, ValueError):
    """An id that must not be used, for example because it would be a path, or a malformed address."""


class InvalidArgument(BranchlineError, ValueError):
    """An argument has a value that is not allowed. Nothing was done."""


class InvalidMessage(InvalidArgument):
    """What was given is not a message, or one that no model would see correctly. Nothing was written."""


class InvalidType(InvalidArgument, TypeError):
    """An argument has a type that is not allowed. Nothing was done."""


class NotSupported(BranchlineError):
    """The format of this file cannot hold what was asked for."""


class DropsMessages(NotSupported):
    """A new file for another agent would lack messages of the path. Nothing was written."""

    def __init__(self, loss: str) -> None:
        super().__init__(
            f"{loss}; nothing was written. Option --lossy (in Python lossy=True) writes the rest"
        )
        self.loss = loss
        """Who would lack how many messages, and why."""


class UnsupportedFormat(NotSupported, ValueError):
    """No session can be written in this format, or not in the way that was asked for."""


class TooLarge(NotSupported):
    """A compressed file unpacks to more than the setting ``max_unpacked`` allows."""


class KeyTaken(BranchlineError, FileExistsError):
    """The store has a session of this name already, which stays as it is."""


class SecretsLeft(BranchlineError):
    """What was redacted still holds secrets; it is not written. Says of which kind and in which entry."""

    findings: tuple[Any, ...] = ()
    """Each secret that is left, a :class:`branchline.actions.review.SecretFinding`."""


class FlowError(BranchlineError):
    """A flow could not do what was asked. Nothing was written."""


class NoSummarizer(FlowError):
    """A summary is wanted, and there is nothing that writes one."""


class SummaryFailed(FlowError):
    """The summary did not come, is empty or was cut off."""


class NothingToCompact(FlowError):
    """There is nothing to sum up: the context is too small, or was compacted just now."""


class SessionMoved(FlowError):
    """Another writer continued the conversation meanwhile: during a flow, or with ``on_conflict="raise"``."""


class LogError(BranchlineError):
    """The log could not do what was asked."""


class NotSaved(LogError):
    """An append failed and was rolled back: the file is unchanged before."""


class FileExists(NotSaved, FileExistsError):
    """Something is at the path of a new file already, and stays as it is.

    Takes the arguments of OSError: ``errno``, ``strerror`` and ``filename``.
    """

    def __str__(self) -> str:
        return f"{self.filename} already exists"


class LockTimeout(LogError):
    """Somebody else holds the lock."""


class LogShrank(LogError):
    """The file is shorter than what was read from it before."""


class LogReplaced(LogError):
    """Another file lies at this path now."""


class LogGone(LogError):
    """The file was deleted while it was open."""


class ModelError(BranchlineError):
    """A model did not answer.

    ``passing`` says whether the same request may succeed later; ``retry_after`` is how many seconds the
    provider asked to wait, if it said.
    """

    retryable = False

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnknownModel(ModelError):
    """There is no such provider or model here."""


class AuthMissing(ModelError):
    """The provider wants a key that it did not get, or refused the one it got."""


class RateLimited(ModelError):
    """Too many requests for now."""

    retryable = True


class NetworkFailure(ModelError):
    """The provider was not reached, dropped the line, or is out of order."""

    retryable = True


class ContextOverflow(ModelError):
    """The request is longer than the model's context window."""


class MalformedStream(ModelError):
    """What the provider sent is not an answer."""


class ModelRefused(ModelError):
    """The provider does not take this request."""
