"""Sessions in PostgreSQL (extra ``postgres``)::

    from branchline import SessionLibrary

    with SessionLibrary("postgresql://host/db") as library:
        session = library.get_or_create("user:42", on_conflict="append")
        session.append_message("hello")

``branchline store init postgresql://host/db`` creates the tables first; opening never does.
"""

from branchline.stores.postgres.schema import SchemaStatus, status, upgrade
from branchline.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore", "SchemaStatus", "status", "upgrade"]
