"""What is strange about a file, also what only reading every byte shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from branchline.errors import BranchlineError

if TYPE_CHECKING:
    from branchline.cli.sealing import Sealing, SealReport
    from branchline.formats import EntryLog
    from branchline.log import FileLog
    from branchline.tree import Finding

_HEAD = 1 << 16

__all__ = ["FileReport", "check_file", "read_leniently", "transcript_of"]


class FileReport(NamedTuple):
    """What a look at one file gave; ``problem`` says why it could not be read as a session at all."""

    path: str
    status: Literal["clean", "notes", "odd", "damaged"]
    findings: list[Finding]
    problem: str | None = None
    id: str | None = None
    format: str | None = None
    version: int | None = None
    entries: int = 0
    seal: SealReport | None = None


def check_file(path: str, sealing: Sealing = "compare") -> FileReport:
    """Look at one file, and seal it if asked to. Whatever is wrong with it is part of the answer."""
    from branchline.cli.sealing import update_seal, verify_seal
    from branchline.clock import SystemClock
    from branchline.formats.detect import RETIRED_STORES, is_retired_store
    from branchline.formats.integrity import check_log
    from branchline.log import FileLog
    from branchline.tree import severity

    try:
        with FileLog(path) as log:
            head = log.read(0, _HEAD)
            transcript = transcript_of(log, path)
            findings = check_log(transcript)
            seal = verify_seal(log, transcript.reading)
            if sealing != "compare":
                force = sealing == "force"
                seal = update_seal(log, transcript.reading, seal, force=force, clock=SystemClock())
    except BranchlineError as problem:
        return FileReport(path, "damaged", [], str(problem))
    except OSError as problem:
        return FileReport(path, "damaged", [], f"cannot be read: {problem.strerror}")
    if seal.finding is not None:
        findings.append(seal.finding)
        findings.sort(key=lambda finding: finding.line)
    reading = transcript.reading
    header = reading.header
    if header is None and not len(reading.tree):
        why = RETIRED_STORES if is_retired_store(head) else f"not a session: {reading.read_only}"
        return FileReport(path, "damaged", findings, why, seal=seal)
    worst = {severity(finding.kind) for finding in findings}
    if seal.state == "unusable":
        worst.add("warning")  # nothing is known to be wrong with the file, but nobody can tell any more
    return FileReport(
        path,
        "damaged" if "damage" in worst else "odd" if "warning" in worst else "notes" if worst else "clean",
        findings,
        id=None if header is None else header.id,
        format=reading.format,
        version=None if header is None else header.version,
        entries=len(reading.tree) - len(reading.tree.placeholders),
        seal=seal,
    )


def read_leniently(path: str) -> tuple[EntryLog, list[Finding]]:
    """A reading of a file whatever it holds, and its findings. NotASession for what is no regular file."""
    from branchline.formats.integrity import check_log
    from branchline.log import FileLog

    with FileLog(path) as log:
        transcript = transcript_of(log, path)
        return transcript, check_log(transcript)


def transcript_of(log: FileLog, path: str) -> EntryLog:
    """A reading of a log whatever it holds; what no format knows is read as if it were ours."""
    from branchline.errors import NotASession
    from branchline.formats import PI, EntryLog, decompressed, detect

    head = log.read(0, _HEAD)
    try:
        format_ = detect(head, path)
    except NotASession:
        format_ = PI
    return EntryLog(format_, decompressed(format_, head, log.read), path)
