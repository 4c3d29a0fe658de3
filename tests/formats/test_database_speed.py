"""Lists of a database with many sessions ask it once, and the catalog knows each session by its version."""

from __future__ import annotations

import sqlite3
import time

from branchline import SessionLibrary
from formats.database_kit import opencode_database

SESSIONS = 1000
LIMIT = 0.3


def test_a_thousand_sessions_of_one_database_are_listed_in_a_third_of_a_second(tmp_path):
    place = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    place.parent.mkdir(parents=True)
    opencode_database(place)
    connection = sqlite3.connect(place)
    connection.execute(
        "CREATE TEMP TABLE number AS SELECT value FROM json_each(?)", [str(list(range(1, SESSIONS)))]
    )
    for table, columns in {
        "session": "'ses_x' || value, project_id, parent_id, slug, directory, title, version, revert, time_created, "
        "time_updated",
        "message": "id || '_' || value, 'ses_x' || value, time_created, time_updated, data",
        "part": "id || '_' || value, message_id || '_' || value, 'ses_x' || value, time_created, time_updated, data",
    }.items():
        some = "" if table == "session" else "WHERE value % 10 = 0"
        connection.execute(f"INSERT INTO {table} SELECT {columns} FROM {table}, number {some}")
    connection.commit()
    connection.close()
    environment = {"BRANCHLINE_HOME": str(tmp_path / "ours")}
    library = SessionLibrary.everywhere(home=tmp_path, environment=environment, agents=["opencode"])
    whole = library.list(deep=True)

    spent = {}
    for deep in (False, True):
        taken = []
        for _ in range(3):
            start = time.process_time()
            rows = library.list(deep=deep)
            taken.append(time.process_time() - start)
            assert len(rows) == SESSIONS
        spent[deep] = min(taken)

    assert {row.messages for row in whole} == {0, 12, 14}
    assert max(spent.values()) < LIMIT, spent
