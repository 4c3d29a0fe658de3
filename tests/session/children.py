"""Child processes of tests that use a session or a store: `python children.py VERB PATH …`.

Each acknowledges what it has done on standard output, one line at a time.
"""

from __future__ import annotations

import itertools
import os
import sys
import time

from branchline import Session, SessionLibrary
from branchline.log import Durability, FileLog
from branchline.stores import open_store


def say(*words: object) -> None:
    os.write(1, (" ".join(str(word) for word in words) + "\n").encode())


def wait() -> None:
    """Report readiness, and wait for the start signal."""
    say("ready")
    sys.stdin.readline()


def append(path: str, durability: Durability, name: str, count: str) -> None:
    """Append messages (0: until killed), one branch of its own, and say the id of each."""
    with Session.open(path, durability=durability) as session:
        wait()
        for number in range(int(count)) if int(count) else itertools.count():
            role = "assistant" if number % 2 else "user"
            text = f"{name} {number} " + "x" * (number % 7 * 100)
            entry = session.append_message({"role": role, "content": [{"type": "text", "text": text}]})
            say(entry, session.index.parent(entry))


def mixed(path: str, durability: Durability) -> None:
    """Use many verbs until killed, and say what each has made: an id, and the leaf after it."""
    with Session.open(path, durability=durability) as session:
        say("ready")
        made: str | None
        for number in itertools.count():
            match number % 6:
                case 0:
                    made = session.append_message("x" * (number % 50 * 40))
                case 1:
                    made = session.append_message({"role": "assistant", "content": []})
                case 2:
                    assert session.leaf is not None
                    made = session.append_label(session.leaf, f"label {number}")
                case 3:
                    session.branch(session.path()[len(session.path()) // 2])
                    made = session.leaf
                case 4:
                    made = session.branch_with_summary(session.path()[0], "left")
                case _:
                    made = session.append_custom("state", {"number": number})
            say(made, session.leaf)


def draft(directory: str) -> None:
    """Begin a session, say its key, and go on asking until killed."""
    session = Session.create("/home/u/proj", directory=directory)
    say("ready", session.key)
    for number in itertools.count():
        say(session.append_message(f"question {number}"), session.leaf)


def replies(directory: str) -> None:
    """Begin sessions, each with a question and a reply, until killed; say the key before and the ids after."""
    say("ready")
    while True:
        session = Session.create("/home/u/proj", directory=directory)
        question = session.append_message("a question")
        say(session.key, question)
        say(session.key, session.append_message({"role": "assistant", "content": []}))
        session.close()


def foreign(path: str, name: str, count: str) -> None:
    """Append like a program that knows nothing of locks: open, write a line, close."""
    parent = Session.open(path).leaf
    wait()
    for number in range(int(count)):
        entry = f"{name}-{number}"
        line = (
            f'{{"type":"message","id":"{entry}","parentId":"{parent}","timestamp":"2027-01-01T00:00:00.000Z",'
            f'"message":{{"role":"user","content":"{"y" * (number % 9 * 50)}"}}}}\n'
        )
        with open(path, "ab", buffering=0) as file:
            file.write(line.encode())
        say(entry, parent)
        parent = entry
        time.sleep(0.001)


def hold(path: str) -> None:
    """Take the lock and keep it until killed."""
    with FileLog(path) as log, log.exclusive():
        say("ready")
        time.sleep(60)


def append_to_store(address: str, key: str, name: str, count: str) -> None:
    """Append messages (0: until killed) at the end of a stored session, and report the id of each."""
    with SessionLibrary(address) as library, library.get_or_create(key, on_conflict="append") as session:
        wait()
        for number in range(int(count)) if int(count) else itertools.count():
            say(session.append_message(f"{name} {number}"))


def create_in_store(address: str, key: str, name: str) -> None:
    """Create or open a stored session together with other processes, and report its entry."""
    with SessionLibrary(address) as library:
        library.list()
        wait()
        with library.get_or_create(key, on_conflict="append") as session:
            say(session.id, session.append_message(name))


def hold_in_store(address: str, key: str) -> None:
    """Hold the lock of a stored log until killed."""
    with open_store(address).open(key).exclusive():
        say("ready")
        time.sleep(60)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
