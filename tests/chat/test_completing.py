"""What is offered behind what was written: commands, labels, entries, sessions, levels."""

from __future__ import annotations

from branchline.chat import COMMANDS
from branchline.chat.completion import suggestions
from chat.kit import Talk, drive


def offered(talk: Talk, written: str) -> list[str]:
    found = list(suggestions(talk.chat, written))
    assert all(written.endswith(written[len(written) - one.replaces :]) for one in found)
    return [written[: len(written) - one.replaces] + one.text for one in found]


def test_commands_are_offered_by_their_beginning_with_their_sentence(project):
    talk = Talk(project)

    assert offered(talk, "/") == [f"/{one.name}" for one in COMMANDS]
    assert offered(talk, "/s") == ["/squash", "/session", "/sessions"]
    assert offered(talk, "/help la") == ["/help label"]
    assert next(iter(suggestions(talk.chat, "/tr"))).about == COMMANDS[0].help
    assert offered(talk, "tell me /tr") == offered(talk, "/nonsense x") == offered(talk, "/name x") == []


def test_labels_and_entries_are_offered_where_an_entry_is_wanted(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("one", "/label first answer", "two")
            path = talk.session.path()

            assert offered(talk, "/tree fir") == ["/tree first answer"]
            assert offered(talk, "/fork ")[:2] == ["/fork first answer", f"/fork {path[-1]}"]
            assert offered(talk, f"/tree {path[-1][:9]}") == [f"/tree {path[-1]}"]
            assert offered(talk, "/jump ") == [f"/jump {talk.prompt('two')}", f"/jump {talk.prompt('one')}"]

    drive(work)


def test_sessions_and_levels_are_offered(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("one", "/name Sky colours")

            assert offered(talk, "/resume sky") == ["/resume Sky colours"]
            assert offered(talk, f"/resume {talk.session.id[:8]}") == [f"/resume {talk.session.id}"]
            assert offered(talk, "/thinking m") == ["/thinking minimal", "/thinking medium", "/thinking max"]

    drive(work)


def test_what_is_said_about_an_offer_is_one_harmless_line(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("evil \x1b]52;c;x\x07\nsecond line " + "long " * 50)

            for one in suggestions(talk.chat, "/tree "):
                assert "\x1b" not in one.about
                assert "\n" not in one.about
                assert len(one.about) <= 60

    drive(work)
