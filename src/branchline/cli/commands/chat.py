"""``chat``: a conversation in the terminal, or line by line without one."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from branchline.cli.options import command, cwd_option
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
    branchline chat --attach screenshot.png --attach notes.txt
    branchline chat --fork @last@3f2a
    git diff | branchline chat --no-session --print -
    """,
)
@click.option(
    "-c", "--continue", "newest", is_flag=True, help="Continue the session of this directory used last."
)
@click.option(
    "-r",
    "--resume",
    metavar="[SESSION]",
    is_flag=False,
    flag_value="",
    help="Continue SESSION, or choose one; choosing nothing starts a new session.",
)
@click.option("--fork", metavar="SESSION[@ENTRY]", help="Continue in a fork of SESSION, up to ENTRY.")
@click.option(
    "--model", metavar="PROVIDER:MODEL", help="Model to use (default: from the session or the settings)."
)
@click.option("--base-url", metavar="URL", help="Address of a server with the OpenAI chat completions API.")
@click.option(
    "--api-key-env",
    metavar="NAME",
    help="The environment variable with the API key for --base-url (default: BRANCHLINE_API_KEY).",
)
@click.option(
    "--mcp",
    "servers",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Start the MCP servers in FILE and let the model call their tools.",
)
@click.option(
    "--allow-tool",
    "allowed_tools",
    metavar="SERVER.TOOL",
    multiple=True,
    help="Allow this MCP tool without asking (repeatable).",
)
@click.option("--no-mcp", is_flag=True, help="Do not start the MCP servers of the settings.")
@click.option(
    "--attach",
    "attached",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    multiple=True,
    help="Send this text file or image with the first prompt (repeatable).",
)
@click.option("--system-prompt", metavar="TEXT", help="System prompt (default: from the settings).")
@click.option(
    "--instructions",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    multiple=True,
    help="Instruction file, in place of the AGENTS.md files found from the working directory upward.",
)
@click.option("--no-instructions", is_flag=True, help="Load no instruction files.")
@click.option("--name", "title", metavar="TITLE", help="Title of the session.")
@click.option("--no-session", is_flag=True, help="Do not save the session.")
@cwd_option("Working directory of the session (default: the current one).")
@click.option(
    "-p",
    "--print",
    "prompt",
    metavar="PROMPT",
    help="Send PROMPT (- reads standard input), print the answer and exit.",
)
def chat_command(
    out: Output,
    newest: bool,  # noqa: FBT001
    resume: str | None,
    fork: str | None,
    no_mcp: bool,  # noqa: FBT001
    instructions: tuple[str, ...],
    no_instructions: bool,  # noqa: FBT001
    no_session: bool,  # noqa: FBT001
    prompt: str | None,
    **options: Any,
) -> None:
    """Chat with a model. The conversation is saved in a session, in which you can branch at any time.

    /help lists the commands. Without a terminal, each input line is a prompt and answers are plain text.
    """
    if newest + (resume is not None) + (fork is not None) > 1:
        raise click.UsageError("choose one of --continue, --resume and --fork")
    if out.json and prompt is None:
        raise click.UsageError("--json describes one answer; give a prompt with --print")
    from branchline.chat.startup import StartOptions
    from branchline.cli.chat_runner import ChatOptions, run_chat

    wishes = ChatOptions(
        beginning=StartOptions(newest=newest, resume=resume, fork=fork, save=not no_session),
        mcp=not no_mcp,
        instructions=_instruction_files(instructions, none=no_instructions),
        prompt=_words(prompt),
        **options,
    )
    if code := run_chat(out, wishes):
        click.get_current_context().exit(code)


def _instruction_files(files: tuple[str, ...], *, none: bool) -> tuple[str, ...] | None:
    """Return the instruction files that replace those of the settings; None keeps them."""
    if none and files:
        raise click.UsageError("use either --instructions or --no-instructions, not both")
    return tuple(map(os.path.abspath, files)) if none or files else None


def _words(prompt: str | None) -> str | None:
    if prompt == "-":
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    if prompt is not None and not prompt.strip():
        raise click.UsageError("--print needs a prompt")
    return prompt
