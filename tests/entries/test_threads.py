"""Decoders are built by one thread at a time: msgspec crashes otherwise."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys, threading
sys.setswitchinterval(1e-6)
from branchline.entries import codec, lenient, skeleton

LINE = (
    b'{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-14T23:46:49.907Z",'
    b'"message":{"role":"user","content":[{"type":"text","text":"x"}]}}'
)
start = threading.Barrier(8)

def read():
    start.wait()
    codec.decode_entry(LINE)
    skeleton.decode_lines(LINE)
    lenient.entry_from_fields({"type": "label", "id": "b", "parentId": "a", "targetId": "a", "label": "x"})

threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_may_read_for_the_first_time_together():
    for _ in range(5):  # without the lock, five of six processes crash
        subprocess.run([sys.executable, "-c", CODE], check=True, timeout=60)
