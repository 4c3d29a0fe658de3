"""The real pi opens a conversation that was talked here, with all that went wrong in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from branchline import Conductor, Session
from branchline.conductor import Policy, TextDelta
from branchline.models import COUNT_WORDS, OfflineModel
from interop.peers import Peer
from interop.test_pi import CWD, our_view, view_of
from interop.test_pi import ask as ask_pi


async def talked(session: Session) -> None:
    """Answers, tools, a retry, an abort, a failure, another model, and a branch with a summary."""
    policy = Policy(retries=1, retry_delay=0)
    async with Conductor(session, OfflineModel(price=1), tools=(COUNT_WORDS,), policy=policy) as talking:
        for prompt in [
            "hello",
            'count the words of "a b"',
            "offline: fail rate_limit 1 midway\noffline: say one two three",
            "offline: fail refused midway\noffline: say four five six",
        ]:
            async for _event in talking.send(prompt):
                pass
        async for event in talking.send("offline: say seven eight nine"):
            if isinstance(event, TextDelta):
                talking.abort()
        talking.set_thinking("high")
        talking.set_model("offline:other")
        async for _event in talking.send("offline: call missing {}"):
            pass
        talking.set_title("Talked")
        talking.label(session.path()[1], "here")
        await talking.navigate(session.path()[-4], summarize=True)
        await talking.ask("offline: say done")


def test_pi_sees_a_conversation_as_we_do(pi: Peer, tmp_path: Path):
    session = Session.create(CWD, directory=tmp_path, durability="os")
    asyncio.run(talked(session))
    assert session.file is not None

    with Session.open(session.file) as again:
        assert view_of(ask_pi(pi, open=session.file)) == our_view(again)
