"""``chat``: a conversation in this terminal, or line by line where there is none."""

from __future__ import annotations

import sys

import click

from branchline.cli.options import command
from branchline.cli.output import Output

__all__ = ["chat_command"]


@command(
    "chat",
    examples="""
    branchline chat
    branchline chat --continue
    branchline chat --model anthropic:claude-sonnet-4-5 --name "Auth refactor"
    branchline chat --model qwen2.5:7b --base-url http://localhost:11434/v1
    branchline chat --model gpt-oss --base-url https://gpu.example/v1 --api-key-env GPU_KEY
    branchline chat --mcp .mcp.json
    branchline chat --fork @last@3f2a
    git diff | branchline chat --no-session --print -
    """,
)
@click.option(
    "-c", "--continue", "newest", is_flag=True, help="Go on in the newest session of this directory."
)
@click.option(
    "-r",
    "--resume",
    metavar="[SESSION]",
    is_flag=False,
    flag_value="",
    help="Go on in this session, or in the one that you pick; who picks nothing starts afresh.",
)
@click.option("--fork", metavar="SESSION[@ENTRY]", help="Go on in a fork of this session, up to ENTRY.")
@click.option(
    "--model", metavar="PROVIDER:MODEL", help="Who answers (default: as the session or the settings say)."
)
@click.option(
    "--base-url", metavar="URL", help="Where a server listens that speaks OpenAI's chat completions."
)
@click.option(
    "--api-key-env",
    metavar="NAME",
    help="The environment variable with the API key for --base-url (default: BRANCHLINE_API_KEY).",
)
@click.option(
    "--mcp",
    "file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Let the model call the tools of the MCP servers that this file names.",
)
@click.option(
    "--allow-tool",
    "allowed_tools",
    metavar="SERVER.TOOL",
    multiple=True,
    help="Call this MCP tool without asking; can be given several times.",
)
@click.option("--name", metavar="TITLE", help="Give the session a title.")
@click.option("--no-session", is_flag=True, help="Keep nothing.")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False),
    help="The working directory of the session (default: this one).",
)
@click.option(
    "-p", "--print", "prompt", metavar="PROMPT", help="Say this (- reads it), print the answer, end."
)
def chat_command(
    out: Output,
    newest: bool,  # noqa: FBT001
    resume: str | None,
    fork: str | None,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    file: str | None,
    allowed_tools: tuple[str, ...],
    name: str | None,
    no_session: bool,  # noqa: FBT001
    cwd: str | None,
    prompt: str | None,
) -> None:
    """Talk with a model; everything is kept in a session, which can be branched as you talk.

    /help lists what else can be done. Without a terminal one prompt is read per line, and answers are text.
    """
    if newest + (resume is not None) + (fork is not None) > 1:
        raise click.UsageError("choose one of --continue, --resume and --fork")
    if out.json and prompt is None:
        raise click.UsageError("--json tells about one answer; give a prompt with --print")
    from branchline.chat.startup import StartOptions
    from branchline.cli.chat_runner import ChatOptions, run_chat

    beginning = StartOptions(newest=newest, resume=resume, fork=fork, save=not no_session)
    wishes = ChatOptions(
        beginning=beginning,
        model=model,
        base_url=base_url,
        api_key_env=api_key_env,
        servers=file,
        allowed_tools=allowed_tools,
        title=name,
        cwd=cwd,
        prompt=_words(prompt),
    )
    if code := run_chat(out, wishes):
        click.get_current_context().exit(code)


def _words(prompt: str | None) -> str | None:
    if prompt == "-":
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    if prompt is not None and not prompt.strip():
        raise click.UsageError("--print needs something to say")
    return prompt
