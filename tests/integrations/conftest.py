"""One PostgreSQL server for the tests of all adapters."""

from __future__ import annotations

from stores.postgres_server import postgres_address, postgres_dsn

__all__ = ["postgres_address", "postgres_dsn"]
