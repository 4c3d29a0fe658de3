"""What other processes do to a store while a test watches: `python children.py VERB ADDRESS …`.

Each acknowledges on its standard output, one line at a time, what it has done.
"""

from __future__ import annotations

import itertools
import os
import sys
import time

from branchline import SessionLibrary
from branchline.stores import open_store


def say(*words: object) -> None:
    os.write(1, (" ".join(str(word) for word in words) + "\n").encode())


def wait() -> None:
    say("ready")
    sys.stdin.readline()


def append(address: str, key: str, name: str, count: str) -> None:
    """Append messages (0: until killed) where the log stands, and say the id of each once it is saved."""
    with SessionLibrary(address) as library, library.get_or_create(key, on_conflict="append") as session:
        wait()
        for number in range(int(count)) if int(count) else itertools.count():
            say(session.append_message(f"{name} {number}"))


def create(address: str, key: str, name: str) -> None:
    """Create a session together with others, and say its entry."""
    with SessionLibrary(address) as library:
        library.list()
        wait()
        with library.get_or_create(key, on_conflict="append") as session:
            say(session.id, session.append_message(name))


def hold(address: str, key: str) -> None:
    """Hold the lock of a log until killed, with an append that is not finished."""
    log = open_store(address).open(key)
    with log.exclusive():
        say("ready")
        time.sleep(60)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["append", where, key, name, count]:
            append(where, key, name, count)
        case ["create", where, key, name]:
            create(where, key, name)
        case ["hold", where, key]:
            hold(where, key)
