"""``new`` and ``append``: create a session, and append messages."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from branchline.cli.failures import usage_errors
from branchline.cli.options import command, cwd_option, directory_option, session_argument, store_option
from branchline.cli.output import Output, remark
from branchline.cli.write_access import damage_on_path, described, open_for_writing, position_fields

if TYPE_CHECKING:
    from branchline.entries import Message
    from branchline.session import Session

__all__ = ["append_command", "new_command"]


@command(
    "new",
    plain=False,
    examples="""
    branchline new
    branchline new --title "Auth refactor" --cwd ~/work/shop
    branchline new --format zot
    id=$(branchline new) && branchline append $id "How do I start?"
    """,
)
@cwd_option("Working directory of the session (default: the current one).")
@click.option("--title", help="Title of the session.")
@click.option("--id", "session_id", metavar="ID", help="Session id (default: a new UUID).")
@store_option("Create the session in STORE.")
@click.option(
    "--format",
    "program",
    metavar="AGENT",
    help="Create it for this agent: pi, oh-my-pi, operator, induscode, zot or piglet.",
)
def new_command(
    out: Output,
    cwd: str | None,
    title: str | None,
    session_id: str | None,
    directory: str | None,
    program: str | None,
) -> None:
    """Start a new session and print its id."""
    from branchline.session import Session

    if session_id is not None:
        _require_free(session_id, cwd, directory)
    with usage_errors():
        made = Session.create(
            cwd, directory=directory, format=program, id=session_id, title=title, persist="always"
        )
    with made as session:
        if out.json:
            out.result("new", {**position_fields(session), "cwd": session.cwd, "title": session.title})
        else:
            out.line(session.id)
            state = "not written before its first message" if session.is_draft else "no messages yet"
            remark(f"{session.file}: {state}")


def _require_free(session_id: str, cwd: str | None, directory: str | None) -> None:
    from branchline.errors import Ambiguous, SessionNotFound
    from branchline.library import SessionLibrary
    from branchline.session.ids import check_session_id
    from branchline.stores import is_address, shared_store

    check_session_id(session_id)
    if directory is None:
        library = SessionLibrary.for_cwd(cwd or ".")
    else:
        library = SessionLibrary(shared_store(directory) if is_address(directory) else directory)
    try:
        taken = library.find(session_id).id == session_id
    except SessionNotFound:
        return
    except Ambiguous:
        taken = any(row.id == session_id for row in library.list().rows)
    if taken:
        raise click.ClickException(f"session {session_id} already exists; choose another id")


@command(
    "append",
    plain=False,
    examples="""
    branchline append @last "What about the tests?"
    branchline append 01a1ddf5 --role assistant "They pass." --model anthropic/claude-sonnet-4-5
    git diff | branchline append @last -
    branchline append @last --message-json '{"role":"user","content":"hello"}'
    """,
)
@session_argument()
@click.argument("text", required=False)
@click.option(
    "--role",
    type=click.Choice(["user", "assistant", "system"]),
    default="user",
    show_default=True,
    help="Role of TEXT; for other roles use --message-json.",
)
@click.option("--model", metavar="PROVIDER/MODEL", help="Model of the answer (default: the previous one).")
@click.option(
    "--message-json",
    metavar="JSON",
    help="A complete message as a JSON object, or a list of messages (- reads standard input).",
)
@click.option("--force", is_flag=True, help="Append even if the path to the leaf is damaged.")
@directory_option
def append_command(
    out: Output,
    session: str,
    text: str | None,
    role: str,
    model: str | None,
    message_json: str | None,
    force: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Append a message at the leaf; TEXT - reads standard input."""
    if sum(given is not None for given in (text, message_json)) != 1:
        raise click.UsageError("give either TEXT or --message-json; - reads standard input")
    if model is not None and (role != "assistant" or text is None):
        raise click.UsageError("--model requires --role assistant and TEXT")
    messages = None if message_json is None else _given_messages(message_json)
    words = "" if text is None else _words(text)
    with open_for_writing(session, directory) as live:
        _require_sound(live, force=force)
        if messages is None:
            entry = live.append_message(_spoken(live, role, words, model))
        else:
            entry = live.append_messages(messages)[-1]
        if out.json:
            out.result("append", {**position_fields(live), "entry": entry})
        else:
            out.line(f"appended {described(live, entry)}, now the leaf of {live.id}")


def _words(text: str) -> str:
    if text == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
        except UnicodeDecodeError as problem:
            raise click.ClickException(f"standard input is not UTF-8 text: {problem}") from None
    if not text.strip():
        raise click.UsageError("nothing to append: the text is empty")
    return text


def _given_messages(text: str) -> list[dict[str, Any]]:
    """The messages given as JSON. An invalid argument is a usage error, invalid input a failure."""
    if text == "-":
        return _parsed(sys.stdin.buffer.read(), "standard input", click.ClickException)
    return _parsed(text, "--message-json", click.UsageError)


def _parsed(text: str | bytes, name: str, error: type[click.ClickException]) -> list[dict[str, Any]]:
    try:
        message = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as problem:
        raise error(f"{name} is not JSON: {problem}") from None
    messages = message if isinstance(message, list) and message else [message]
    if not all(
        isinstance(one, dict) and isinstance(one.get("role"), str) and one["role"] for one in messages
    ):
        raise click.UsageError(
            f'{name} is not a message: it needs a role, as in {{"role":"user","content":"hello"}}'
        )
    return messages


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _require_sound(session: Session, *, force: bool) -> None:
    """Refuse to continue a damaged path, unless forced."""
    found = damage_on_path(session)
    if not found or force:
        return
    first = f"line {found[0].line}: {found[0].message}"
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    raise click.ClickException(
        f"nothing was appended: the path to the leaf of {session.id} is damaged ({first}{more}). "
        f"`branchline repair` writes a repaired copy; --force appends anyway"
    )


def _spoken(session: Session, role: str, text: str, model: str | None) -> Message:
    from branchline.entries import AssistantMessage, SystemMessage, Text, Usage, UserMessage

    content = (Text(text=text),)
    if role == "user":
        return UserMessage(content=content)
    if role == "system":
        return SystemMessage(content=text)
    provider, _, name = (model or "").partition("/")
    if model is None and (known := session.context().model) is not None:
        provider, name = known.provider, known.id
    elif model is not None and not (provider and name):
        raise click.UsageError("--model is PROVIDER/MODEL, for example anthropic/claude-sonnet-4-5")
    return AssistantMessage(
        content=content, provider=provider or None, model=name or None, usage=Usage(), stop_reason="stop"
    )
